/** Runs the built program without the capabilities of root, so that file permissions apply to it. */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root, type Finished } from './cli.ts';

const isRoot = process.getuid?.() === 0;
const prefix = isRoot ? ['setpriv', '--inh-caps=-all', '--bounding-set=-all'] : [];

export const canBeRefused =
  process.platform !== 'win32' &&
  (!isRoot || spawnSync('setpriv', [...prefix.slice(1), 'true']).status === 0);

/** Runs the program, then makes the folder removable again. */
export function withoutPower(args: string[], cwd: string): Finished {
  const [program = '', ...rest] = [...prefix, process.execPath, join(root, 'dist/nightrender.cjs'), ...args];
  const { status, stdout, stderr } = spawnSync(program, rest, { cwd, encoding: 'utf8' });
  execFileSync('chmod', ['-R', 'u+rwx', cwd]);
  return { code: status, stdout, stderr };
}
