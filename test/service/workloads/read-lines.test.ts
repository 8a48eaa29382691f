/** Promise: the output of a process is read completely, and no faster than it is handled. */
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Line, readLines } from '../../../src/service/workloads/worker-log.ts';

const many = 200_000;
/** Returns unlimited output as a process writes it: pieces of 64 kB, one right after another. */
const flood = (): Readable =>
  Readable.from(Array.from({ length: 20 }, () => Buffer.from('a line\n'.repeat(many / 20))));

describe('a process that writes without end', () => {
  it('leaves others their turn', async () => {
    let count = 0;
    let turnsBetween = 0;
    readLines(flood(), 100, () => void (count += 1));
    for (;;) {
      await nextTurn();
      if (count === many) break;
      if (count > 0) turnsBetween += 1;
    }
    expect(turnsBetween).toBeGreaterThan(0);
    expect(count).toBe(many);
  });

  it('waits until its earlier lines are handled', async () => {
    let count = 0;
    const undone = new Promise<void>(() => undefined);
    const input = flood();
    readLines(input, 100, () => {
      count += 1;
      return undone;
    });
    while (!input.isPaused()) await nextTurn();
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThan(many);
  });
});

describe('a process that has ended', () => {
  it('is heard to its last line, whatever is still to be done', async () => {
    const heard: string[] = [];
    const undone = new Promise<void>(() => undefined);
    const input = new PassThrough();
    readLines(input, 100, ({ bytes }: Line) => {
      heard.push(bytes.toString());
      return undone;
    });
    input.write('one\n');
    while (!input.isPaused()) await nextTurn();
    input.end('two\nthree');
    // The operating system does the same for a process that has ended.
    input.resume();
    await once(input, 'end');
    expect(heard).toEqual(['one', 'two', 'three']);
  });
});
