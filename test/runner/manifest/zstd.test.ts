/**
 * Promise: zstd is detected by its first bytes and read as a stream. Damaged or truncated data is always
 * rejected.
 */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { isWhole } from '../../fakes/tier.ts';
import { complaint, readFileOf, readStream, shown } from './read-all.ts';

const hasZstd = isThere();

describe.skipIf(!hasZstd)('a list packed by zstd (skipped if there is no zstd)', () => {
  const lines = Array.from(
    { length: isWhole ? 60_000 : 6_000 },
    (_, index) => `scene ${(index * 7919) % 100_003}\n`,
  ).join('');
  const prompts = lines
    .trimEnd()
    .split('\n')
    .map((prompt) => ({ prompt }));

  it.each([[[]], [['--no-check']], [['-19']], [['--ultra', '-22']], [['--fast=5']], [['-T2', '-B1MB']]])(
    'is read, with options %j',
    async (options) => {
      expect(shown(await readFileOf('x.txt.zst', zstd(lines, options)))).toEqual(prompts);
    },
  );

  it('is detected by its first bytes, whatever the name of the file, in chunks of any size', async () => {
    const bytes = zstd('a\nb\n');
    expect(shown(await readFileOf('x.txt', bytes))).toEqual([{ prompt: 'a' }, { prompt: 'b' }]);
    const letters = Array.from(bytes, (byte) => Uint8Array.of(byte));
    expect(shown(await readStream(...letters))).toEqual([{ prompt: 'a' }, { prompt: 'b' }]);
  });

  it('may have several frames, as after appending, and skippable frames between them', async () => {
    const skipped = Buffer.concat([Buffer.from([0x5e, 0x2a, 0x4d, 0x18, 3, 0, 0, 0]), Buffer.from('xyz')]);
    const bytes = Buffer.concat([skipped, zstd('a\nb'), skipped, zstd(''), zstd('c\n')]);
    expect(shown(await readFileOf('x.txt.zst', bytes))).toEqual([{ prompt: 'a' }, { prompt: 'bc' }]);
  });

  it('is refused if it is damaged or cut anywhere', async () => {
    const whole = zstd(lines);
    for (const at of [whole.length >> 1, whole.length - 2, 40]) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      expect(await complaint(readFileOf('x.txt.zst', damaged))).toMatch(
        /^x.txt.zst: is a zstd file that is damaged/,
      );
    }
    for (const length of [4, 5, 9, 12, whole.length >> 1, whole.length - 5, whole.length - 1]) {
      const cut = whole.subarray(0, length);
      expect(await complaint(readFileOf('x.txt.zst', cut))).toMatch(
        /^x.txt.zst: is a zstd file that is damaged or truncated/,
      );
    }
    const followed = Buffer.concat([whole, Buffer.from('more')]);
    expect(await complaint(readFileOf('x.txt.zst', followed))).toContain('damaged or truncated');
  });

  it('is refused if it needs too much memory', async () => {
    const bytes = zstd('x', ['--long=28', '-1', '--single-thread']);
    expect(await complaint(readFileOf('x.txt.zst', bytes))).toBe(
      'x.txt.zst: is a zstd file that needs a window of 256 MiB, more than the supported 128; compress it without --long or --ultra',
    );
  });
});

it('a list packed by zstd is refused if it needs a dictionary', async () => {
  const bytes = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 1, 0x09, 0, 0, 0x61]);
  expect(await complaint(readFileOf('x.txt.zst', bytes))).toBe(
    'x.txt.zst: is a zstd file that needs a dictionary; compress it without one',
  );
});

function zstd(text: string, options: string[] = []): Buffer {
  return execFileSync('zstd', ['-q', '-c', ...options], { input: text, maxBuffer: 1e9 });
}

function isThere(): boolean {
  try {
    execFileSync('zstd', ['--version']);
    return true;
  } catch {
    return false;
  }
}
