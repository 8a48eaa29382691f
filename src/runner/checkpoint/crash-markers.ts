/** Records which attempts the program is working on, in a file that survives a crash and costs no fsync. */
import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { assertPlainFile } from '../../lib/files/plain-file.ts';

export interface CrashMarker {
  run: number;
  attempt: number;
}

export interface CrashMarkers {
  take(mark: CrashMarker): void;
  drop(mark: CrashMarker): void;
  /** Returns the markers that crashed runs left behind. */
  left(): CrashMarker[];
  /** Forgets the markers of crashed runs. Call when they are recorded, and first before anything is taken. */
  forgetLeft(): void;
  close(): void;
}

const slotBytes = 32;
const empty = ' '.repeat(slotBytes - 1) + '\n';

/**
 * A file with one line of fixed length per slot: `run attempt`, padded with spaces. Markers are not synced.
 * They survive a crash of the process but not a power cut, which no scene causes. System errors pass through.
 */
export class CrashMarkerFile implements CrashMarkers {
  readonly #file: number;
  readonly #left: CrashMarker[];
  /** Attempt keys by slot. */
  readonly #slots: (number | undefined)[] = [];

  /** Open the file only while holding the batch's lock. */
  constructor(path: string) {
    assertPlainFile(path);
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#left = readFileSync(this.#file, 'latin1').split('\n').flatMap(readMark);
  }

  take({ run, attempt }: CrashMarker): void {
    const free = this.#slots.indexOf(undefined);
    const slot = free === -1 ? this.#slots.length : free;
    this.#slots[slot] = attempt;
    this.#write(slot, `${`${run} ${attempt}`.padEnd(slotBytes - 1)}\n`);
  }

  drop({ attempt }: CrashMarker): void {
    const slot = this.#slots.indexOf(attempt);
    if (slot === -1) return;
    this.#slots[slot] = undefined;
    this.#write(slot, empty);
  }

  left(): CrashMarker[] {
    return this.#left;
  }

  forgetLeft(): void {
    // The file is truncated only once, so markers that this run has taken since stay.
    if (this.#left.splice(0).length > 0) ftruncateSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(slot: number, line: string): void {
    writeSync(this.#file, line, slot * slotBytes, 'latin1');
  }
}

function readMark(line: string): CrashMarker[] {
  const [, run, attempt] = /^(\d+) (\d+) *$/.exec(line) ?? [];
  return run === undefined || attempt === undefined ? [] : [{ run: Number(run), attempt: Number(attempt) }];
}
