/** Shows texts that are longer than the screen in a pager. */
import { spawnSync } from 'node:child_process';
import { writeOut } from './console.ts';

/** Writes a text through `PAGER` or `less` if it is longer than the screen. */
export function writePaged(text: string): void {
  const { isTTY, rows } = process.stdout;
  const fits = text.split('\n').length < (rows || Infinity);
  if (!isTTY || fits || process.env['TERM'] === 'dumb' || !isPaged(text)) writeOut(text);
}

/**
 * Runs the pager. False if there is none. `PAGER` may contain options; `less` gets the same flags as from git.
 */
function isPaged(text: string): boolean {
  const asked = process.env['PAGER'];
  if (asked === '' || asked === 'cat') return false;
  // Ctrl-C is for the pager; this process waits for it.
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore);
  const { status, error } = spawnSync(asked ?? 'less', {
    shell: asked !== undefined,
    input: `${text}\n`,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', ...process.env },
  });
  process.removeListener('SIGINT', ignore);
  // EPIPE: the user left the pager before it had read everything.
  const isLeft = error !== undefined && 'code' in error && error.code === 'EPIPE';
  const isMissing = status === commandNotFound || status === notExecutable;
  return !isMissing && (error === undefined || isLeft);
}

const notExecutable = 126;
const commandNotFound = 127;
