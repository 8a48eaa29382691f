/**
 * Promise: if something else answers in place of the service, a remote worker continues, reports it once, and
 * loses no result.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import {
  type Worker,
  WorkerDied,
  type Workload,
} from '../../../src/service/workloads/workload-definition.ts';
import { inProcessWorkload } from '../in-process-workload.ts';
import { answer, answerJson, headOf, type Script } from '../../fakes/scripted-server.ts';
import { held, reported, scriptedService, type ScriptedService } from './scripted-service.ts';
import { startAgent } from './started-agent.ts';

const page = '<!doctype html>\n<title>Please sign in</title>';

/** Starts a worker that returns its input. */
function start(service: ScriptedService, run = (input: unknown): unknown => input) {
  return startAgent(
    service,
    inProcessWorkload('echo', ({ input }) => Promise.resolve(run(input))),
  );
}

const strange: [what: string, came: Script, reason: string][] = [
  ['a page', answer(200, page), 'status 200 and "<!doctype html> <title>Please sign in</title>"'],
  ['null', answer(200, 'null'), 'status 200 and "null"'],
  [
    'other JSON',
    answerJson({ accepted: 'yes', jobs: 3 }),
    'status 200 and "{\\"accepted\\":\\"yes\\",\\"jobs\\":3}"',
  ],
  ['nothing', answer(200), 'status 200 and nothing more'],
  [
    'a redirect',
    answer(302, '', { Location: 'https://sign.example/in' }),
    'a redirect to "https://sign.example/in"',
  ],
  ['a proxy’s 403', answer(403, page), 'status 403 and "<!doctype html>'],
  ['a proxy’s 404', answer(404, page), 'status 404 and "<!doctype html>'],
  [
    '408',
    answerJson({ error: 'the request took too long' }, 408),
    'the service says 408: the request took too long',
  ],
  ['429', answerJson({ error: 'too many requests' }, 429), 'the service says 429: too many requests'],
  ['502', answer(502, page), 'the service does not answer (status 502)'],
  ['a cut line', (socket) => socket.destroy(), 'the service does not answer ('],
];

it.each(strange)('a remote worker hands its result in again if %s came instead', async (_, came, reason) => {
  const service = await scriptedService({ 'job-done': [came, came, answerJson({ accepted: true })] });
  const { said, drain, ended } = start(service, () => ({ picture: 'x' }));
  await expect.poll(() => said.at(-1)).toContain('job j1 is done (');
  drain.abort();
  expect(await ended).toBe('it was told to end');
  expect(service.of('job-done').map(({ body }) => body)).toEqual(Array(3).fill('{"output":{"picture":"x"}}'));
  const told = said.filter((text) => text.includes(reason));
  expect(told).toEqual([
    expect.stringMatching(/^the result of job j1 is not handed in yet: .*; trying again$/),
  ]);
  expect(said.join('\n')).not.toContain('no longer wanted');
});

it.each(strange)(
  'a remote worker continues reporting and asking if %s comes instead, and says it once',
  async (_, came, reason) => {
    const service = await scriptedService({
      report: [came, came, reported],
      'job-take': [came, came, answerJson({ id: 'j1', input: {} }), held],
      'job-stop': [came, came, answerJson({ jobsToStop: ['j1'] }), held],
    });
    const { said, drain, ended } = start(service, () => new Promise(() => undefined));
    await expect.poll(() => said.at(-1)).toBe('job j1 is no longer wanted');
    drain.abort();
    expect(await ended).toBe('it was told to end');
    const complaint = expect.stringContaining(reason) as string;
    const again = 'the service answers again';
    expect(said.slice(0, -1)).toEqual([
      complaint,
      again,
      complaint,
      again,
      'job j1 begins',
      complaint,
      again,
    ]);
  },
);

it('a remote worker logs the true reason of the job, and does not call a repeated result unwanted', async () => {
  const timeout = answerJson({ error: 'the request took too long to arrive' }, 408);
  const service = await scriptedService({ 'job-done': [timeout, answerJson({ accepted: false })] });
  const { said, drain, ended } = start(service);
  await expect.poll(() => said.at(-1)).toContain('from an earlier try, or no longer wants it');
  drain.abort();
  await ended;
  const logged = service.of('report').flatMap(({ body }) => (JSON.parse(body) as { log: string[] }).log);
  expect(logged).toEqual([
    'the result is not handed in yet: the service says 408: the request took too long to arrive; trying again',
  ]);
});

it('a remote worker says that a result is not wanted if the service says so', async () => {
  for (const came of [answerJson({ accepted: false }), answerJson({ error: 'job not found' }, 404)]) {
    const { said } = start(await scriptedService({ 'job-done': [came] }));
    await expect.poll(() => said.at(-1)).toContain('job j1 was done, but is no longer wanted');
  }
});

