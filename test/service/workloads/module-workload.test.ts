/** Promise: a JavaScript module works as a worker, and its errors affect only itself and its job. */
import { describe, expect, it } from 'vitest';
import { moduleWorkload } from '../../../src/service/workloads/module-workload.ts';
import { WorkerDied } from '../../../src/service/workloads/workload-definition.ts';
import { firstTier, isWhole } from '../../fakes/tier.ts';
import { holdTimers, isRunning, makeFolder, passTimeUntil, start, startModule } from './started-worker.ts';

describe('a module that keeps to its part', () => {
  firstTier.it('answers one job after another in one process', async () => {
    const worker = await startModule('export const handler = async (job) => ({ pid: process.pid, job });');
    const first = (await worker.job({ scene: 'Ä\u2028 "🎨"' }, 'a').output) as { pid: number };
    expect(first.pid).not.toBe(process.pid);
    expect(first).toEqual({ pid: first.pid, job: { id: 'a', input: { scene: 'Ä\u2028 "🎨"' } } });
    expect(await worker.job({}, 'b').output).toEqual({ pid: first.pid, job: { id: 'b', input: {} } });
  });

  firstTier.it('reports its progress, and its output becomes the log', async () => {
    const worker = await startModule(`
      console.log('loaded');
      export const handler = async ({ input }, { log, progress }) => {
        log('one'); log({ two: 2 }); progress({ at: 0.5 });
        await new Promise((written) => process.stderr.write('three\\n', written));
        return input.answer;
      };`);
    const job = worker.job({ answer: 42 });
    expect(await job.output).toBe(42);
    expect(job.progress).toEqual([{ at: 0.5 }]);
    await expect.poll(() => worker.log.toSorted()).toEqual(['loaded', 'one', 'three', '{ two: 2 }']);
  });

  firstTier.it.each([
    ['the list of its items', '', ['a', { b: 2 }]],
    ['what it returns', 'return "all";', 'all'],
  ])('streams the items of a generator, whose output is %s', async (_, last, output) => {
    const worker = await startModule(
      `export async function* handler() { yield 'a'; yield { b: 2 }; ${last} }`,
    );
    const job = worker.job({});
    expect(await job.output).toEqual(output);
    expect(job.stream).toEqual(['a', { b: 2 }]);
  });

  firstTier.it('may be written in CommonJS', async () => {
    const worker = await startModule('exports.handler = () => [1];', { file: 'workload.cjs' });
    expect(await worker.job({}).output).toEqual([1]);
    const assigned = await startModule('const own = { handler: () => [2] }; module.exports = own;', {
      file: 'workload.cjs',
    });
    expect(await assigned.job({}).output).toEqual([2]);
  });

  firstTier.it('has the environment of its endpoint, and no key of the service', async () => {
    process.env['NIGHTRENDER_API_KEY'] = 'secret-of-the-service';
    const worker = await startModule('export const handler = () => process.env;', {
      environment: { MODEL: 'xl' },
    });
    delete process.env['NIGHTRENDER_API_KEY'];
    const seen = await worker.job({}).output;
    expect(seen).toMatchObject({ MODEL: 'xl', RUNPOD_ENDPOINT_ID: 'endpoint-1', RUNPOD_POD_ID: 'worker-1' });
    expect(seen).not.toHaveProperty('NIGHTRENDER_API_KEY');
  });

  it('answers in megabytes', async () => {
    const megabytes = isWhole ? 10 : 1;
    const worker = await startModule(
      `export const handler = ({ input }) => input.text + 'x'.repeat(${2 * megabytes} << 20);`,
    );
    const { output } = worker.job({ text: 'y'.repeat(megabytes << 20) });
    expect(await output).toHaveLength((3 * megabytes) << 20);
  });
});

