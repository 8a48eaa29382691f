/**
 * Promise: a request body of any accepted size neither delays other clients nor uses more than a few times
 * its size in memory.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { PullingWorker } from '../service/pull-harness.ts';
import { folderWith, testKey } from '../e2e/cli.ts';
import { Served } from '../e2e/served.ts';

const size = 96_000_000;

const settings = `
limits: { silence: 15s, maxValues: 1000000000 }
endpoints:
  - { name: Away, remote: true }
  - { name: Other, remote: true }
  - { name: Program, command: [node, program.cjs] }`;

const program = `
process.stdin.once('data', () => {
  process.stdout.write('{"output":[' + '{},'.repeat(${size} / 3) + '{}]}\\n');
});`;

async function start() {
  const cwd = folderWith({ 'service.yaml': settings, 'program.cjs': program });
  const served = await Served.start(cwd, ['service.yaml'], { NIGHTRENDER_API_KEY: testKey });
  const add = ['dist/nightrender.cjs', 'keys', 'add', 'w', '--kind', 'worker', '--json'];
  const added = execFileSync(process.execPath, [...add, '--data', join(cwd, 'service')], {
    encoding: 'utf8',
  });
  const { key } = JSON.parse(added) as { key: string };
  const take = async (endpoint: string): Promise<string> => {
    await served.submit(endpoint, { scene: 'a red cube' });
    const job = (await (await served.ask(`/v2/${endpoint}/job-take/w1`, { key })).json()) as { id: string };
    return job.id;
  };
  return { served, key, take };
}

/** Returns the longest duration in ms of another request during `work`. */
async function worstBeside(
  served: Served,
  work: Promise<unknown>,
  ask: () => Promise<unknown> = async () => (await served.ask('/v2/other/health')).text(),
): Promise<number> {
  const beside = { isOver: false };
  const over = work.finally(() => (beside.isOver = true));
  let worst = 0;
  while (!beside.isOver) {
    const askedAt = performance.now();
    await ask();
    worst = Math.max(worst, performance.now() - askedAt);
    await sleep(10);
  }
  await over;
  return worst;
}

function peakBytes(served: Served): number {
  const status = readFileSync(`/proc/${served.program.child.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

it.skipIf(process.platform !== 'linux')(
  'a result of very many values delays no other request, and takes at most four times its size (skipped if there is no /proc)',
  async () => {
    const { served, key, take } = await start();
    const id = await take('away');
    const other = await take('other');
    const body = Buffer.concat([Buffer.from('{"output":['), Buffer.alloc(size, '{},'), Buffer.from('{}]}')]);
    const before = peakBytes(served);
    const send = fetch(`${served.url}/v2/away/job-done/w1/${id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body,
    });
    // Without the protection it took over 48 s. The limit allows for a busy machine.
    const honest = new PullingWorker(served.url, key, 'w1', 'other');
    expect(await worstBeside(served, send, () => honest.ping(other))).toBeLessThan(3_000);
    expect((await served.status('other', other)).status).toBe('IN_PROGRESS');
    expect(await (await send).json()).toEqual({ accepted: true });
    expect(peakBytes(served) - before).toBeLessThan(4 * size);
    const stored = await (await served.ask(`/v2/away/status/${id}`)).text();
    expect(stored).toContain('"output":[{},{},{},');
    expect(stored.length).toBeGreaterThan(size);
    await served.stop();
  },
);

it.skipIf(process.platform !== 'linux')(
  'a result of very many values from a program of this machine delays no other request (skipped if there is no /proc)',
  async () => {
    const { served } = await start();
    const before = peakBytes(served);
    const id = await served.submit('program', { scene: 'a red cube' });
    // The test does not parse the answer, because that would block the event loop that measures.
    const job = served.ask(`/v2/program/status-sync/${id}`).then((answer) => answer.text());
    expect(await worstBeside(served, job)).toBeLessThan(3_000);
    expect((await job).slice(-100)).toContain('"status":"COMPLETED"');
    expect(peakBytes(served) - before).toBeLessThan(4 * size);
    await served.stop();
  },
);

it('long inputs over four connections delay no other request', async () => {
  const { served } = await start();
  const body = `{"input":{"a":[${'{},'.repeat(3_300_000)}1]}}`;
  const send = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${testKey}` };
    const answer = await fetch(`${served.url}/v2/away/run`, { method: 'POST', headers, body });
    return (await answer.text(), answer.status);
  };
  const all = Promise.all([send(), send(), send(), send()]);
  expect(await worstBeside(served, all)).toBeLessThan(3_000);
  expect(await all).toEqual([200, 200, 200, 200]);
  await served.stop();
});
