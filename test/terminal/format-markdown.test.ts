/**
 * Promise: pages of the manual are legible on a terminal: no markup remains, no line is too long, and tables
 * have columns.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { helpTopics } from '../../src/commands/help.ts';
import { formatMarkdown } from '../../src/terminal/format-markdown.ts';
import { widthOf } from '../../src/terminal/fit-text.ts';
import type { Paint } from '../../src/terminal/terminal.ts';

const plain: Paint = (text) => text;
const starred: Paint = (text) => `*${text}*`;

describe.each(helpTopics)('the page %s', (topic) => {
  const page = readFileSync(resolve(import.meta.dirname, `../../src/help/${topic}.md`), 'utf8');

  it.each([60, 80, 120])('fits into %i columns and shows no markup', (columns) => {
    const lines = formatMarkdown(page, columns, plain).split('\n');
    // Code keeps its long lines, so that it can be copied.
    const laidOut = lines.filter((line) => !line.startsWith('    ') || line.includes('  •'));
    expect(laidOut.filter((line) => widthOf(line) > columns && line.trim().includes(' '))).toEqual([]);
    expect(laidOut.filter((line) => /\]\(|\*\*|<!--|--- \||^\s*#/.test(line))).toEqual([]);
  });

  it('keeps its code line by line', () => {
    const lines = formatMarkdown(page, 80, plain).split('\n');
    const code = [...page.matchAll(/^```\w*\n([^]*?)^```$/gm)].flatMap(([, block = '']) =>
      block.trimEnd().split('\n'),
    );
    expect(lines).toEqual(expect.arrayContaining(code.map((line) => (line === '' ? '' : `    ${line}`))));
  });
});

it('marks headings and code if there are colours, and keeps the backticks if there are none', () => {
  const page = '# A `list`\n\nRun `plan`, **then** go.';
  expect(formatMarkdown(page, 80, starred)).toBe('*A list*\n\n  Run *plan*, *then* go.');
  expect(formatMarkdown(page, 80, plain)).toBe('A `list`\n\n  Run `plan`, then go.');
});

it('marks each line of a broken text', () => {
  expect(formatMarkdown('**one two three four**', 12, starred)).toBe('  *one two*\n  *three four*');
});

it('names the topic of another page, and the address of another site', () => {
  const page = 'See [how](cron.md#logs), [money](money.md), [here](#types) and [site](https://example.com).';
  expect(formatMarkdown(page, 100, plain)).toBe(
    '  See how (help cron), money (help money), here and site (https://example.com).',
  );
});

it('puts a list under its bullets, and the rest of an item under its text', () => {
  expect(formatMarkdown('- one\n- two, and\n  more of it\n\n1. first', 22, plain)).toBe(
    '  • one\n  • two, and more of\n    it\n  1. first',
  );
});

const table =
  '| key | means |\n| --- | --- |\n| `a\\|b` | a word |\n| c | one that is rather longer than the line |';

it('sets tables in columns, narrowed to the terminal', () => {
  expect(formatMarkdown(table, 80, plain).split('\n')).toEqual([
    '  key    means',
    '  `a|b`  a word',
    '  c      one that is rather longer than the line',
  ]);
  expect(formatMarkdown(table, 32, plain).split('\n')).toEqual([
    '  key    means',
    '  `a|b`  a word',
    '',
    '  c      one that is rather',
    '         longer than the line',
  ]);
});

it('sets a table as paragraphs if the terminal is too narrow for columns', () => {
  expect(formatMarkdown(table, 22, plain).split('\n')).toEqual([
    '  `a|b`',
    '    means: a word',
    '',
    '  c',
    '    means: one that is',
    '    rather longer than',
    '    the line',
  ]);
});
