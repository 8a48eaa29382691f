/**
 * Promise: a slow disk delays other work as little as possible, because the program has more threads for it
 * than Node's default.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from './cli.ts';

/**
 * A program that starts as nightrender does, reads more files at once than any pool has threads, and counts
 * the threads.
 */
const counting = `
  require(${JSON.stringify(join(root, 'dist/nightrender.cjs'))});
  const { readdirSync, readFile } = require('node:fs');
  let waiting = 100;
  for (let i = 0; i < 100; i++) readFile('package.json', () => {
    waiting -= 1;
    if (waiting === 0) console.log('threads ' + readdirSync('/proc/self/task').length);
  });`;

it.skipIf(process.platform !== 'linux')(
  'the program has eight threads in its pool, or as many as the environment says (skipped if there is no /proc)',
  () => {
    // The other threads belong to Node itself, and their number depends on the machine.
    const own = threadsWith({ UV_THREADPOOL_SIZE: '1' }) - 1;
    expect(threadsWith({}) - own).toBe(8);
    expect(threadsWith({ UV_THREADPOOL_SIZE: '3' }) - own).toBe(3);
  },
);

function threadsWith(own: NodeJS.ProcessEnv): number {
  const options = { env: { PATH: process.env['PATH'], ...own }, encoding: 'utf8', cwd: root } as const;
  const said = execFileSync(process.execPath, ['-e', counting, 'nightrender', '--version'], options);
  return Number(/threads (\d+)/.exec(said)?.[1]);
}