it('a remote worker fails the job with a message if a proxy will never let its result through', async () => {
  const service = await scriptedService({ 'job-done': [answer(413, page), answerJson({ accepted: true })] });
  const { said } = start(service);
  await expect
    .poll(() => said.at(-1))
    .toContain('job j1 has failed: the service did not take its result of 13 bytes');
  const error = 'the service did not take its result of 13 bytes: it is too large for a proxy (413)';
  expect(service.of('job-done').map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { output: {} },
    { error },
  ]);
});

it('a remote worker brings a result although the service does not take its report, whose log is lost', async () => {
  const refused = answerJson({ error: 'exceeded max body size of 9 bytes' }, 400);
  const service = await scriptedService({ report: [reported, refused] });
  const { said } = start(service);
  await expect.poll(() => said.at(-1)).toContain('job j1 is done (');
  expect(said.filter((text) => text.includes('the service refuses a report of this worker'))).toHaveLength(1);
});

it('a remote worker brings a result although a proxy lets no report through, whose log is lost', async () => {
  const service = await scriptedService({ report: [reported, answer(413, page), reported] });
  const { said } = start(service);
  await expect.poll(() => said.at(-1)).toContain('job j1 is done (');
  expect(said).toContainEqual(
    'the service refuses a report of this worker (it is too large for a proxy (413)): part of its log is lost there',
  );
});

it('a remote worker brings a result although something else answers its reports for ever', async () => {
  const service = await scriptedService({ report: [reported, answer(403, page)] });
  const limits = holdLimits();
  const { said } = start(service);
  await expect.poll(() => service.of('report').length).toBeGreaterThan(1);
  expect(service.of('job-done')).toEqual([]);
  limits.endAll();
  await expect.poll(() => said.at(-1)).toContain('job j1 is done (');
  expect(service.of('job-done').map(({ body }) => body)).toEqual(['{"output":{}}']);
});

it('a remote worker finishes its job and brings it if the service refuses a report, and ends with that then', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const refused = answerJson({ error: 'the API key is missing or unknown' }, 401);
  const service = await scriptedService({
    report: [reported, refused],
    'job-done': [answer(503), answerJson({ accepted: true })],
  });
  let done: (output: unknown) => void = () => undefined;
  const { said, ended } = start(service, () => new Promise((resolve) => (done = resolve)));
  await expect.poll(() => said).toEqual(['job j1 begins']);
  vi.advanceTimersByTime(10_000);
  // The worker also reports that it takes no more jobs.
  await expect.poll(() => service.of('report').length).toBe(3);
  done('a picture');
  await expect(ended).rejects.toThrow('401: the API key is missing or unknown');
  expect(said.at(-1)).toContain('job j1 is done (');
  expect(service.of('job-done').map(({ body }) => body)).toEqual(Array(2).fill('{"output":"a picture"}'));
});

it.each(strange.filter(([what]) => /408|502|line/.test(what)))(
  'a remote worker gives a result up if %s keeps it from getting through, once it is wanted no more',
  async (_, came) => {
    let stop = (): void => undefined;
    const told: Script = (socket, request) => {
      stop = () => answerJson({ jobsToStop: ['j1'] })(socket, request);
    };
    const service = await scriptedService({ 'job-done': [came], 'job-stop': [told, held] });
    const { said } = start(service);
    await service.received(4);
    await expect.poll(() => service.of('job-done').length).toBeGreaterThan(1);
    stop();
    await expect.poll(() => said.at(-1)).toContain('no longer wanted');
  },
);

it('a remote worker uses the path of each job, whatever its id', async () => {
  const id = '../../v1/x?y#z é';
  const service = await scriptedService({}, { id, input: {} });
  const { said } = start(service);
  await expect.poll(() => said.at(-1)).toContain('is done (');
  const [done] = service.of('job-done');
  expect(done?.path).toBe(`/v2/e/job-done/w/${encodeURIComponent(id)}`);
});

it('a remote worker takes no job whose id would lead elsewhere', async () => {
  for (const id of ['..', '.', '', 5, null]) {
    const { said } = start(await scriptedService({}, { id, input: {} }));
    await expect.poll(() => said.at(-1)).toContain('another server answers instead of the service');
  }
});

