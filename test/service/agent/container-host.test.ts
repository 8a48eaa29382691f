/** Promise: a worker that hosts a container ends when it is told to, also while the service is away or refuses it, and keeps one that is at a job. */
import { expect, it, onTestFinished } from 'vitest';
import { hostContainer } from '../../../src/service/agent/container-host.ts';
import { answer, answerJson, type Script } from '../../fakes/scripted-server.ts';
import { reported, scriptedService } from './scripted-service.ts';

const machine = () => Promise.resolve({ host: 'attic', cores: 1, memoryBytes: 1, gpus: [] });

async function start(...reports: Script[]) {
  const service = await scriptedService({ report: reports }, null);
  const said: string[] = [];
  const log: string[] = [];
  const never = new Promise<string>(() => undefined);
  let looks = 0;
  const [drain, leave] = [new AbortController(), new AbortController()];
  const ended = hostContainer({
    client: service.client((text) => said.push(text)),
    workerId: 'w',
    workload: {
      name: 'me/worker:2',
      startPullWorker: () => {
        log.push('started');
        const stop = () => Promise.resolve(void log.push('stopped'));
        return Promise.resolve({
          get ended() {
            looks += 1;
            return never;
          },
          stop,
        });
      },
    },
    machine,
    idleMs: undefined,
    drain: drain.signal,
    leave: leave.signal,
    onEvent: (text) => said.push(text),
  });
  ended.catch(() => undefined);
  onTestFinished(() => leave.abort());
  return { service, said, log, looks: () => looks, drain, ended };
}

it('ends at a signal while the service is away, where it was at no job', async () => {
  const { said, log, drain, ended } = await start(reported, answer(503));
  await expect
    .poll(() => said, { timeout: 10_000 })
    .toContainEqual(expect.stringContaining('does not answer'));
  drain.abort();
  expect(await ended).toBe('it was told to end');
  expect(log).toEqual(['started', 'stopped']);
});

it('ends before it has started one where the service never answered', async () => {
  const { said, log, drain, ended } = await start(answer(503));
  await expect.poll(() => said).toHaveLength(1);
  drain.abort();
  expect(await ended).toBe('it was told to end');
  expect(log).toEqual([]);
});

it('keeps it until its job is done', async () => {
  const atJob = answerJson({ drain: false, jobs: ['j1'], runs: null });
  const { service, log, drain, ended } = await start(reported, atJob, atJob, reported);
  await expect.poll(() => service.of('report').length, { timeout: 10_000 }).toBe(2);
  drain.abort();
  expect(await ended).toBe('it was told to end');
  expect(service.of('report').map(({ body }) => (JSON.parse(body) as { state: string }).state)).toEqual([
    'working',
    'working',
    'draining',
    'draining',
    'leaving',
  ]);
  expect(log).toEqual(['started', 'stopped']);
});

it('ends where the service refuses it once it has begun', async () => {
  const atJob = answerJson({ drain: false, jobs: ['j1'], runs: null });
  const refused = answerJson({ error: 'the API key is missing or unknown' }, 401);
  const { log, ended } = await start(reported, atJob, refused);
  await expect(ended).rejects.toThrow('401: the API key is missing or unknown');
  expect(log).toEqual(['started', 'stopped']);
});

it('keeps one that was given a job while it was told to end', async () => {
  const answers: (() => void)[] = [];
  const hold: Script = (socket, request) => {
    answers.push(() => (answers.length === 1 ? reported : atJob)(socket, request));
  };
  const atJob = answerJson({ drain: false, jobs: ['j1'], runs: null });
  const { service, log, looks, drain, ended } = await start(reported, hold, hold, reported);
  await expect.poll(() => answers.length, { timeout: 10_000 }).toBe(1);
  drain.abort();
  answers[0]?.();
  // What it says after the signal is on its way.
  await expect.poll(() => answers.length).toBe(2);
  const before = looks();
  await expect.poll(looks, { timeout: 10_000 }).toBeGreaterThan(before + 1);
  expect(log).toEqual(['started']);
  answers[1]?.();
  expect(await ended).toBe('it was told to end');
  const told = service.of('report').map(({ body }) => (JSON.parse(body) as { state: string }).state);
  expect(told).toEqual(['working', 'working', 'draining', 'draining', 'leaving']);
});
