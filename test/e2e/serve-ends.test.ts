/** Promise: a signal ends the service whatever its workers are at, and a second one ends it at once. */
import { existsSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isRunning } from '../service/workloads/started-worker.ts';
import { isWhole, rest } from '../fakes/tier.ts';
import { folderWith, testKey } from './cli.ts';
import { Served } from './served.ts';

const env = { NIGHTRENDER_API_KEY: testKey };

const loading = `
import { writeFileSync } from 'node:fs';
writeFileSync('pid', String(process.pid));
setInterval(() => undefined, 60_000);
await new Promise(() => undefined);`;

/** It wants to work on, whoever asks it to end. */
const stubborn = `
process.on('SIGTERM', () => require('node:fs').writeFileSync('asked', ''));
process.stdin.resume().on('end', () => undefined);
setInterval(() => undefined, 60_000);
require('node:fs').writeFileSync('pid', String(process.pid));`;

async function pidIn(cwd: string): Promise<number> {
  const file = join(cwd, 'pid');
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toMatch(/^\d+$/);
  return Number(readFileSync(file, 'utf8'));
}

it.each(isWhole ? (['SIGTERM', 'SIGINT'] as const) : (['SIGTERM'] as const))(
  'ends by %s with a module that is still loading',
  async (signal) => {
    const cwd = folderWith({
      'service.yaml': 'endpoints: [{name: Slow, module: ./slow.mjs, quickStart: true}]',
      'slow.mjs': loading,
    });
    const { program } = await Served.start(cwd, ['service.yaml'], env);
    const pid = await pidIn(cwd);
    program.child.kill(signal);
    expect(await program.finish()).toMatchObject({ code: 0, stderr: '' });
    expect(isRunning(pid)).toBe(false);
  },
);

rest.it('ends at once by a second signal, with a worker that does not want to', async () => {
  const cwd = folderWith({
    'service.yaml': 'endpoints: [{name: Stubborn, command: [node, program.cjs], quickStart: true}]',
    'program.cjs': stubborn,
  });
  const { program } = await Served.start(cwd, ['service.yaml'], env);
  const pid = await pidIn(cwd);
  program.child.kill('SIGTERM');
  await expect.poll(() => existsSync(join(cwd, 'asked'))).toBe(true);
  expect(program.child.exitCode).toBeNull();
  program.child.kill('SIGTERM');
  await once(program.child, 'exit');
  expect(program.child.signalCode).toBe('SIGTERM');
  await expect.poll(() => isRunning(pid)).toBe(false);
});
