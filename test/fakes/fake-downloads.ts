/** Picture hosts in memory: what each address is answered, try for try. */
import type { Failure } from '../../src/runner/core/failure.ts';
import type { Downloads, Room } from '../../src/runner/pipeline/ports.ts';

export class FakeDownloads implements Downloads {
  /** Every address that was asked for, in order. */
  readonly log: string[] = [];
  /** The answer to the nth try (from 1) of an address; a picture that tells its address where there is none. */
  answer: (url: string, nth: number) => Failure | undefined = () => undefined;

  /** For how many pictures room was to be made at each request; undefined where none was. */
  readonly rooms: (number | undefined)[] = [];

  async fetch(url: string, signal?: AbortSignal, room?: Room): Promise<{ bytes: Uint8Array } | Failure> {
    if (signal?.aborted) return { kind: 'download-failed', text: 'cut short' };
    this.log.push(url);
    this.rooms.push(room?.pictures);
    room?.hold.tryGrow(1);
    const nth = this.log.filter((asked) => asked === url).length;
    return this.answer(url, nth) ?? { bytes: Buffer.from(`picture at ${url}`) };
  }
}
