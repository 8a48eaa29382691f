/** Promise: the live block stays in its place on a terminal, leaves nothing behind and does not flicker. */
import headless from '@xterm/headless';
import { expect, it } from 'vitest';
import { createBlock } from '../../src/terminal/terminal.ts';

const { Terminal } = headless;

/** A real terminal emulator without a window. */
function terminal(columns = 40, rows = 12) {
  const xterm = new Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: true });
  const written: string[] = [];
  let arrived: Promise<void> = Promise.resolve();
  return {
    written,
    get columns() {
      return xterm.cols;
    },
    get rows() {
      return xterm.rows;
    },
    write(text: string) {
      written.push(text);
      arrived = new Promise((resolve) => xterm.write(text, resolve));
    },
    async resize(to: number) {
      await arrived;
      xterm.resize(to, rows);
    },
    /** Returns all lines on the screen and in the scrollback. */
    async lines(): Promise<string[]> {
      await arrived;
      const { active } = xterm.buffer;
      const all = Array.from({ length: active.length }, (_, i) => active.getLine(i)?.translateToString(true));
      return all.join('\n').trimEnd().split('\n');
    },
  };
}

it('the block is drawn in place, with other lines above it', async () => {
  const shown = terminal();
  const block = createBlock(shown);
  shown.write('$ nightrender run\n');
  block.draw(['one', 'two']);
  block.above('a trouble');
  block.draw(['one', 'two', 'three']);
  block.above('another,\nof two lines');
  block.draw(['1', '2']);
  expect(await shown.lines()).toEqual([
    '$ nightrender run',
    'a trouble',
    'another,',
    'of two lines',
    '1',
    '2',
  ]);
  block.clear();
  shown.write('The end.\n');
  expect((await shown.lines()).slice(-2)).toEqual(['of two lines', 'The end.']);
});

it.each([
  [40, 25],
  [40, 13],
  [25, 40],
  [120, 40],
])('the block leaves nothing behind when %i columns become %i', async (before, after) => {
  const shown = terminal(before, 30);
  const block = createBlock(shown);
  block.above('above');
  block.draw(['x'.repeat(before - 1), '漢字'.repeat(Math.floor((before - 1) / 4)), 'short']);
  await shown.resize(after);
  block.draw(['y'.repeat(after - 1), 'short']);
  block.above('more');
  expect(await shown.lines()).toEqual(['above', 'more', 'y'.repeat(after - 1), 'short']);
});

it('the block is cut if the terminal is too low for it', async () => {
  const shown = terminal(40, 4);
  const block = createBlock(shown);
  for (const round of ['a', 'b', 'c']) block.draw([1, 2, 3, 4, 5, 6].map((line) => `${round}${line}`));
  expect(await shown.lines()).toEqual(['c1', 'c2', 'c3']);
});

it('the block writes each frame at once, and none that equals the last', () => {
  const shown = terminal();
  const block = createBlock(shown);
  for (let i = 0; i < 5; i++) block.draw(['one', 'two']);
  expect(shown.written).toHaveLength(1);
  block.draw(['one', '2']);
  expect(shown.written).toHaveLength(2);
  // The old block is not erased before the new one is drawn.
  expect(shown.written[1]).not.toMatch(/\p{Cc}\[[0-3]?J[^]*one/u);
});
