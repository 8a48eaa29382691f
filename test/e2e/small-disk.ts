/** File systems of a test's own, where the user may mount some. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Whether this user may mount a file system here: root may, outside of most containers. */
export const canMount = process.platform === 'linux' && process.getuid?.() === 0 && triesToMount();

/** Mounts a file system of this size at the folder, which is made; it ends with the test. */
export function mountSmallDisk(dir: string, megabytes: number): void {
  mkdirSync(dir, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', dir]);
  onTestFinished(() => unmount(dir));
}

/** Fills the disk of a folder to the last byte; returns the file that does so. */
export function fillDisk(dir: string): string {
  const others = join(dir, 'what-others-write');
  writeFileSync(others, '');
  for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      for (;;) appendFileSync(others, Buffer.alloc(bytes));
    } catch {
      // Less of it may fit.
    }
  }
  return others;
}

/** A disk that keeps its files while it is not mounted at the folder, which is made. */
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

  /** Also while a program is at work on it; nothing where it is not mounted. */
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
      // Busy while a file in it is being written.
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

/** Also while a program still has files open in it. */
function unmount(dir: string): void {
  execFileSync('umount', ['--lazy', dir]);
}
