/** Texts that are longer than the screen. */
import { spawnSync } from 'node:child_process';
import { writeOut } from './console.ts';

/** Through `PAGER`, or `less`, where the text is longer than the screen. */
export function writePaged(text: string): void {
  const { isTTY, rows } = process.stdout;
  const fits = text.split('\n').length < (rows || Infinity);
  if (!isTTY || fits || process.env['TERM'] === 'dumb' || !isPaged(text)) writeOut(text);
}

/** False where there is no pager. `PAGER` may have options; colours are let through, as git does. */
function isPaged(text: string): boolean {
  const asked = process.env['PAGER'];
  if (asked === '' || asked === 'cat') return false;
  // Ctrl-C is the pager's: this process waits for it.
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore);
  const { status, error } = spawnSync(asked ?? 'less', {
    shell: asked !== undefined,
    input: `${text}\n`,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', ...process.env },
  });
  process.removeListener('SIGINT', ignore);
  // A pager that is left before the end reads no more (EPIPE).
  const isLeft = error !== undefined && 'code' in error && error.code === 'EPIPE';
  const isMissing = status === commandNotFound || status === notExecutable;
  return !isMissing && (error === undefined || isLeft);
}

const notExecutable = 126;
const commandNotFound = 127;
