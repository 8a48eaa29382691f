/** Disk space reserved for ending jobs and deleting results on a full disk. */
import { join } from 'node:path';
import { DiskReserve, isDiskFull } from '../../lib/files/disk-reserve.ts';

export function reserveIn(dataDir: string): string {
  return join(dataDir, 'reserve');
}

export class JobReserve {
  readonly #disk: DiskReserve;
  readonly #bytes: number;
  readonly #onProblem: (text: string) => void;
  /** True from when the disk was full until it has space again. No jobs are accepted or started meanwhile. */
  isFull = false;

  /** Reserves the space. If the disk has too little space, reports that and continues without a reserve. */
  constructor(options: {
    path: string;
    /** Size of the reserve; 0 for none. */
    bytes: number;
    onProblem: (text: string) => void;
    /** True if the disk is already full, and the reserve was released for the start. */
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

  /** Runs a write that must succeed on a full disk. If the disk is full, releases the reserve and tries again. */
  async spend<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
    this.markFull();
    // If several writes failed together, the first one releases the space for all.
    this.#disk.release();
    return await write();
  }

  /** Records that the disk is full, after a failed write that may not use the reserve. */
  markFull(): void {
    if (this.#bytes === 0 || this.isFull) return;
    this.isFull = true;
    this.#onProblem(
      `the disk is full: the service starts and accepts no jobs until ${megabytes(2 * this.#bytes)} are free`,
    );
  }

  /** Reserves the space again once twice as much is free. Returns true if it did. */
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
