/** What permissions keep from a user is tried as another one where the tests run as root, from whom they keep nothing. */
import { execFileSync } from 'node:child_process';
import { onTestFinished } from 'vitest';

const nobody = 65_534;
const isRoot = process.geteuid?.() === 0;

/** Whether permissions hold for this user, or for one that it can become. */
export const canBecome = process.platform !== 'win32' && (!isRoot || triesToBecome());

/** This process is theirs until the test ends, and so is the folder; where it is not root's, nothing happens. */
export function asAnotherUser(folder: string): void {
  if (!isRoot) return;
  execFileSync('chown', ['-R', String(nobody), folder]);
  process.seteuid?.(nobody);
  onTestFinished(() => process.seteuid?.(0));
}

function triesToBecome(): boolean {
  try {
    process.seteuid?.(nobody);
    return true;
  } catch {
    return false;
  } finally {
    process.seteuid?.(0);
  }
}
