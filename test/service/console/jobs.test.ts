/** The console lists and searches jobs, shows all details of a job, and cancels or retries jobs. */
import { localWorkload } from '../../../src/service/instance/local-service.ts';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { BulkCount, JobHistoryView, JobPage, JobRow } from '../../../src/protocol/console-data.ts';
import { prepareStatements, firstPicture } from '../../../src/service/console/job-views.ts';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { JobStore } from '../../../src/service/jobs/job-store.ts';
import { WorkerDied, type Workload } from '../../../src/service/workloads/workload-definition.ts';
import { inProcessWorkload, readJob } from '../in-process-workload.ts';
import { accepted, ask, endpointId, instantWorkload, makeDataDir, post } from '../service-harness.ts';
import { firstTier, rest } from '../../fakes/tier.ts';
import { addKey } from '../pull-harness.ts';
import { enter, openWithConsole, type Visit } from './visit.ts';

async function allPages(visit: Visit, filter = ''): Promise<JobRow[]> {
  const rows: JobRow[] = [];
  for (let next: string | null = ''; next !== null;) {
    const page: JobPage = await visit.get<JobPage>(`jobs?${filter}${next === '' ? '' : `&before=${next}`}`);
    expect(page.jobs.length).toBeLessThanOrEqual(50);
    rows.push(...page.jobs);
    next = page.next;
  }
  return rows;
}

firstTier.it('lists thousands of jobs, newest first, page by page, by endpoint and by status', async () => {
  const dataDir = await makeDataDir();
  const store = new JobStore(join(dataDir, 'service.sqlite'), { retentionMs: 60_000, now: Date.now });
  const submitted = Array.from({ length: 2_000 }, (_, i) =>
    accepted(store, i % 10 === 0 ? 'other' : endpointId, JSON.stringify({ scene: `scene ${i}` }), {
      isLowPriority: i % 3 === 0,
    }),
  );
  const ids = await Promise.all(submitted);
  store.close();
  const endpoints = [endpointId, 'other'].map((id) => endpointSettings({ id, workers: 0 }));
  const visit = await enter((await openWithConsole({ dataDir, endpoints })).url);
  const cancelled = ids.slice(0, 70);
  for (const id of cancelled) expect((await visit.ask('POST', `jobs/${id}/cancel`)).status).toBe(200);
  const all = await allPages(visit);
  expect(all).toHaveLength(2_000);
  expect(new Set(all.map(({ id }) => id))).toEqual(new Set(ids));
  const others = await allPages(visit, 'endpoint=other');
  expect(others.map(({ endpointId: id }) => id)).toEqual(Array.from({ length: 200 }, () => 'other'));
  const gone = await allPages(visit, 'status=CANCELLED');
  expect(new Set(gone.map(({ id }) => id))).toEqual(new Set(cancelled));
  expect(await allPages(visit, 'endpoint=other&status=CANCELLED')).toHaveLength(7);
  const waiting = await allPages(visit, 'status=IN_QUEUE');
  expect(waiting.map(({ id }) => id)).toEqual(ids.slice(70).toReversed());
  expect(await allPages(visit, 'endpoint=other&status=IN_QUEUE')).toHaveLength(193);
  for (const nothing of ['endpoint=none', 'status=none', "status='%20OR%201=1", 'before=none'])
    expect(await visit.get(`jobs?${nothing}`)).toEqual({ jobs: [], next: null });
  expect(all[0]).toMatchObject({
    status: 'IN_QUEUE',
    startedAt: null,
    delayTime: null,
    workerId: null,
    key: null,
    summary: 'scene 1999',
  });
});

