/** Promise: no process of a worker survives when the service is killed. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { packageFile } from '../../../src/lib/files/package-file.ts';
import { expect, it, onTestFinished } from 'vitest';
import { isRunning } from './started-worker.ts';

const fixture = packageFile('dist/test/fixtures/workers-of-a-service.js');

it('ends workers that heed nothing, their children and daemons, after the service was killed', async () => {
  const stubborn = `
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined);
    const { spawn } = require('node:child_process');
    const child = spawn('sleep', ['1000']);
    const daemon = spawn('sleep', ['1000'], { detached: true });
    require('node:fs').writeSync(2, [process.pid, child.pid, daemon.pid, ''].join('\\n'));
    for (;;);`;
  const polite = `
    require('node:fs').writeSync(2, process.pid + '\\n');
    process.stdin.resume().on('end', () => process.exit());`;
  const service = fork(fixture, [stubborn, polite], { execArgv: [] });
  const pids: number[] = [];
  onTestFinished(() => {
    service.kill('SIGKILL');
  });
  service.on('message', (line) => pids.push(Number(line)));
  await expect.poll(() => pids.length).toBe(4);
  expect(pids.map(isRunning)).toEqual([true, true, true, true]);
  service.kill('SIGKILL');
  await once(service, 'exit');
  await expect.poll(() => pids.map(isRunning)).toEqual([false, false, false, false]);
});
