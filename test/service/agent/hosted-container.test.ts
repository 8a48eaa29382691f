/**
 * Promise: a worker that hosts a container ends when told to, even if the service is unreachable or refuses
 * it. It does not end during a job.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import type { AgentOptions } from '../../../src/service/agent/agent.ts';
import type { MachineView } from '../../../src/protocol/console-data.ts';
import type { PullWorker } from '../../../src/service/workloads/workload-definition.ts';
import { answer, answerJson, type Script } from '../../fakes/scripted-server.ts';
import { reported, scriptedService } from './scripted-service.ts';
import { machine, startAgent } from './started-agent.ts';

async function start(...reports: Script[]) {
  return await startWith({}, ...reports);
}

async function startWith(options: Partial<Pick<AgentOptions, 'machine'>>, ...reports: Script[]) {
  const service = await scriptedService({ report: reports }, null);
  const log: string[] = [];
  const ended = new Promise<string>(() => undefined);
  const startPullWorker = (): Promise<PullWorker> => {
    log.push('started');
    return Promise.resolve({ ended, stop: () => Promise.resolve(void log.push('stopped')) });
  };
  return { service, log, ...startAgent(service, { name: 'me/worker:2', startPullWorker }, options) };
}

/** Makes reports depend on the fake clock of the test. */
function fakeIntervals(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets time pass for further reports until the log shows that the container was stopped. */
async function passTimeUntilStopped(log: string[]): Promise<void> {
  const pass = (): string[] => {
    vi.advanceTimersByTime(2_000);
    return log;
  };
  await expect.poll(pass).toEqual(['started', 'stopped']);
}

it('a worker ends at a signal while the service is away, if it has no job', async () => {
  fakeIntervals();
  const { said, log, drain, ended } = await start(reported, answer(503));
  await expect.poll(() => log).toEqual(['started']);
  vi.advanceTimersByTime(2_000);
  await expect.poll(() => said).toContainEqual(expect.stringContaining('does not answer'));
  drain.abort();
  await passTimeUntilStopped(log);
  expect(await ended).toBe('it was told to end');
  expect(log).toEqual(['started', 'stopped']);
});

it('a worker ends before it has started a container if the service never answered', async () => {
  const { said, log, drain, ended } = await start(answer(503));
  await expect.poll(() => said).toHaveLength(1);
  drain.abort();
  expect(await ended).toBe('it was told to end');
  expect(log).toEqual([]);
});

it('a worker keeps its container until its job is done', async () => {
  const atJob = answerJson({ drain: false, jobs: ['j1'], runs: null });
  fakeIntervals();
  const { service, log, drain, ended } = await start(reported, atJob, atJob, reported);
  await expect.poll(() => log).toEqual(['started']);
  vi.advanceTimersByTime(2_000);
  await expect.poll(() => service.of('report').length).toBe(2);
  drain.abort();
  await passTimeUntilStopped(log);
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

it('a worker ends if the service refuses it once it has begun', async () => {
  const atJob = answerJson({ drain: false, jobs: ['j1'], runs: null });
  const refused = answerJson({ error: 'the API key is missing or unknown' }, 401);
  fakeIntervals();
  const { log, ended } = await start(reported, atJob, refused);
  await expect.poll(() => log).toEqual(['started']);
  await passTimeUntilStopped(log);
  await expect(ended).rejects.toThrow('401: the API key is missing or unknown');
  expect(log).toEqual(['started', 'stopped']);
});

it('a worker keeps a container that was given a job while it was told to end', async () => {
  fakeIntervals();
  const answers: (() => void)[] = [];
  const hold: Script = (socket, request) => {
    answers.push(() => (answers.length === 1 ? reported : atJob)(socket, request));
  };
  const atJob = answerJson({ drain: false, jobs: ['j1'], runs: null });
  const { service, log, drain, ended } = await start(reported, hold, hold, reported);
  await expect.poll(() => log).toEqual(['started']);
  vi.advanceTimersByTime(10_000);
  await expect.poll(() => answers.length).toBe(1);
  drain.abort();
  answers[0]?.();
  // The report after the signal is on its way.
  await expect.poll(() => answers.length).toBe(2);
  vi.advanceTimersByTime(10_000);
  await new Promise((resolve) => setImmediate(resolve));
  expect(log).toEqual(['started']);
  answers[1]?.();
  await passTimeUntilStopped(log);
  expect(await ended).toBe('it was told to end');
  const told = service.of('report').map(({ body }) => (JSON.parse(body) as { state: string }).state);
  expect(told).toEqual(['working', 'working', 'draining', 'draining', 'leaving']);
});

it('a worker sends one report at a time, however long its machine takes to answer', async () => {
  fakeIntervals();
  const looks: (() => void)[] = [];
  const look = (): Promise<MachineView> =>
    new Promise((resolve) => {
      if (looks.push(() => resolve(machine)) !== 2) resolve(machine);
    });
  const { service, log, drain, ended } = await startWith({ machine: look }, reported);
  await expect.poll(() => log).toEqual(['started']);
  vi.advanceTimersByTime(2_000);
  await expect.poll(() => looks.length).toBe(2);
  vi.advanceTimersByTime(20_000);
  looks[1]?.();
  await expect.poll(() => service.of('report').length).toBeGreaterThan(1);
  drain.abort();
  expect(await ended).toBe('it was told to end');
  // Each report looks at the machine once, except the last one.
  expect(looks).toHaveLength(3);
});
