/** A file that keeps room on the disk for the checkpoint's last words. */
import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Room for the ids of some thousand jobs that were accepted while the disk ran full. */
const reserveBytes = 1024 * 1024;

export class Reserve {
  readonly #path: string;

  /** Takes the room; throws the system's error where there is none, before anything is sent. */
  constructor(dir: string) {
    this.#path = join(dir, '.reserve');
    const file = openSync(this.#path, 'w', 0o600);
    try {
      writeSync(file, Buffer.alloc(reserveBytes, 'nightrender '));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  /** Gives the room to whoever writes next; false where it was given away already. */
  release(): boolean {
    if (!existsSync(this.#path)) return false;
    rmSync(this.#path, { force: true });
    return true;
  }
}
