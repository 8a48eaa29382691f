/** Mounts file systems for tests, if this user may. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** True if this user may mount a file system here. Root may do so outside of most containers. */
export const canMount = process.platform === 'linux' && process.getuid?.() === 0 && triesToMount();

/** Creates the folder and mounts a file system of this size there, until the end of the test. */
export function mountSmallDisk(dir: string, megabytes: number): void {
  mkdirSync(dir, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', dir]);
  onTestFinished(() => unmount(dir));
}

/** Fills the disk of a folder to the last byte. Returns the path of the file that does so. */
export function fillDisk(dir: string): string {
  const others = join(dir, 'what-others-write');
  writeFileSync(others, '');
  for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      for (;;) appendFileSync(others, Buffer.alloc(bytes));
    } catch {
      // A smaller block may still fit.
    }
  }
  return others;
}

/** A disk that keeps its files while it is not mounted. It creates the folder for its mount point. */
export class RemovableDisk {
  readonly #dir: string;
  readonly #kept: string;

  constructor(dir: string, megabytes: number) {
    this.#dir = dir;
    this.#kept = mkdtempSync(join(tmpdir(), 'nightrender-disk-'));
    onTestFinished(() => rmdirSync(this.#kept));
    mountSmallDisk(this.#kept, megabytes);
    mkdirSync(dir, { recursive: true });
    onTestFinished(() => this.unmount());
    this.mount();
  }

  mount(): void {
    execFileSync('mount', ['--bind', this.#kept, this.#dir]);
  }

  /** Unmounts the disk, even while a program uses it. Does nothing if it is not mounted. */
  unmount(): void {
    if (statSync(this.#dir).dev === statSync(this.#kept).dev) unmount(this.#dir);
  }
}

export function setReadOnly(dir: string, isReadOnly: boolean): void {
  const mode = isReadOnly ? 'ro' : 'rw';
  for (let tries = 1; ; tries++) {
    try {
      execFileSync('mount', ['-o', `remount,${mode}`, dir], { stdio: 'ignore' });
      return;
    } catch (error) {
      // The disk is busy while one of its files is being written.
      if (tries === 1000) throw error;
    }
  }
}

function triesToMount(): boolean {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', dir], { stdio: 'ignore' });
    unmount(dir);
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(dir);
  }
}

/** Unmounts the folder, even while a program has files open there. */
function unmount(dir: string): void {
  execFileSync('umount', ['--lazy', dir]);
}