firstTier.it(
  'searches in ids and prompts, and cancels and retries all that match, as many as it has named',
  async () => {
    const { url, held } = await openWithConsole();
    const visit = await enter(url);
    await visit.make({ id: 'far', name: 'Far', workers: 0, remote: true, quickStart: false });
    const fox = await visit.submit(endpointId, { scene: 'A red fox' });
    const wolf = await visit.submit(endpointId, { scene: 'A wolf' });
    const far = await visit.submit('far', { scene: 'A far FOX' });
    const first = await held.next();
    const found = async (text: string) => (await allPages(visit, `text=${text}`)).map(({ id }) => id);
    expect(await found('fox')).toEqual([far, fox]);
    expect(await found(wolf.slice(3, 20))).toEqual([wolf]);
    expect(await found('%25')).toEqual([]);
    const bulk = async (method: string, path: string): Promise<unknown> =>
      (await visit.ask(method, path)).body;
    first.fail(new Error('it broke'));
    await visit.jobOnce(fox, ({ status }) => status === 'FAILED');
    expect(await bulk('GET', 'jobs/retry?text=wolf')).toEqual({ jobs: 0, isMore: false } satisfies BulkCount);
    expect(await bulk('GET', 'jobs/retry?text=fox')).toEqual({ jobs: 1, isMore: false });
    expect(await bulk('POST', 'jobs/retry?text=fox')).toEqual({ jobs: 1, isMore: false });
    expect((await visit.job(fox)).endedAt).toBeNull();
    expect(await bulk('GET', 'jobs/cancel?endpoint=far')).toEqual({ jobs: 1, isMore: false });
    expect(await bulk('GET', 'jobs/cancel?status=FAILED')).toEqual({ jobs: 0, isMore: false });
    expect(await bulk('POST', 'jobs/cancel')).toEqual({ jobs: 3, isMore: false });
    for (const id of [fox, wolf, far]) expect((await visit.job(id)).status).toBe('CANCELLED');
  },
);

rest.it(
  'searches for a limited time, cancels a limited number, and continues with the next request',
  async () => {
    const dataDir = await makeDataDir();
    const store = new JobStore(join(dataDir, 'service.sqlite'), { retentionMs: 60_000, now: Date.now });
    const scenes = Array.from({ length: 20_500 }, (_, i) => (i === 0 ? 'a needle' : 'hay'));
    const ids = await Promise.all(
      scenes.map((scene) => accepted(store, endpointId, JSON.stringify({ scene }))),
    );
    store.close();
    const endpoints = [endpointSettings({ id: endpointId, workers: 0 })];
    const visit = await enter((await openWithConsole({ dataDir, endpoints })).url);
    // A search by the whole id finds a job at once, however old it is.
    const [needle] = ids;
    const byId = async (filter = ''): Promise<JobPage> =>
      visit.get<JobPage>(`jobs?text=%20${needle}%20${filter}`);
    expect(await byId()).toMatchObject({ jobs: [{ id: needle, summary: 'a needle' }], next: null });
    expect(await byId('&status=IN_QUEUE')).toMatchObject({ jobs: [{ id: needle }], next: null });
    for (const filter of ['&status=FAILED', '&endpoint=other'])
      expect(await byId(filter)).toEqual({ jobs: [], next: null });
    const newest = await visit.get<JobPage>('jobs?text=needle');
    expect(newest).toEqual({ jobs: [], next: expect.any(String) });
    const older = await visit.get<JobPage>(`jobs?text=needle&before=${newest.next}`);
    expect([older.jobs.map(({ summary }) => summary), older.next]).toEqual([['a needle'], null]);
    expect((await visit.ask('POST', 'jobs/cancel')).body).toEqual({ jobs: 10_000, isMore: true });
    expect((await visit.endpoint(endpointId))?.jobs).toMatchObject({ cancelled: 10_000, inQueue: 10_500 });
  },
);

