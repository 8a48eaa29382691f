/** Finds the Python of this machine, for workers in another language. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Returns the program and the folder of its installation, or undefined if there is no Python. */
export async function findPython(): Promise<{ program: string; folder: string } | undefined> {
  const ask = 'import os, sys; print(os.path.realpath(sys.executable)); print(sys.base_prefix)';
  const answer = await promisify(execFile)('python3', ['-c', ask]).catch(() => undefined);
  const [program, folder] = answer?.stdout.split('\n') ?? [];
  return program === undefined || folder === undefined ? undefined : { program, folder };
}