it('a remote worker stops reading an answer that does not end', async () => {
  let sent = 0;
  const endless: Script = (socket) => {
    socket.write(headOf(200, { 'Content-Type': 'text/html' }));
    const more = (): void => {
      while (!socket.destroyed && socket.write('x'.repeat(65_536))) sent += 65_536;
    };
    socket.on('drain', more);
    more();
  };
  const service = await scriptedService({
    report: [endless, reported],
    'job-done': [endless, answerJson({ accepted: true })],
  });
  const { said } = start(service);
  await expect.poll(() => said.at(-1)).toContain('job j1 is done (');
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

it('a remote worker does not charge the next job for the end of a worker that the service did not hear of', async () => {
  let isBlocked = false;
  const service = await scriptedService({
    report: [(socket, request) => (isBlocked ? answer(403, page) : reported)(socket, request)],
    'job-take': [answerJson({ id: 'j1', input: {} }), answerJson({ id: 'j2', input: {} }), held],
  });
  const limits = holdLimits();
  const { said } = startAgent(
    service,
    endingWorkload(() => (isBlocked = true)),
  );
  await expect.poll(() => service.of('report').length).toBeGreaterThan(1);
  limits.endAll();
  await expect.poll(() => said).toContain('job j2 begins');
  isBlocked = false;
  const before = service.of('report').length;
  await expect.poll(() => said.at(-1)).toContain('job j2 is done (');
  const deaths = service.of('report').map(({ body }) => (JSON.parse(body) as { died: unknown }).died);
  expect(deaths.slice(0, before)).toContain('it fell over');
  expect(deaths.slice(before)).toEqual(deaths.slice(before).map(() => null));
  expect(deaths.length).toBeGreaterThan(before);
});

it('a remote worker ends without work after its idle time, which does not run out while its program is not up', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const service = await scriptedService({}, null);
  const starts: ((worker: Worker) => void)[] = [];
  const startWorker = (): Promise<Worker> => new Promise((resolve) => void starts.push(resolve));
  const { said, ended } = startAgent(service, { name: 'slow to start', startWorker }, { idleMs: 60_000 });
  const up = {
    run: () => Promise.resolve(1),
    ended: new Promise<string>(() => undefined),
    stop: () => Promise.resolve(),
  };
  await expect.poll(() => starts.length).toBe(1);
  let end: (why: string) => void = () => undefined;
  starts[0]?.({ ...up, ended: new Promise((resolve) => (end = resolve)) });
  await expect.poll(() => service.of('job-take').length).toBe(1);
  end('it fell over');
  await expect.poll(() => starts.length).toBe(2);
  vi.advanceTimersByTime(120_000);
  starts[1]?.(up);
  await new Promise((resolve) => setImmediate(resolve));
  vi.advanceTimersByTime(59_999);
  expect(service.of('report').map(({ body }) => (JSON.parse(body) as { state: string }).state)).not.toContain(
    'draining',
  );
  vi.advanceTimersByTime(1);
  expect(await ended).toBe('there was nothing to do');
  expect(said).toEqual(['a worker ended: it fell over']);
});

/** Makes timeouts expire only when the test calls `endAll`, so that a log is waited for until then. */
function holdLimits(): { endAll: () => void } {
  const limits: AbortController[] = [];
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const limit = new AbortController();
    limits.push(limit);
    return limit.signal;
  });
  onTestFinished(() => timeout.mockRestore());
  return {
    endAll: () => {
      for (const limit of limits) limit.abort();
    },
  };
}

/** Creates a workload whose first worker ends during its first job. Later workers do their jobs. */
function endingWorkload(onEnd: () => void): Workload {
  let started = 0;
  const startWorker = (): Promise<Worker> => {
    const isFirst = (started += 1) === 1;
    let end: (why: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => (end = resolve));
    const run = async ({ id }: { id: string }): Promise<unknown> => {
      if (!isFirst) return id;
      onEnd();
      end('it fell over');
      await ended;
      throw new WorkerDied('it fell over');
    };
    return Promise.resolve({ run, ended, stop: () => Promise.resolve() });
  };
  return { name: 'falling over', startWorker };
}

it('a remote worker asks a service that says at once that there is no job less and less often', async () => {
  const empty = answer(204, '');
  const service = await scriptedService({ 'job-take': [...Array.from({ length: 9 }, () => empty), held] });
  const { signal } = new AbortController();
  const client = service.client(() => undefined);
  const begunAt = performance.now();
  for (let asked = 0; asked < 9; asked += 1) expect(await client.take(signal)).toBeUndefined();
  // The pauses in this test begin with 1 ms and double each time.
  expect(performance.now() - begunAt).toBeGreaterThan(500);
  expect(service.of('job-take').length).toBe(9);
});

it('a remote worker keeps a long job as the bytes that came', async () => {
  const input = { seed: 'x'.repeat(400_000), deep: [1, { a: null }] };
  const service = await scriptedService({}, { id: 'j1', input, s3Config: { bucket: 'b' } });
  const { signal } = new AbortController();
  const job = await service.client(() => undefined).take(signal);
  expect(job).toMatchObject({ id: 'j1', s3Config: '{"bucket":"b"}' });
  expect([Buffer.isBuffer(job?.inputText), String(job?.inputText)]).toEqual([true, JSON.stringify(input)]);
});