firstTier.it('counts the ends of jobs by the minute, with the time they waited and took', async () => {
  let now = Date.parse('2026-03-01T20:00:30Z');
  const { url, held } = await openWithConsole({ now: () => now });
  const visit = await enter(url);
  const view = (query = '') => visit.get<JobHistoryView>(`history${query}`);
  expect(await view()).toMatchObject({ since: now, stepMs: 60_000, delay: null, execution: null });
  const ids = [await visit.submit(endpointId, { a: 1 }), await visit.submit(endpointId, { a: 2 })];
  const first = await held.next();
  now += 60_000;
  first.complete('done');
  await visit.jobOnce(ids[0] ?? '', ({ status }) => status === 'COMPLETED');
  const second = await held.next();
  now += 60_000;
  second.fail(new Error('it broke'));
  await visit.jobOnce(ids[1] ?? '', ({ status }) => status === 'FAILED');
  const { steps, delay, execution } = await view(`?endpoint=${endpointId}`);
  expect(steps).toHaveLength(60);
  expect(steps.slice(-2)).toEqual([
    expect.objectContaining({
      at: Date.parse('2026-03-01T20:01:00Z'),
      completed: 1,
      failed: 0,
      gpuMs: 60_000,
    }),
    expect.objectContaining({
      at: Date.parse('2026-03-01T20:02:00Z'),
      completed: 0,
      failed: 1,
      gpuMs: 60_000,
    }),
  ]);
  expect([delay?.p50, (delay?.p95 ?? 0) / 60_000]).toEqual([0, expect.closeTo(1, 1)]);
  expect((execution?.p50 ?? 0) / 60_000).toBeCloseTo(1, 1);
  expect((await view('?endpoint=other')).execution).toBeNull();
  const day = await view('?range=day');
  expect([day.steps.length, day.steps.at(-1)]).toEqual([
    96,
    expect.objectContaining({ completed: 1, failed: 1 }),
  ]);
});

