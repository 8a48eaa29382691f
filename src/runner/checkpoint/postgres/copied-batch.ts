/** What a runner of a shared batch reads from the local copy of it. */
import type { FoundScene } from '../../core/adoption.ts';
import type { LackingFile } from '../../core/named-file.ts';
import type { MadeAt } from '../../core/plan.ts';
import type { SceneCounts } from '../../core/scene.ts';
import type { RecordedPicture } from '../../core/verification.ts';
import type { Database } from '../../../lib/sqlite/database.ts';
import { readPartCounts } from '../due-scenes.ts';
import { readListedScenes, readNextScenes } from '../list-scenes.ts';
import { readLacking } from '../lacking-files.ts';
import { readMadeAt } from '../read-for-plan.ts';
import { readCounts } from '../read-totals.ts';
import { readPicturesOfSaved } from '../recorded-pictures.ts';

export abstract class CopiedBatch {
  protected readonly copy: Database;
  /** Whether only a part of the batch is rendered; `temp.part` of the copy has its scenes. */
  protected hasPart = false;

  constructor(copy: Database) {
    this.copy = copy;
  }

  /** Brings the copy up to what is on record. */
  abstract refresh(): Promise<void>;

  async nextScenes(max: number): Promise<Pick<FoundScene, 'id' | 'columns'>[]> {
    await this.refresh();
    return readNextScenes(this.copy, max);
  }

  async listedScenes(): Promise<AsyncIterable<FoundScene>> {
    await this.refresh();
    return readListedScenes(this.copy);
  }

  async savedPictures(): Promise<Iterable<RecordedPicture>> {
    await this.refresh();
    return readPicturesOfSaved(this.copy);
  }

  async counts(): Promise<SceneCounts> {
    await this.refresh();
    return readCounts(this.copy);
  }

  async partCounts(): Promise<SceneCounts | undefined> {
    if (!this.hasPart) return undefined;
    await this.refresh();
    return readPartCounts(this.copy);
  }

  async lackingFiles(): Promise<LackingFile[]> {
    await this.refresh();
    return readLacking(this.copy);
  }

  async madeAt(): Promise<MadeAt[]> {
    await this.refresh();
    return readMadeAt(this.copy);
  }
}
