/** Promise: if a program that a remote worker runs ends, only the job that it was doing is affected. */
import { expect, it, onTestFinished, vi } from 'vitest';
import {
  type Worker,
  type WorkerContext,
  WorkerDied,
  type Workload,
} from '../../../src/service/workloads/workload-definition.ts';
import { answerJson, type Script } from '../../fakes/scripted-server.ts';
import { held, reported, scriptedService, type ScriptedService } from './scripted-service.ts';
import { machine, startAgent } from './started-agent.ts';

it('a remote worker passes the job request of an idle worker that ended to the next one, and reports no death', async () => {
  const { take, give } = heldTake();
  const service = await scriptedService({ 'job-take': [take, held] });
  const { workers, workload } = byHand();
  const { said } = startAgent(service, workload);
  await expect.poll(() => service.of('job-take').length).toBe(1);
  workers[0]?.end('it fell over');
  await expect.poll(() => workers.length).toBe(2);
  give();
  await expect.poll(() => workers[1]?.jobs).toEqual(['j1']);
  expect(service.of('job-take')).toHaveLength(1);
  workers[1]?.answer('done');
  await expect.poll(() => said.at(-1)).toContain('job j1 is done (');
  expect(deathsIn(service)).toEqual(deathsIn(service).map(() => null));
});

it('a remote worker says that it has a job that waits for a worker, and gives it back if none is to be started any more', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { take, give } = heldTake();
  const service = await scriptedService({ 'job-take': [take, held] });
  const { workers, workload } = byHand(1);
  const { drain, ended } = startAgent(service, workload);
  await expect.poll(() => service.of('job-take').length).toBe(1);
  workers[0]?.end('it fell over');
  give();
  const pinged = (): string[] => {
    vi.advanceTimersByTime(10_000);
    return service.of('ping').map(({ path }) => path);
  };
  await expect.poll(pinged).toContain('/v2/e/ping/w?job_id=j1');
  drain.abort();
  expect(await ended).toBe('it was told to end');
  expect(JSON.parse(service.of('report').at(-1)?.body ?? '')).toMatchObject({ state: 'leaving', died: null });
  expect(vi.getTimerCount()).toBe(0);
});

it('a remote worker reports a death in a new report, not in one that is in progress', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { take, give } = heldTake();
  const service = await scriptedService({ 'job-take': [take, held] });
  const { workers, workload } = byHand();
  const looks: (() => void)[] = [];
  const { said } = startAgent(service, workload, {
    machine: () =>
      new Promise((resolve) => {
        if (looks.push(() => resolve(machine)) !== 2) resolve(machine);
      }),
  });
  await expect.poll(() => service.of('job-take').length).toBe(1);
  vi.advanceTimersByTime(10_000);
  await expect.poll(() => looks.length).toBe(2);
  give();
  await expect.poll(() => workers[0]?.jobs).toEqual(['j1']);
  workers[0]?.end('it fell over');
  await expect.poll(() => said).toContain('job j1: it fell over');
  looks[1]?.();
  await expect.poll(() => workers.length).toBe(2);
  expect(deathsIn(service)).toEqual([null, null, 'it fell over']);
});

it('a remote worker reports a death that the service does not know in its last report, and announces no restart', async () => {
  const { take, give } = heldTake();
  const service = await scriptedService({ 'job-take': [take, held] });
  const { workers, workload } = byHand();
  const { said, drain, ended } = startAgent(service, workload);
  await expect.poll(() => service.of('job-take').length).toBe(1);
  // A first end may be restarted without a report, so this one is not the end that the test is about.
  workers[0]?.end('it fell over');
  await expect.poll(() => workers.length).toBe(2);
  give();
  await expect.poll(() => workers[1]?.jobs).toEqual(['j1']);
  drain.abort();
  await expect.poll(() => service.of('report').length).toBe(2);
  workers[1]?.end('it fell over again');
  expect(await ended).toBe('it was told to end');
  expect(JSON.parse(service.of('report').at(-1)?.body ?? '')).toMatchObject({
    state: 'leaving',
    died: 'it fell over again',
  });
  expect(said.at(-1)).toBe('a worker ended: it fell over again');
});

it('a remote worker repeats a death whose report is in progress in its last report if it is told to leave at once', async () => {
  const service = await scriptedService({ report: [reported, held, reported] });
  const { workers, workload } = byHand();
  const { leave, ended } = startAgent(service, workload);
  await expect.poll(() => workers[0]?.jobs).toEqual(['j1']);
  workers[0]?.end('it fell over');
  await expect.poll(() => service.of('report').length).toBe(2);
  leave.abort();
  expect(await ended).toBe('it was told to leave at once');
  expect(deathsIn(service)).toEqual([null, 'it fell over', 'it fell over']);
});

interface WorkerByHand {
  /** Ids of the jobs that this worker was given. */
  jobs: string[];
  answer: (output: unknown) => void;
  end: (why: string) => void;
}

/**
 * Creates a workload whose workers and jobs end when the test says. Only `startable` workers can be started.
 */
function byHand(startable = Infinity): { workers: WorkerByHand[]; workload: Workload } {
  const workers: WorkerByHand[] = [];
  const startWorker = async ({ signal }: WorkerContext): Promise<Worker> => {
    if (workers.length === startable)
      await new Promise((_, reject) =>
        signal?.addEventListener('abort', () => reject(new Error('too late'))),
      );
    let end: (why: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => (end = resolve));
    const worker: WorkerByHand = { jobs: [], answer: () => undefined, end };
    workers.push(worker);
    const run = ({ id }: { id: string }): Promise<unknown> =>
      new Promise((resolve, reject) => {
        worker.jobs.push(id);
        worker.answer = resolve;
        void ended.then((why) => reject(new WorkerDied(why)));
      });
    return { run, ended, stop: () => Promise.resolve(end('it was stopped')) };
  };
  return { workers, workload: { name: 'by hand', startWorker } };
}

/** Creates a request for a job that stays open until `give` is called. */
function heldTake(): { take: Script; give: () => void } {
  let give = (): void => undefined;
  const take: Script = (socket, request) => {
    give = () => answerJson({ id: 'j1', input: {} })(socket, request);
  };
  return { take, give: () => give() };
}

function deathsIn(service: ScriptedService): unknown[] {
  return service.of('report').map(({ body }) => (JSON.parse(body) as { died: unknown }).died);
}
