/** Pages of the manual: laid out and paged on a terminal, as they are elsewhere. */
import { spawnSync } from 'node:child_process';
import { outColumns, writeOut } from './console.ts';
import { formatMarkdown } from './format-markdown.ts';
import { hanging } from './hanging.ts';
import { createPaint } from './paint.ts';

/** Wider tables are hard to follow. */
const maxColumns = 120;

export function printManualPage(markdown: string): void {
  if (!process.stdout.isTTY) return writeOut(markdown.replaceAll(/<!--[^]*?-->\n+/g, '').trimEnd());
  const columns = Math.min(outColumns(), maxColumns);
  writePaged(formatMarkdown(markdown, columns, createPaint(process.stdout)));
}

export function printTopics(groups: [title: string, topics: [name: string, summary: string][]][]): void {
  const paint = createPaint(process.stdout);
  const width = Math.max(...groups.flatMap(([, topics]) => topics.map(([name]) => name.length))) + 2;
  const lines = groups.flatMap(([title, topics]) => [
    paint(title, 'bold'),
    ...topics
      .flatMap(([name, summary]) => hanging(name, summary, outColumns() - 2, width))
      .map((line) => `  ${line}`),
    '',
  ]);
  const more = 'nightrender help <topic> prints a page, nightrender <command> --help one command.';
  writePaged([...lines, ...hanging('', more, outColumns(), 0)].join('\n'));
}

/** Through `PAGER`, or `less`, where the text is longer than the screen. */
function writePaged(text: string): void {
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
