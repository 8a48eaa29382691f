/** Runs a test as another user if the tests run as root, because permissions never restrict root. */
import { execFileSync } from 'node:child_process';
import { onTestFinished } from 'vitest';

const nobody = 65_534;
const isRoot = process.geteuid?.() === 0;

/** True if file permissions restrict this process, or it can become a user whom they restrict. */
export const canBecome = process.platform !== 'win32' && (!isRoot || triesToBecome());

/**
 * Gives `folder` to another user and makes the process that user until the test ends. Does nothing if the process is
 * not root.
 */
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
