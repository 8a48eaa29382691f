/** Keeps answers of the service in memory. Like the folder on disk, they outlive a run. */
import type { Attempt } from '../../src/runner/core/attempt.ts';
import type { KeptAnswer, KeptAnswers, KeptAs, WriteChunk } from '../../src/runner/pipeline/ports.ts';

export class FakeAnswers implements KeptAnswers {
  /** Kept answers by attempt key. */
  readonly kept = new Map<number, Uint8Array>();
  isFull = false;

  async keep(
    { key }: Attempt,
    copy: (write: WriteChunk) => Promise<boolean>,
  ): Promise<KeptAs | 'full' | undefined> {
    if (this.isFull) return 'full';
    const chunks: Uint8Array[] = [];
    if (!(await copy(async (chunk) => void chunks.push(chunk)))) return undefined;
    this.kept.set(key, Buffer.concat(chunks));
    return { answer: 'digest@here' };
  }

  async read({ key, job }: Attempt): Promise<KeptAnswer | undefined> {
    return job?.held?.answer === undefined ? undefined : this.kept.get(key);
  }

  async elsewhere({ job }: Attempt): Promise<string | undefined> {
    const host = job?.held?.answer?.split('@')[1];
    return host === 'here' ? undefined : host;
  }

  async sweep(inFlight: (attempts: number[]) => Promise<number[]>): Promise<void> {
    const open = await inFlight([...this.kept.keys()]);
    for (const key of this.kept.keys()) if (!open.includes(key)) this.kept.delete(key);
  }

  async remove({ key }: Attempt): Promise<void> {
    this.kept.delete(key);
  }
}
