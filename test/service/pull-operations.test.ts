/**
 * Promise: remote workers pull jobs, return results and report that they are alive. A silent worker loses its
 * job to another.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { firstTier, runs } from '../fakes/tier.ts';
import { cancelPath, healthPath, type Version } from '../../src/protocol/paths.ts';
import { SlowClient } from './http/slow-client.ts';
import { addKey, PullingWorker, revokeKey } from './pull-harness.ts';
import {
  ask,
  askStatus,
  endpointId,
  key,
  makeDataDir,
  openService,
  post,
  statusOnce,
  submit,
  type TestServiceOptions,
} from './service-harness.ts';

const silenceMs = 60_000;
const accepted = '{"accepted":true}';
const notAccepted = '{"accepted":false}';

/** Real clock for the ages of jobs. It continues while the fake clock for silence stands still. */
const elapsed = performance.now.bind(performance);

async function openPulled(options: TestServiceOptions = {}) {
  const clientLimits = { refusedTakeMs: 1, ...options.clientLimits };
  const service = await openService({ workers: 0, silenceMs, elapsed, ...options, clientLimits });
  const workerKey = addKey(service.dataDir, 'worker');
  const worker = (id: string) => new PullingWorker(service.url, workerKey, id);
  return { ...service, workerKey, worker };
}