firstTier.it('finds jobs by an index, however many there are', async () => {
  const path = join(await makeDataDir(), 'service.sqlite');
  const store = new JobStore(path, { retentionMs: 60_000, now: Date.now });
  const { db } = store.file;
  const lookingThroughAll = Object.entries(prepareStatements(store)).filter(([, { source }]) =>
    db
      .prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${source.replaceAll(/@\w+|\?/g, '1')}`)
      .all()
      .some(({ detail }) => /^SCAN job\b/.test(detail)),
  );
  store.close();
  expect(lookingThroughAll).toEqual([]);
});

firstTier.it('shows the input and the output, with its pictures', async () => {
  const visit = await enter((await openWithConsole({ workload: localWorkload })).url);
  const scene = `a red lighthouse ${'and waves '.repeat(90)}`;
  const id = await visit.submit(endpointId, { scene, seed: 7, width: 384, height: 256 });
  const job = await visit.jobOnce(id, ({ endedAt }) => endedAt !== null);
  expect(job).toMatchObject({ status: 'COMPLETED', error: null, retries: 0 });
  expect(JSON.parse(job.input ?? '')).toEqual({ scene, seed: 7, width: 384, height: 256 });
  expect(job.summary).toMatch(/^a red lighthouse/);
  expect(job.pictures).toEqual([expect.stringMatching(/^data:image\/png;base64,iVBORw0KGgo[\w+/=]+$/)]);
  expect(job.output).toContain('iVBORw0KGgo');
  expect(job.output?.length).toBeLessThan(500);
  expect(job.executionTime).toBe((job.endedAt ?? 0) - (job.startedAt ?? 0));
  const thumbnail = await visit.ask('GET', `jobs/${id}/thumbnail`);
  expect([thumbnail.status, thumbnail.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
  expect(thumbnail.headers.get('cache-control')).toMatch(/^private, max-age=[1-9]\d*$/);
  expect((await visit.ask('GET', 'jobs/none/thumbnail')).status).toBe(204);
});

rest.it('finds the picture of a thumbnail, however long it is', () => {
  const picture = `iVBORw0KGgo${'A'.repeat(20_000_001)}`;
  const outputs = [
    `{"text":"iVBORw0KGgo","not":"${picture}!","image":"data:image/png;base64,${picture}"}`,
    `["${picture}"]`,
  ];
  for (const output of outputs) expect(firstPicture(output)?.length).toBe(15_000_009);
  for (const none of ['', 'null', `"${picture}`, `"${picture}!"`]) expect(firstPicture(none)).toBeUndefined();
});

firstTier.it('shows outputs that are long, deep or hostile, as far as they can be shown', async () => {
  const picture = (type: string, length: number): string => type + 'A'.repeat(length);
  const hostile = `</script><img src=x onerror=alert(1)>\u{2028}"'\u{202e}`;
  const outputs: Record<string, unknown> = {
    hostile: { [hostile]: hostile },
    long: { text: 'x'.repeat(9_000) },
    huge: Array.from({ length: 100_000 }, (_, i) => i),
    deep: JSON.parse('['.repeat(3_000) + ']'.repeat(3_000)),
    pictures: {
      one: picture('iVBORw0KGgo', 400_000),
      twice: picture('iVBORw0KGgo', 400_000),
      named: `data:image/png;base64,${picture('/9j/', 80)}`,
      no: picture('AAAA', 400_000),
      svg: 'data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+PC9zdmc+',
    },
    many: Array.from({ length: 40 }, (_, i) => picture(`UklGR${i}`, 80)),
  };
  const { url } = await openWithConsole({
    workload: instantWorkload(({ input }) => outputs[String(input['scene'])]),
  });
  const visit = await enter(url);
  const shown = async (scene: string) => {
    const id = await visit.submit(endpointId, { scene });
    return await visit.jobOnce(id, ({ status }) => status === 'COMPLETED');
  };
  expect(JSON.parse((await shown('hostile')).output ?? '')).toEqual(outputs['hostile']);
  expect((await shown('long')).output).toMatch(/^\{\n {2}"text": "x{4000}… \(9,000 characters\)"\n\}$/);
  expect((await shown('huge')).output).toBeNull();
  expect((await shown('deep')).status).toBe('COMPLETED');
  const { pictures } = await shown('pictures');
  expect(pictures.map((uri) => [uri.slice(0, 27), uri.length])).toEqual([
    ['data:image/png;base64,iVBOR', 400_033],
    ['data:image/jpeg;base64,/9j/', 107],
  ]);
  expect((await shown('many')).pictures).toHaveLength(12);
});

firstTier.it(
  'shows an output of another machine’s worker that is nested too deeply to be written',
  async () => {
    const { url, dataDir, troubles } = await openWithConsole({ workers: 0 });
    const visit = await enter(url);
    const workerKey = addKey(dataDir, 'worker');
    const headers = { Authorization: workerKey };
    const id = await visit.submit(endpointId, { scene: 'x' });
    await ask(url, `/v2/${endpointId}/job-take/w1`, { headers });
    const output = '['.repeat(100_000) + ']'.repeat(100_000);
    const path = `/v2/${endpointId}/job-done/w1/${id}`;
    expect((await fetch(url + path, { method: 'POST', headers, body: `{"output":${output}}` })).status).toBe(
      200,
    );
    expect(await visit.job(id)).toMatchObject({ status: 'COMPLETED', output: null, pictures: [] });
    expect(troubles).toEqual([]);
  },
);

/** Creates a workload that writes the text of the job to its log, then does what the test says. */
function writing(end: (signal: AbortSignal) => Promise<unknown>): Workload {
  return {
    name: 'writing',
    startWorker: ({ log }) =>
      Promise.resolve({
        run: async (job, { signal }) => {
          for (const line of readJob(job).input['lines'] as string[]) log(line);
          return await end(signal);
        },
        ended: new Promise<string>(() => undefined),
        stop: () => Promise.resolve(),
      }),
  };
}

firstTier.it('shows the lines that a worker writes during a job, and afterwards', async () => {
  let finish: (output: unknown) => void = () => undefined;
  const workload = writing(() => new Promise((resolve) => (finish = resolve)));
  const visit = await enter((await openWithConsole({ workload })).url);
  const lines = ['<b>one</b>', '', 'two \u{1b}[31m'];
  const id = await visit.submit(endpointId, { lines });
  expect((await visit.jobOnce(id, ({ log }) => log.length > 0)).log).toEqual(lines);
  expect((await visit.endpoint(endpointId))?.workers).toMatchObject([
    { state: 'running', jobIds: [id], log: lines },
  ]);
  finish('done');
  expect((await visit.jobOnce(id, ({ endedAt }) => endedAt !== null)).log).toEqual(lines);
  const silent = await visit.submit(endpointId, { lines: [] });
  while ((await visit.endpoint(endpointId))?.workers[0]?.jobIds[0] !== silent);
  finish('done');
  expect((await visit.jobOnce(silent, ({ endedAt }) => endedAt !== null)).log).toEqual([]);
});

firstTier.it('keeps the lines that a worker wrote for a job that is cancelled', async () => {
  const stopped = async (signal: AbortSignal): Promise<never> => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    throw new WorkerDied('its job was cancelled');
  };
  const visit = await enter((await openWithConsole({ workload: writing(stopped) })).url);
  const id = await visit.submit(endpointId, { lines: ['step 1 of 50', 'step 2 of 50'] });
  await visit.jobOnce(id, ({ log }) => log.length > 0);
  await visit.ask('POST', `jobs/${id}/cancel`);
  expect(await visit.jobOnce(id, ({ endedAt, log }) => endedAt !== null && log.length > 0)).toMatchObject({
    status: 'CANCELLED',
    log: ['step 1 of 50', 'step 2 of 50'],
  });
});

