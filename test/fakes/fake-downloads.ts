/** Picture hosts in memory. A test decides the answer to each try of a URL. Clips are written to files. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobAtService } from '../../src/runner/core/attempt.ts';
import type { Failure } from '../../src/runner/core/failure.ts';
import type { ReceivedFile } from '../../src/runner/core/picture.ts';
import type { Downloads, ResultKey, Room } from '../../src/runner/pipeline/ports.ts';

export class FakeDownloads implements Downloads {
  /** Requested URLs, in order. */
  readonly log: string[] = [];
  /**
   * Returns the failure of the nth try (from 1) of a URL. If undefined, the answer is a picture with the URL as its
   * text.
   */
  answer: (url: string, nth: number) => Failure | undefined = () => undefined;

  /**
   * For each request, the number of pictures for which memory was to be reserved. Undefined if no reservation was
   * passed.
   */
  readonly rooms: (number | undefined)[] = [];

  async fetch(url: string, signal?: AbortSignal, room?: Room): Promise<{ bytes: Uint8Array } | Failure> {
    if (signal?.aborted) return { kind: 'download-failed', text: 'cut short' };
    this.log.push(url);
    this.rooms.push(room?.pictures);
    room?.share.tryGrow(1);
    const nth = this.log.filter((asked) => asked === url).length;
    return this.answer(url, nth) ?? { bytes: Buffer.from(`picture at ${url}`) };
  }

  /** Folders with received clips, by job id. */
  readonly received = new Map<string, string>();

  async receive(
    url: string,
    { job: { jobId }, nth }: ResultKey,
    signal?: AbortSignal,
  ): Promise<{ received: ReceivedFile } | Failure> {
    const reply = await this.fetch(url, signal);
    if ('kind' in reply) return reply;
    const folder = this.received.get(jobId) ?? mkdtempSync(join(tmpdir(), 'nightrender-received-'));
    this.received.set(jobId, folder);
    const path = join(folder, String(nth));
    writeFileSync(path, reply.bytes);
    const sha256 = createHash('sha256').update(reply.bytes).digest('hex');
    return { received: { path, length: reply.bytes.length, sha256 } };
  }

  async remove({ jobId }: JobAtService): Promise<void> {
    const folder = this.received.get(jobId);
    this.received.delete(jobId);
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}
