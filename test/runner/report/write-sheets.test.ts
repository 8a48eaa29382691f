/** Contact sheets take the place of those that were there, all at once. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { writeSheets } from '../../../src/runner/report/write-sheets.ts';

const never = new AbortController().signal;

function folder(count: number): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-sheets-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (let i = 1; i <= count; i += 1) writeFileSync(join(dir, `contact-sheet-${i}.png`), `old ${i}`);
  writeFileSync(join(dir, 'contact-sheet-x.png'), 'of somebody else');
  return dir;
}

async function* sheets(...texts: (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    if (text instanceof Error) throw text;
    yield await Promise.resolve(Buffer.from(text));
  }
}

it('replaces older ones and removes those that are too many', async () => {
  const dir = folder(12);
  const written = await writeSheets(dir, sheets('new 1', 'new 2'), never);
  expect(written).toEqual([join(dir, 'contact-sheet-1.png'), join(dir, 'contact-sheet-2.png')]);
  expect(readdirSync(dir)).toEqual(['contact-sheet-1.png', 'contact-sheet-2.png', 'contact-sheet-x.png']);
  expect(readFileSync(join(dir, 'contact-sheet-2.png'), 'utf8')).toBe('new 2');
});

it('leaves the older ones where something comes between', async () => {
  const dir = folder(2);
  const before = readdirSync(dir);
  await expect(writeSheets(dir, sheets('new 1', new Error('between')), never)).rejects.toThrow('between');
  const stopped = AbortSignal.abort(new Error('stopped'));
  await expect(writeSheets(dir, sheets('new 1'), stopped)).rejects.toThrow('stopped');
  expect(readdirSync(dir)).toEqual(before);
  expect(readFileSync(join(dir, 'contact-sheet-1.png'), 'utf8')).toBe('old 1');
});
