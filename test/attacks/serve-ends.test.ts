/**
 * Promise: a signal ends the service once running jobs have ended or their grace is over, and a second signal
 * ends it at once.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isRunning } from '../service/workloads/started-worker.ts';
import { isWhole, rest } from '../fakes/tier.ts';
import { folderWith, testKey } from '../e2e/cli.ts';
import { Served } from '../e2e/served.ts';

const env = { NIGHTRENDER_API_KEY: testKey };

const loading = `
import { writeFileSync } from 'node:fs';
writeFileSync('pid', String(process.pid));
setInterval(() => undefined, 60_000);
await new Promise(() => undefined);`;

/** A worker program that ignores SIGTERM and never ends by itself. */
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
  'the service ends at %s although a module is still loading',
  async (signal) => {
    const cwd = folderWith({
      'service.yaml': 'endpoints: [{name: Slow, module: ./slow.mjs, quickStart: true}]',
      'slow.mjs': loading,
    });
    const { program } = await Served.start(cwd, ['service.yaml'], env);
    const pid = await pidIn(cwd);
    program.child.kill(signal);
    await program.finish().exits(0).warnsOnly('');
    expect(isRunning(pid)).toBe(false);
  },
);

rest.it(
  'the service ends at once at a second signal, with a worker that does not end by itself',
  async () => {
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
  },
);

/** A worker program that records each job it begins, and ends it once the file `go` exists. */
const patient = `
const { appendFileSync, existsSync } = require('node:fs');
process.stdin.setEncoding('utf8').on('data', (text) => {
  for (const line of text.split('\\n').filter(Boolean)) {
    const { id } = JSON.parse(line);
    appendFileSync('begun', id + '\\n');
    const timer = setInterval(() => {
      if (!existsSync('go')) return;
      clearInterval(timer);
      console.log(JSON.stringify({ id, output: 'made once' }));
    }, 20);
  }
});`;

const slowFiles = {
  'service.yaml': 'endpoints: [{name: Slow, command: [node, program.cjs], workers: {max: 4}}]',
  'program.cjs': patient,
};

function begunIn(cwd: string): string[] {
  const file = join(cwd, 'begun');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

it('the service lets running jobs end after SIGTERM, begins no others, and does none of them twice', async () => {
  const cwd = folderWith(slowFiles);
  const first = await Served.start(cwd, ['service.yaml'], env);
  const ids = [];
  for (let job = 0; job < 4; job++) ids.push(await first.submit('slow', { job }));
  await expect.poll(() => begunIn(cwd).length, { timeout: 20_000 }).toBe(4);
  const waiting = await first.submit('slow', { job: 'waiting' });
  const held = first.ended('slow', ids[0] ?? '');
  first.program.child.kill('SIGTERM');
  await first.program.says(/waiting up to 30s \(shutdown\.grace\) for 4 jobs to end/);
  writeFileSync(join(cwd, 'go'), '');
  expect(await held).toMatchObject({ status: 'COMPLETED', output: 'made once' });
  await first.program.finish().exits(0);
  expect(begunIn(cwd).toSorted()).toEqual(ids.toSorted());

  const second = await Served.start(cwd, ['service.yaml'], env);
  for (const id of [...ids, waiting])
    expect(await second.ended('slow', id)).toMatchObject({ status: 'COMPLETED', output: 'made once' });
  expect(begunIn(cwd)).toHaveLength(5);
});

rest.it('the service ends at once by a second signal while jobs have their grace', async () => {
  const cwd = folderWith(slowFiles);
  const served = await Served.start(cwd, ['service.yaml'], env);
  const { program } = served;
  const id = await served.submit('slow', { job: 1 });
  await expect.poll(() => begunIn(cwd), { timeout: 20_000 }).toEqual([id]);
  program.child.kill('SIGTERM');
  await program.says(/shutdown\.grace/);
  program.child.kill('SIGTERM');
  await once(program.child, 'exit');
  expect(program.child.signalCode).toBe('SIGTERM');
});

rest.it('the service requeues jobs that run longer than shutdown.grace of service.yaml', async () => {
  const cwd = folderWith({
    ...slowFiles,
    'service.yaml': `shutdown: {grace: 1s}\n${slowFiles['service.yaml']}`,
  });
  const first = await Served.start(cwd, ['service.yaml'], env);
  const id = await first.submit('slow', { job: 1 });
  await expect.poll(() => begunIn(cwd), { timeout: 20_000 }).toEqual([id]);
  expect((await first.stop()).code).toBe(0);
  writeFileSync(join(cwd, 'go'), '');
  const second = await Served.start(cwd, ['service.yaml'], env);
  expect(await second.ended('slow', id)).toEqual(
    expect.not.objectContaining({ retries: expect.anything() as unknown }),
  );
  expect(begunIn(cwd)).toEqual([id, id]);
});