firstTier.describe('a handler that fails', () => {
  it.each([
    ['throws', `throw new Error('no such scene')`, 'no such scene'],
    ['throws what is no error', `throw { code: 7 }`, '{ code: 7 }'],
    ['returns what has no JSON', `return 1n`, 'BigInt'],
    ['returns a ring', `const ring = {}; ring.ring = ring; return ring`, 'circular'],
  ])('fails its job if it %s, and continues', async (_, statements, text) => {
    const worker = await startModule(
      `export const handler = async ({ input }) => { if (input.fails) { ${statements} } return 1; };`,
    );
    const { output } = worker.job({ fails: true });
    await expect(output).rejects.toThrow(text);
    await expect(output).rejects.not.toBeInstanceOf(WorkerDied);
    expect(await worker.job({}).output).toBe(1);
  });

  it('has its stack in the log, not in the error', async () => {
    const worker = await startModule(`export const handler = () => { throw new Error('deep'); };`);
    await expect(worker.job({}).output).rejects.toThrow(/^deep$/);
    expect(worker.log[0]).toBe('Error: deep');
    expect(worker.log[1]).toContain('at handler');
  });

  it('is reported as without output if it returns none', async () => {
    const worker = await startModule('export const handler = () => undefined;');
    expect(await worker.job({}).output).toBeNull();
  });
});

firstTier.describe('a module that cannot be loaded', () => {
  it.each([
    ['has a mistake', 'export const = 1', 'Unexpected token'],
    ['throws', `throw new Error('no model')`, 'no model'],
    ['exports no handler', 'export const run = 1', 'exports no function named handler'],
    ['exits', 'process.exit(4)', "the worker's process exited with code 4"],
  ])('is refused with a message if it %s', async (_, source, text) => {
    await expect(startModule(source)).rejects.toThrow(text);
  });

  it('is refused with a message if it is not there', async () => {
    const path = `${await makeFolder()}/none.mjs`;
    const workload = moduleWorkload({ endpointId: 'e', path, environment: {} });
    await expect(start(workload)).rejects.toThrow(`there is no file ${path}`);
  });

  it('is ended if it does not become ready', async () => {
    const endless = startModule('await new Promise(() => setInterval(() => undefined, 1000));', {
      startTimeoutMs: 200,
    });
    await expect(endless).rejects.toThrow('was not ready within 200 ms');
  });
});

firstTier.describe('a module that ends its process', () => {
  it.each([
    ['exits', 'process.exit(0)', "the worker's process exited with code 0"],
    ['aborts', 'process.abort()', "the worker's process was killed by SIGABRT"],
    [
      'rejects what nobody awaits',
      'Promise.reject(new Error("lost")); await new Promise(() => undefined)',
      'exited with code 1',
    ],
    ['crashes', `process.kill(process.pid, 'SIGSEGV')`, "the worker's process was killed by SIGSEGV"],
    [
      'has more on its heap than it may',
      'const kept = []; for (;;) kept.push(new Array(1000).fill(kept.length))',
      "the worker's process",
    ],
  ])('gives its job back if it %s', async (_, statements, reason) => {
    const worker = await startModule(`export const handler = async () => { ${statements} };`, {
      memoryBytes: 150 * 2 ** 20,
    });
    const { output } = worker.job({});
    await expect(output).rejects.toBeInstanceOf(WorkerDied);
    expect(await worker.ended).toContain(reason);
  });

  it.skipIf(process.platform !== 'linux')(
    'is killed if it has more beside its heap than it may (skipped if there is no /proc)',
    async () => {
      holdTimers();
      const worker = await startModule(
        `const kept = [];
       export const handler = () => new Promise(() => setInterval(() => kept.push(Buffer.alloc(10 << 20, 1)), 10));`,
        { memoryBytes: 200 * 2 ** 20 },
      );
      const { output } = worker.job({});
      await passTimeUntil(worker.ended);
      await expect(output).rejects.toThrow('exceeded its 200 MiB of memory');
    },
  );

  it('is ended if it computes for ever and its job is called off', async () => {
    const worker = await startModule(
      'export const handler = ({}, { log }) => { process.stderr.write(process.pid + "\\n"); for (;;); };',
    );
    const job = worker.job({});
    await expect.poll(() => worker.log.length).toBe(1);
    job.callOff();
    await expect(job.output).rejects.toThrow('cancelled');
    expect(isRunning(Number(worker.log[0]))).toBe(false);
  });
});
