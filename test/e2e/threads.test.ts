/** Promise: a slow disk holds up as little as possible: the threads that wait for it are more than Node has by itself. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from './cli.ts';

/** Starts as the program does, asks for more than any pool does at once, and counts the threads. */
const counting = `
  require(${JSON.stringify(join(root, 'dist/nightrender.cjs'))});
  const { readdirSync, readFile } = require('node:fs');
  let waiting = 100;
  for (let i = 0; i < 100; i++) readFile('package.json', () => {
    waiting -= 1;
    if (waiting === 0) console.log('threads ' + readdirSync('/proc/self/task').length);
  });`;

it.skipIf(process.platform !== 'linux').each([
  [{}, 16, 40],
  [{ UV_THREADPOOL_SIZE: '2' }, 1, 15],
])('with %j in the environment (skipped where there is no /proc)', (env, least, most) => {
  const options = { env: { PATH: process.env['PATH'], ...env }, encoding: 'utf8', cwd: root } as const;
  const said = execFileSync(process.execPath, ['-e', counting, 'nightrender', '--version'], options);
  const threads = Number(/threads (\d+)/.exec(said)?.[1]);
  expect(threads).toBeGreaterThan(least);
  expect(threads).toBeLessThan(most);
});
