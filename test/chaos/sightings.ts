/** Records the images folder after each kill. A file under its final name must be complete at every moment. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface Sighting {
  file: string;
  sha256: string;
}

/** Matches files that are still being written. */
const unfinished = /^\.nightrender-.*\.tmp$/;

export class Sightings {
  readonly #dir: string;
  readonly #seen = new Map<string, Sighting>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Records every file that is new or was written again since the last call. */
  look(): void {
    if (!existsSync(this.#dir)) return;
    for (const file of readdirSync(this.#dir)) {
      if (unfinished.test(file)) continue;
      const path = join(this.#dir, file);
      const { ino, mtimeMs, size } = statSync(path);
      const key = [file, ino, mtimeMs, size].join(' ');
      if (this.#seen.has(key)) continue;
      const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
      this.#seen.set(key, { file, sha256 });
    }
  }

  get all(): Sighting[] {
    return [...this.#seen.values()];
  }
}