/** Makes time for silence pass only when the test says so. */
function holdTime(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

function cancel(url: string, id: string, version: Version = 'v2') {
  return ask(url, cancelPath(version, endpointId, id), { method: 'POST' });
}

async function workersOf(url: string): Promise<Record<string, number>> {
  const { json } = await ask(url, healthPath('v2', endpointId));
  return (json as { workers: Record<string, number> }).workers;
}

/** Waits until the service knows this many workers and holds their requests open. */
async function untilKnown(url: string, count: number, state = 'idle'): Promise<void> {
  while ((await workersOf(url))[state] !== count);
}

describe('a job', () => {
  firstTier.it('is given to a worker that waits for one, and wakes it', async () => {
    const { url, worker } = await openPulled();
    const taking = worker('w1').take();
    await untilKnown(url, 1);
    const id = await submit(url, { scene: 'a hill' });
    const { status, type, text } = await taking;
    expect([status, type]).toEqual([200, 'application/json']);
    expect(JSON.parse(text)).toEqual({ id, input: { scene: 'a hill' } });
    expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_PROGRESS' });
    expect(await workersOf(url)).toMatchObject({ idle: 0, running: 1 });
  });

  firstTier.it('is not given to a worker whose key was revoked while it waited', async () => {
    const { url, dataDir, worker } = await openPulled();
    const taking = worker('w1').take();
    await untilKnown(url, 1);
    revokeKey(dataDir, 'worker-0');
    const id = await submit(url, { scene: 'a hill' });
    expect((await taking).status).toBe(204);
    expect((await worker('w1').take()).status).toBe(401);
    expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_QUEUE' });
  });

  firstTier.it('is given to one of many workers that wait', async () => {
    const { url, worker } = await openPulled();
    const leaving = new AbortController();
    const taking = ['a', 'b', 'c', 'd'].map((id) => worker(id).take(leaving.signal));
    await untilKnown(url, 4);
    const id = await submit(url, { scene: 'a hill' });
    const { text } = await Promise.race(taking);
    expect(text).toContain(id);
    const late = Promise.race(taking.map((one) => one.then(({ text: other }) => other)));
    expect(await late).toContain(id);
    expect(await workersOf(url)).toMatchObject({ idle: 3, running: 1 });
    leaving.abort();
    await Promise.allSettled(taking);
  });

  firstTier.it(
    'comes with the text that was submitted, and goes with the text that was handed in',
    async () => {
      const { url, worker } = await openPulled();
      const input = '{ "seed": 12345678901234567890,"pi":3.10, "scene":"\\u00e9 \\"}{ é" }';
      const { json } = await post(url, `{"policy":{}, "input":${input}, "webhook":null}`);
      const { id } = json as { id: string };
      expect((await worker('w1').take()).text).toBe(`{"id":"${id}","input":${input}}`);
      expect((await askStatus(url, id)).text).toContain(`"input":${input}`);
      const output = '[ {"seed":98765432109876543210, "x":1.50} ]';
      const handedIn = await worker('w1').done(id, `{"x":"}","output": ${output} ,"stopPod":false}`);
      expect([handedIn.status, handedIn.text]).toEqual([200, accepted]);
      expect((await askStatus(url, id)).text).toContain(`"output":${output}`);
    },
  );

  firstTier.it('comes in batches, in the order of the queue, as many as there are', async () => {
    const { url, worker } = await openPulled();
    const ids = [];
    for (let count = 0; count < 5; count++) ids.push(await submit(url, { count }));
    const first = JSON.parse((await worker('w1').takeBatch(3)).text) as { id: string }[];
    const second = JSON.parse((await worker('w2').takeBatch(3)).text) as { id: string }[];
    expect([...first, ...second].map(({ id }) => id)).toEqual(ids);
    expect(first).toHaveLength(3);
  });

  firstTier.it.each(['0', '-1', 'x', '1e9', ''])(
    'comes in a batch of a strange size too: "%s"',
    async (size) => {
      const { url, worker } = await openPulled();
      const id = await submit(url, { scene: 'x' });
      const { status, text } = await worker('w1').ask(`/job-take-batch/w1?batch_size=${size}`);
      expect([status, JSON.parse(text)]).toEqual([200, [{ id, input: { scene: 'x' } }]]);
    },
  );

  firstTier.it('is not given to workers that went away while they waited for it', async () => {
    const { url, worker, troubles } = await openPulled();
    const leaving = new AbortController();
    const ghosts = Array.from({ length: 10 }, (_, count) => worker(`ghost-${count}`).take(leaving.signal));
    await untilKnown(url, 10);
    leaving.abort();
    await Promise.allSettled(ghosts);
    // Requests sent after they left are answered after the service has noticed that they left.
    for (let count = 0; count < 3; count++) await workersOf(url);
    const ids = [];
    for (let count = 0; count < 10; count++) ids.push(await submit(url, { count }));
    const jobs = JSON.parse((await worker('loyal').takeBatch(10)).text) as { id: string }[];
    expect(jobs.map(({ id }) => id)).toEqual(ids);
    expect(troubles).toEqual([]);
  });

  it('is not lost with workers that go away in the moment they are given it', async () => {
    holdTime();
    const { url, worker, troubles } = await openPulled();
    const ids: string[] = [];
    const rounds = runs(20, { ms: 30 });
    for (let round = 0; round < rounds; round++) {
      const leaving = new AbortController();
      const ghost = worker(`ghost-${round}`).take(leaving.signal);
      const submitted = submit(url, { round });
      leaving.abort();
      await Promise.allSettled([ghost]);
      ids.push(await submitted);
    }
    const seen: string[] = [];
    const loyal = worker('loyal');
    while (seen.length < ids.length) {
      vi.advanceTimersByTime(2 * silenceMs);
      const id = await loyal.taken();
      seen.push(id);
      await loyal.done(id, '{"output":1}');
    }
    expect(seen.toSorted()).toEqual(ids.toSorted());
    expect(troubles).toEqual([]);
  });
});

firstTier.describe('a result', () => {
  it('that is an error fails the job in its words', async () => {
    const { url, worker } = await openPulled();
    const error = '{"error_type":"<class \'ValueError\'>","error_message":"no such sampler"}';
    for (const said of ['out of memory', error, { code: 1 }, ['a', 2]]) {
      const id = await submit(url, { scene: 'x' });
      await worker('w1').take();
      const output = { partial: true };
      expect((await worker('w1').done(id, JSON.stringify({ error: said, output }))).text).toBe(accepted);
      const { json } = await askStatus(url, id);
      expect(json).toMatchObject({ status: 'FAILED', error: said, output, workerId: 'w1' });
    }
  });

  it.each(['{"output":null}', '{"error":null}', '{"error":""}', '{}', '{"stopPod":true}'])(
    'that is empty completes the job without an output: %s',
    async (body) => {
      const { url, worker } = await openPulled();
      const id = await submit(url, { scene: 'x' });
      await worker('w1').take();
      await worker('w1').done(id, body);
      expect((await askStatus(url, id)).json).toMatchObject({ status: 'COMPLETED', output: null });
    },
  );

  it('that failed with an output is deleted with its file if the job is retried', async () => {
    const { url, worker, dataDir } = await openPulled();
    const id = await submit(url, { scene: 'x' });
    await worker('w1').take();
    const output = 'x'.repeat(300_000);
    await worker('w1').done(id, JSON.stringify({ error: 'late', output }));
    expect((await askStatus(url, id)).json).toMatchObject({ status: 'FAILED', output });
    expect(readdirSync(join(dataDir, 'results'))).toHaveLength(1);
    expect((await post(url, '', `/v2/${endpointId}/retry/${id}`)).status).toBe(200);
    expect(readdirSync(join(dataDir, 'results'))).toEqual([]);
  });

  it.each(['', '[]', 'output=1', '{"output":', '{"result":1}', '"x"'])(
    'that is invalid is rejected, and may be sent again: %s',
    async (body) => {
      const { url, worker } = await openPulled();
      const id = await submit(url, { scene: 'x' });
      await worker('w1').take();
      expect((await worker('w1').done(id, body)).status).toBe(400);
      expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_PROGRESS' });
      expect((await worker('w1').done(id, '{"output":1}')).text).toBe(accepted);
    },
  );

  it('counts once, however often it is handed in', async () => {
    const { url, worker } = await openPulled();
    const id = await submit(url, { scene: 'x' });
    await worker('w1').take();
    expect((await worker('w1').done(id, '{"output":1}')).text).toBe(accepted);
    const before = (await askStatus(url, id)).text;
    const again = await worker('w1').done(id, '{"output":2}');
    expect([again.status, again.text]).toEqual([200, notAccepted]);
    expect((await askStatus(url, id)).text).toBe(before);
  });

  it('of a job that was cancelled, or is another worker’s, changes nothing', async () => {
    const { url, worker } = await openPulled();
    const cancelled = await submit(url, { scene: 'x' });
    await worker('w1').take();
    await cancel(url, cancelled);
    const others = await submit(url, { scene: 'y' });
    await worker('w2').take();
    for (const id of [cancelled, others]) {
      const before = (await askStatus(url, id)).text;
      expect((await worker('w1').done(id, '{"output":1}')).text).toBe(notAccepted);
      expect((await worker('w1').part(id, '{"output":1}')).text).toBe(notAccepted);
      expect((await askStatus(url, id)).text).toBe(before);
    }
  });

  it('of a job that never was, or was deleted, is 404', async () => {
    const { worker } = await openPulled();
    expect((await worker('w1').done('no-such', '{"output":1}')).status).toBe(404);
    expect((await worker('w1').part('no-such', '{"output":1}')).status).toBe(404);
  });

  it('that breaks off is reported with the reason, and can be sent again', async () => {
    const limits = { requestTimeoutMs: 1_000, clientLimits: { checkEveryMs: 10, drainMs: 100 } };
    const { url, worker, workerKey, troubles } = await openPulled(limits);
    const id = await submit(url, { scene: 'x' });
    await submit(url, { scene: 'y' });
    const w1 = worker('w1');
    await w1.take();
    const other = await w1.taken();
    const output = JSON.stringify({ output: 'x'.repeat(600_000) });
    const line = await SlowClient.connect(url);
    line.send(
      `POST /v2/${endpointId}/job-done/w1/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: ${workerKey}\r\n` +
        `Content-Length: ${output.length}\r\n\r\n${output.slice(0, -1)}`,
    );
    expect(await line.readToEnd()).toMatch(/^HTTP\/1\.1 408 /);
    expect(troubles).toEqual([
      `the result of worker w1 for job ${id} at ${endpointId} was not accepted: the body of the request stopped coming: nothing for 1 s, or less than 1000 bytes a second; nothing was done (408)`,
    ]);
    expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_PROGRESS' });
    expect((await w1.done(id, output)).text).toBe(accepted);
    const cut = await SlowClient.connect(url);
    cut.send(
      `POST /v2/${endpointId}/job-done/w1/${other} HTTP/1.1\r\nHost: x\r\nAuthorization: ${workerKey}\r\n` +
        'Content-Length: 600000\r\nExpect: 100-continue\r\n\r\n',
    );
    await cut.readUpTo(1);
    cut.leave();
    await expect.poll(() => troubles[1]).toMatch(/the connection ended before the whole answer had arrived$/);
    expect((await w1.done('no-such', '{}')).status).toBe(404);
    expect(troubles).toHaveLength(2);
  });

  it('that is too large fails the job with a message', async () => {
    const { url, worker } = await openPulled({ maxResultBytes: 2_000 });
    for (const length of [3_000, 2_000_000]) {
      const id = await submit(url, { scene: 'x' });
      await worker('w1').take();
      await worker('w1')
        .done(id, JSON.stringify({ output: 'x'.repeat(length) }))
        .catch(() => undefined);
      const { error } = await statusOnce(url, id, 'FAILED');
      expect(error).toBe("the worker's output exceeds 2000 bytes");
    }
    expect(await workersOf(url)).toMatchObject({ idle: 1, running: 0 });
  });

  it('comes in parts, which clients read in their order, each once', async () => {
    const { url, worker } = await openPulled();
    const id = await submit(url, { scene: 'x' });
    await worker('w1').take();
    for (const part of ['{"output":12345678901234567890}', '{"output":[2]}'])
      expect((await worker('w1').part(id, part)).text).toBe(accepted);
    const path = `/v2/${endpointId}/stream/${id}`;
    const stream = '[{"output":12345678901234567890},{"output":[2]}]';
    expect((await ask(url, path)).text).toBe(`{"status":"IN_PROGRESS","stream":${stream}}`);
    const waiting = ask(url, path);
    await worker('w1').part(id, '{"output":"three"}');
    expect((await waiting).json).toEqual({ status: 'IN_PROGRESS', stream: [{ output: 'three' }] });
    await worker('w1').part(id, '{"output":4}');
    await worker('w1').done(id, '{"output":[]}');
    expect((await ask(url, path)).json).toEqual({ status: 'COMPLETED', stream: [{ output: 4 }] });
    expect((await ask(url, path)).json).toEqual({ status: 'COMPLETED', stream: [] });
  });
});

firstTier.it('a second worker of the same id is refused with a message while the first waits', async () => {
  const { url, worker } = await openPulled();
  const gone = new AbortController();
  const first = worker('w1')
    .take(gone.signal)
    .catch(() => 'gone');
  await untilKnown(url, 1);
  expect(await worker('w1').taken()).toBe(
    '409 {"error":"another worker with the id w1 waits for jobs here; give each worker an id of its own"}',
  );
  gone.abort();
  expect(await first).toBe('gone');
  const id = await submit(url, { scene: 'x' });
  await expect.poll(() => worker('w1').taken()).toBe(id);
});

firstTier.describe('a worker that falls silent', () => {
  it('keeps the jobs that it names, and no others', async () => {
    holdTime();
    const { url, worker } = await openPulled();
    const [named, forgotten] = [await submit(url, { scene: 'x' }), await submit(url, { scene: 'y' })];
    await worker('w1').takeBatch(2);
    for (let count = 0; count < 4; count++) {
      vi.advanceTimersByTime(silenceMs / 2);
      await worker('w1').ping(named, 'no-such-job');
    }
    expect(await statusOnce(url, forgotten, 'IN_QUEUE')).toEqual({
      id: forgotten,
      retries: 1,
      status: 'IN_QUEUE',
    });
    expect((await askStatus(url, named)).json).toMatchObject({ status: 'IN_PROGRESS' });
    expect((await askStatus(url, named)).json).not.toHaveProperty('retries');
  });

  it('is not ready when its job was taken away, until it is heard of again', async () => {
    holdTime();
    const { url, worker } = await openPulled();
    const id = await submit(url, { scene: 'x' });
    await worker('w1').take();
    vi.advanceTimersByTime(silenceMs + silenceMs / 10);
    await statusOnce(url, id, 'IN_QUEUE');
    await untilKnown(url, 1, 'unhealthy');
    expect(await workersOf(url)).toMatchObject({ idle: 0, ready: 0, unhealthy: 1 });
    await worker('w1').ping();
    expect(await workersOf(url)).toMatchObject({ ready: 1, unhealthy: 0 });
  });

  it('has its result taken after all while the job waits', async () => {
    holdTime();
    const { url, worker } = await openPulled();
    const id = await submit(url, { scene: 'x' });
    await worker('w1').take();
    vi.advanceTimersByTime(2 * silenceMs);
    await statusOnce(url, id, 'IN_QUEUE');
    expect((await worker('w1').done(id, '{"output":"late"}')).text).toBe(accepted);
    expect((await askStatus(url, id)).json).toMatchObject({
      status: 'COMPLETED',
      output: 'late',
      retries: 1,
      delayTime: expect.any(Number) as number,
      executionTime: expect.any(Number) as number,
    });
  });

  it('is ignored once another worker has the job', async () => {
    holdTime();
    const { url, worker } = await openPulled();
    const id = await submit(url, { scene: 'x' });
    await worker('w1').take();
    vi.advanceTimersByTime(2 * silenceMs);
    await statusOnce(url, id, 'IN_QUEUE');
    expect(await worker('w2').taken()).toBe(id);
    expect(JSON.parse((await worker('w1').toStop()).text)).toEqual({ jobsToStop: [id] });
    expect((await worker('w1').done(id, '{"output":"late"}')).text).toBe(notAccepted);
    await worker('w2').done(id, '{"output":"right"}');
    expect((await askStatus(url, id)).json).toMatchObject({ status: 'COMPLETED', output: 'right' });
  });

  it('keeps its job without a connection while it hands in parts', async () => {
    holdTime();
    const { url, worker } = await openPulled();
    const closed = new AbortController();
    const waiting = worker('w1')
      .toStop(closed.signal)
      .catch(() => 'closed');
    await untilKnown(url, 1, 'initializing');
    const id = await submit(url, { scene: 'x' });
    expect(await worker('w1').taken()).toBe(id);
    closed.abort();
    expect(await waiting).toBe('closed');
    for (let count = 0; count < 6; count++) {
      vi.advanceTimersByTime(silenceMs / 2);
      expect((await worker('w1').part(id, '{"output":1}')).text).toBe(accepted);
    }
    expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_PROGRESS' });
    expect((await askStatus(url, id)).json).not.toHaveProperty('retries');
  });

  it('loses its job although something pings for it, once it has closed its connection', async () => {
    holdTime();
    const { url, worker } = await openPulled();
    const w1 = worker('rack-2.example:0');
    const killed = new AbortController();
    const waiting = w1.toStop(killed.signal).catch(() => 'killed');
    await untilKnown(url, 1, 'initializing');
    const id = await submit(url, { scene: 'x' });
    expect(await w1.taken()).toBe(id);
    killed.abort();
    expect(await waiting).toBe('killed');
    const isQueued = async () => {
      vi.advanceTimersByTime(silenceMs / 2);
      await w1.ping(id);
      return (await askStatus(url, id)).json;
    };
    await expect.poll(isQueued).toMatchObject({ status: 'IN_QUEUE', retries: 1 });
    await expect.poll(() => workersOf(url)).toMatchObject({ idle: 0, running: 0, unhealthy: 1 });
  });

  it.each(['job-done', 'job-stream'])(
    'does not count as silent while its result arrives slowly (%s)',
    async (operation) => {
      holdTime();
      const stallMs = silenceMs / 2;
      const { url, worker, workerKey } = await openPulled({
        endpoints: [endpointSettings({ id: endpointId, workers: 0, stall: stallMs })],
        requestTimeoutMs: 100 * silenceMs,
      });
      const [id, other] = [await submit(url, { a: 1 }), await submit(url, { a: 2 })];
      await worker('w1').taken();
      expect(await worker('w2').taken()).toBe(other);
      const body = '{"output":[1]}';
      const client = await SlowClient.connect(url);
      client.send(
        `POST /v2/${endpointId}/${operation}/w1/${id}? HTTP/1.1\r\nHost: x\r\nAuthorization: ${workerKey}\r\n` +
          `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
      );
      await client.readUpTo(1);
      client.send(body.slice(0, 5));
      vi.advanceTimersByTime(2 * silenceMs);
      // The worker of the other job was checked after the one that sends.
      await statusOnce(url, other, 'IN_QUEUE');
      client.send(body.slice(5));
      expect(await client.readToEnd()).toMatch(/\{"accepted":true\}$/);
      vi.advanceTimersByTime(stallMs);
      const { json } = await askStatus(url, id);
      expect(json).toMatchObject({ status: operation === 'job-done' ? 'COMPLETED' : 'IN_PROGRESS' });
      expect(json).not.toHaveProperty('retries');
    },
  );

  it('again and again fails the job, and says why', async () => {
    holdTime();
    const endpoints = [endpointSettings({ id: endpointId, workers: 0, retries: 2 })];
    const { url, worker } = await openPulled({ endpoints });
    const id = await submit(url, { scene: 'x' });
    for (const name of ['w1', 'w2', 'w3']) {
      expect(await worker(name).taken()).toBe(id);
      vi.advanceTimersByTime(2 * silenceMs);
      await statusOnce(url, id, name === 'w3' ? 'FAILED' : 'IN_QUEUE');
    }
    expect((await askStatus(url, id)).json).toMatchObject({
      status: 'FAILED',
      retries: 2,
      error: 'the worker of this job died 3 times, with 2 retries allowed: worker w3 was silent for 60 s',
    });
  });
});

firstTier.describe('a worker is ready', () => {
  it('while it waits for a job, and in time for the next; pings alone count for nothing', async () => {
    holdTime();
    const { url, worker } = await openPulled();
    const w1 = worker('w1');
    await w1.ping();
    expect(await workersOf(url)).toMatchObject({ idle: 0, ready: 0, initializing: 1 });
    const id = await submit(url, { scene: 'x' });
    expect(await w1.taken()).toBe(id);
    vi.advanceTimersByTime(silenceMs / 2);
    await w1.done(id, '{"output":1}');
    vi.advanceTimersByTime(silenceMs / 2);
    await w1.ping();
    expect(await workersOf(url)).toMatchObject({ idle: 1, ready: 1 });
    vi.advanceTimersByTime(silenceMs);
    await w1.ping();
    expect(await workersOf(url)).toMatchObject({ idle: 0, ready: 0, unhealthy: 1 });
    const left = new AbortController();
    const waiting = w1.take(left.signal).catch(() => 'left');
    await untilKnown(url, 1);
    vi.advanceTimersByTime(2 * silenceMs);
    expect(await workersOf(url)).toMatchObject({ ready: 1, unhealthy: 0 });
    left.abort();
    expect(await waiting).toBe('left');
  });

  it('not if it has never asked: a worker that only pings is unhealthy, and a worker that reports is starting', async () => {
    holdTime();
    const { url, worker } = await openPulled();
    await worker('pings').ping();
    await worker('reports').report({});
    vi.advanceTimersByTime(2 * silenceMs);
    expect(await workersOf(url)).toMatchObject({ ready: 0, initializing: 1, unhealthy: 1 });
  });
});

firstTier.describe('a job that a worker must stop', () => {
  it('is reported once to a worker that waits for it', async () => {
    const { url, worker } = await openPulled();
    const id = await submit(url, { scene: 'x' });
    await worker('w1').take();
    const waiting = worker('w1').toStop();
    await worker('w1').ping(id);
    await cancel(url, id);
    const { status, type, text } = await waiting;
    expect([status, type, JSON.parse(text)]).toEqual([200, 'application/json', { jobsToStop: [id] }]);
  });

  it('may be a job that timed out, or a job that the worker never had', async () => {
    holdTime();
    const { url, worker } = await openPulled();
    const { json } = await post(url, '{"input":{"scene":"x"},"policy":{"executionTimeout":1}}');
    const { id } = json as { id: string };
    await worker('w1').take();
    const stopped = worker('w1').toStop();
    const statusLater = async (): Promise<unknown> => {
      vi.advanceTimersByTime(500);
      return (await askStatus(url, id)).json;
    };
    await expect.poll(statusLater).toMatchObject({ status: 'TIMED_OUT' });
    expect(JSON.parse((await stopped).text)).toEqual({ jobsToStop: [id] });
    const waiting = worker('w1').toStop();
    await worker('w1').ping('never-had');
    expect(JSON.parse((await waiting).text)).toEqual({ jobsToStop: ['never-had'] });
  });

  it('is not a job whose result the worker has handed in', async () => {
    const { url, worker } = await openPulled();
    const [done, failed, cancelled] = [
      await submit(url, { scene: 'x' }),
      await submit(url, { scene: 'y' }),
      await submit(url, { scene: 'z' }),
    ];
    await worker('w1').takeBatch(3);
    const waiting = worker('w1').toStop();
    await worker('w1').ping(done, failed, cancelled);
    await worker('w1').done(done, '{"output":1}');
    await worker('w1').done(failed, '{"error":"no"}');
    await worker('w1').ping(done, failed, cancelled);
    await cancel(url, cancelled);
    expect(JSON.parse((await waiting).text)).toEqual({ jobsToStop: [cancelled] });
  });

  it('is not a job that the worker was given again', async () => {
    holdTime();
    const { url, worker } = await openPulled();
    const id = await submit(url, { scene: 'x' });
    await worker('w1').take();
    vi.advanceTimersByTime(2 * silenceMs);
    await statusOnce(url, id, 'IN_QUEUE');
    expect(await worker('w1').taken()).toBe(id);
    const waiting = worker('w1').toStop();
    await worker('w1').ping(id, 'never-had');
    expect(JSON.parse((await waiting).text)).toEqual({ jobsToStop: ['never-had'] });
  });
});

describe('keys', () => {
  const worked = ['/job-take/w', '/job-take-batch/w', '/job-stop/w', '/ping/w'];

  it('of workers submit nothing and request no job', async () => {
    const { url, workerKey, held } = await openPulled();
    const headers = { Authorization: `Bearer ${workerKey}` };
    const body = '{"input":{"scene":"x"}}';
    const base = `${url}/v2/${endpointId}`;
    const asked = [
      ...['run', 'runsync', 'render', 'cancel/x', 'retry/x', 'purge-queue'].map((path) =>
        fetch(`${base}/${path}`, { method: 'POST', headers, body }),
      ),
      ...['status/x', 'status-sync/x', 'stream/x', 'health'].map((path) =>
        fetch(`${base}/${path}`, { headers }),
      ),
    ];
    for (const reply of await Promise.all(asked)) expect(reply.status).toBe(403);
    expect(held.runs).toEqual([]);
  });

  firstTier.it('of clients take nothing and hand nothing in, with and without "Bearer"', async () => {
    const { url, dataDir } = await openPulled();
    const id = await submit(url, { scene: 'x' });
    for (const clientKey of [addKey(dataDir, 'client'), key]) {
      const bare = new PullingWorker(url, clientKey, 'w');
      const bearer = new PullingWorker(url, `Bearer ${clientKey}`, 'w');
      for (const path of worked) {
        expect((await bare.ask(path)).status).toBe(403);
        expect((await bearer.ask(path)).status).toBe(403);
      }
      expect((await bearer.done(id, '{"output":1}')).status).toBe(403);
    }
    expect((await askStatus(url, id)).json).toEqual({ id, status: 'IN_QUEUE' });
  });

  firstTier.it('are good for the endpoints of their scope, and see no others', async () => {
    const endpoints = ['one', 'two'].map((id) => endpointSettings({ id, workers: 0 }));
    const { url, dataDir } = await openService({ endpoints, clientLimits: { refusedTakeMs: 1 } });
    const workerKey = addKey(dataDir, 'worker', ['one']);
    const clientKey = addKey(dataDir, 'client', ['one']);
    const id = await submit(url, { scene: 'x' }, 'v2', 'one');
    const other = await submit(url, { scene: 'x' }, 'v2', 'two');
    expect(await new PullingWorker(url, workerKey, 'w', 'one').taken()).toBe(id);
    const stranger = new PullingWorker(url, workerKey, 'w', 'two');
    for (const path of worked)
      expect(await stranger.ask(path)).toMatchObject({
        status: 404,
        text: '{"error":"endpoint not found; there is one"}',
      });
    expect((await stranger.done(other, '{"output":1}')).status).toBe(404);
    const headers = { Authorization: `Bearer ${clientKey}` };
    expect((await ask(url, `/v2/one/status/${id}`, { headers })).status).toBe(200);
    expect((await ask(url, `/v2/two/status/${other}`, { headers })).status).toBe(404);
  });
});

firstTier.describe('over a restart of the service', () => {
  it('a worker continues and returns the jobs that it had before', async () => {
    const dataDir = await makeDataDir();
    const first = await openPulled({ dataDir });
    const id = await submit(first.url, { scene: 'x' });
    const worker = first.worker('w1');
    await worker.take();
    await first.close();
    const second = await openService({ dataDir, workers: 0 });
    const resumed = await askStatus(second.url, id);
    expect(resumed.json).toMatchObject({ status: 'IN_PROGRESS' });
    expect(resumed.json).not.toHaveProperty('retries');
    const there = new PullingWorker(second.url, first.workerKey, 'w1');
    expect((await there.done(id, '{"output":1}')).text).toBe(accepted);
    expect((await askStatus(second.url, id)).json).toMatchObject({ status: 'COMPLETED' });
  });

  it('a worker that does not come back loses its job after a while', async () => {
    holdTime();
    const dataDir = await makeDataDir();
    const first = await openPulled({ dataDir });
    const id = await submit(first.url, { scene: 'x' });
    await first.worker('w1').take();
    await first.close();
    const second = await openService({ dataDir, workers: 0, silenceMs });
    vi.advanceTimersByTime(2 * silenceMs);
    expect(await statusOnce(second.url, id, 'IN_QUEUE')).toMatchObject({ retries: 1 });
    expect(await new PullingWorker(second.url, first.workerKey, 'w2').taken()).toBe(id);
  });

  it('a worker that waits for a job is told that there is none', async () => {
    const { url, worker, close } = await openPulled();
    const taking = worker('w1').take();
    const stopping = worker('w2').toStop();
    await untilKnown(url, 1);
    await untilKnown(url, 1, 'initializing');
    await close();
    expect((await taking).status).toBe(204);
    expect((await stopping).status).toBe(204);
  });
});