firstTier.it('cancels, retries, and cancels all that wait', async () => {
  const { url, held } = await openWithConsole();
  const visit = await enter(url);
  const id = await visit.submit(endpointId, { scene: 'x' });
  const first = await held.next();
  const waiting = [await visit.submit(endpointId, { a: 1 }), await visit.submit(endpointId, { a: 2 })];
  expect((await visit.ask('POST', `jobs/${id}/retry`)).status).toBe(409);
  first.fail(new Error('it broke\nin two'));
  expect(await visit.jobOnce(id, ({ endedAt }) => endedAt !== null)).toMatchObject({
    error: 'it broke\nin two',
  });
  const second = await held.next();
  expect(await visit.ask('POST', `jobs/${id}/retry`)).toMatchObject({
    status: 200,
    body: { id, status: 'IN_QUEUE' },
  });
  expect(await visit.job(id)).toMatchObject({
    status: 'IN_QUEUE',
    error: null,
    startedAt: null,
    executionTime: null,
  });
  expect(await visit.ask('POST', `jobs/${waiting[0]}/cancel`)).toMatchObject({
    status: 200,
    body: { status: 'CANCELLED' },
  });
  expect(second.signal.aborted).toBe(true);
  expect((await held.next()).job.id).toBe(id);
  expect(await visit.ask('POST', `jobs/cancel?endpoint=${endpointId}&status=IN_QUEUE`)).toMatchObject({
    status: 200,
    body: { jobs: 1, isMore: false },
  });
  expect((await visit.endpoint(endpointId))?.jobs).toMatchObject({
    cancelled: 2,
    inProgress: 1,
    inQueue: 0,
    failed: 0,
  });
});

firstTier.it('keeps the log of a worker that died while its job waits for another', async () => {
  let deaths = 0;
  const workload = writing(() =>
    deaths++ === 0 ? Promise.reject(new WorkerDied('it died')) : new Promise(() => undefined),
  );
  const visit = await enter((await openWithConsole({ workload })).url);
  const id = await visit.submit(endpointId, { lines: ['the last words'] });
  expect(await visit.jobOnce(id, ({ retries }) => retries === 1)).toMatchObject({ log: ['the last words'] });
});

firstTier.it('says what is wrong with a submission, and that a queue is full', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  await visit.make({
    id: 'mine',
    name: 'Mine',
    workers: 0,
    remote: true,
    quickStart: false,
    maxQueued: 1,
  });
  const path = 'endpoints/mine/jobs';
  expect(await visit.ask('POST', path, { input: {} })).toMatchObject({
    status: 400,
    body: { error: expect.any(String) },
  });
  expect((await visit.ask('POST', path, { input: { a: 1 }, policy: { ttl: -1 } })).status).toBe(400);
  await visit.submit('mine', { a: 1 });
  expect((await visit.ask('POST', path, { input: { a: 1 } })).status).toBe(429);
  expect((await post(url, '{"input":{"a":1}}', '/v2/mine/run')).status).toBe(429);
});

firstTier.it('forgets a job when its time is over', async () => {
  let now = Date.now();
  const workload = inProcessWorkload('quick', () => Promise.resolve('done'));
  const visit = await enter((await openWithConsole({ workload, now: () => now, retentionMs: 1_000 })).url);
  const id = await visit.submit(endpointId, { a: 1 });
  await visit.jobOnce(id, ({ endedAt }) => endedAt !== null);
  now += 2_000;
  expect((await visit.ask('GET', `jobs/${id}`)).status).toBe(404);
});
