/** Which attempts the program is working on at this moment, in a file that outlives its death and costs no fsync. */
import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { assertPlainFile } from '../../lib/files/plain-file.ts';

/** An attempt that a run was working on. */
export interface CrashMarker {
  run: number;
  attempt: number;
}

export interface CrashMarkers {
  take(mark: CrashMarker): void;
  drop(mark: CrashMarker): void;
  /** What dead runs have left. */
  left(): CrashMarker[];
  /** To be called when they are on record. At the first time, nothing may have been taken yet. */
  forgetLeft(): void;
  close(): void;
}

const slotBytes = 32;
const empty = ' '.repeat(slotBytes - 1) + '\n';

/**
 * A line a slot, `run attempt`, padded with spaces. A mark reaches the kernel and no further: it survives the death of
 * the process, but not a power cut, which no scene causes. System errors pass through.
 */
export class CrashMarkerFile implements CrashMarkers {
  readonly #file: number;
  readonly #left: CrashMarker[];
  /** Attempts by slot. */
  readonly #slots: (number | undefined)[] = [];

  /** Only the run that holds the batch may open it. */
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
    // What this run has taken since is none of them.
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
