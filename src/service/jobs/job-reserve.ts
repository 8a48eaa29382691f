/** Space for ending jobs and deleting results on a full disk, and whether the disk is full. */
import { join } from 'node:path';
import { DiskReserve, isDiskFull } from '../../lib/files/disk-reserve.ts';

/** Returns the file of the reserve in a data folder. */
export function reserveIn(dataDir: string): string {
  return join(dataDir, 'reserve');
}

export class JobReserve {
  readonly #disk: DiskReserve;
  readonly #bytes: number;
  readonly #onProblem: (text: string) => void;
  /** True from when the disk was full until it has space again: nothing new is begun meanwhile. */
  isFull = false;

  /** Reserves the space. If the disk has too little of it, reports that and continues without a reserve. */
  constructor(options: {
    path: string;
    /** 0 for no reserve. */
    bytes: number;
    onProblem: (text: string) => void;
    /** True if the disk is full already, and the reserve was given away for the start. */
    isFull?: boolean | undefined;
  }) {
    const { path, bytes, onProblem } = options;
    this.#disk = new DiskReserve(path, bytes);
    this.#bytes = bytes;
    this.#onProblem = onProblem;
    if (options.isFull === true) this.markFull();
    else if (bytes > 0 && !this.#take())
      onProblem(
        `the disk has too little space to reserve ${megabytes(bytes)} for ending jobs: no job can be cancelled once it is full`,
      );
  }

  /** Does a write that must be possible on a full disk: if the disk is full, releases the reserve and tries again. */
  async spend<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
    this.markFull();
    // Of writes that failed together, the first gives the space to all.
    this.#disk.release();
    return await write();
  }

  /** Notes that a write failed which may not use the reserve. */
  markFull(): void {
    if (this.#bytes === 0 || this.isFull) return;
    this.isFull = true;
    this.#onProblem(
      `the disk is full: the service starts and accepts no jobs until ${megabytes(2 * this.#bytes)} are free`,
    );
  }

  /** Takes the space again once twice as much is free. Returns true if it did. */
  refill(): boolean {
    if (!this.isFull || this.#disk.freeBytes < 2 * this.#bytes || !this.#take()) return false;
    this.isFull = false;
    this.#onProblem('the disk has space again: the service starts and accepts jobs');
    return true;
  }

  #take(): boolean {
    try {
      this.#disk.take();
      return true;
    } catch (error) {
      if (isDiskFull(error)) return false;
      throw error;
    }
  }
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
}
