/**
 * Promise: `GET /metrics` has the state of the service in Prometheus format, for local requests and keys of
 * all endpoints.
 */
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import type { ServiceOptions } from '../../../src/service/instance/service-options.ts';
import { addKey } from '../pull-harness.ts';
import { endpointId, key, openService, statusOnce, submit } from '../service-harness.ts';

/** Parses values by name and labels, as a scraper does. */
function samplesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const [, name = '', value] =
        /^([a-z_]+(?:\{(?:[a-z]+="(?:[^"\\]|\\.)*",?)*\})) (\S+)$/.exec(line) ?? [];
      expect(name, line).not.toBe('');
      return [name, Number(value)];
    }),
  );
}

it('`/metrics` counts jobs, times, workers and requests', async () => {
  let now = 1_000_000;
  const { url, held } = await openService({ now: () => now });
  const done = await submit(url, { scene: 'x' });
  const first = await held.next();
  now += 3_000;
  first.complete([1]);
  await statusOnce(url, done, 'COMPLETED');
  const failed = await submit(url, { scene: 'y' });
  (await held.next()).fail(new Error('no'));
  await statusOnce(url, failed, 'FAILED');
  await submit(url, { scene: 'running' });
  await held.next();
  await submit(url, { scene: 'waiting' });
  now += 45_000;
  const reply = await fetch(`${url}/metrics`);
  expect(reply.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const samples = samplesOf(await reply.text());
  const of = (name: string, labels = ''): number | undefined =>
    samples.get(`nightrender_${name}{endpoint="${endpointId}"${labels}}`);
  for (const [status, jobs] of Object.entries({ COMPLETED: 1, FAILED: 1, IN_PROGRESS: 1, IN_QUEUE: 1 }))
    expect([status, of('jobs', `,status="${status}"`)]).toEqual([status, jobs]);
  expect(of('queue_oldest_seconds')).toBe(45);
  const bucket = (le: string): number | undefined => of('job_execution_seconds_bucket', `,le="${le}"`);
  expect([bucket('0.1'), bucket('2.5'), bucket('5'), bucket('+Inf')]).toEqual([1, 1, 2, 2]);
  expect([of('job_execution_seconds_count'), of('job_execution_seconds_sum')]).toEqual([2, 3]);
  expect(of('workers', ',state="running"')).toBe(1);
  expect(samples.get('nightrender_http_requests_total{operation="run",code="200"}')).toBe(4);
});

it('`/metrics` shows how late the service handled due events', async () => {
  const { url } = await openService();
  const samples = async () => samplesOf(await (await fetch(`${url}/metrics`)).text());
  const of = async (le: string): Promise<number> =>
    (await samples()).get(`nightrender_event_loop_delay_seconds_bucket{le="${le}"}`) ?? NaN;
  const late = async (): Promise<number> => (await of('+Inf')) - (await of('0.1'));
  const before = await late();
  const until = performance.now() + 300;
  while (performance.now() < until);
  await expect.poll(late).toBeGreaterThan(before);
});

it('`/metrics` is for this machine and for keys of all endpoints', async () => {
  const { url, dataDir } = await openService();
  const ask = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(`${url}/metrics`, { headers })).status;
  expect(await ask({})).toBe(200);
  // A proxy may forward requests of others, so a proxied request needs a key.
  const proxied = { 'X-Forwarded-For': '203.0.113.7' };
  expect(await ask(proxied)).toBe(401);
  expect(await ask({ ...proxied, Authorization: `Bearer ${key}` })).toBe(200);
  for (const other of [addKey(dataDir, 'client', [endpointId]), addKey(dataDir, 'worker')])
    expect(await ask({ ...proxied, Authorization: `Bearer ${other}` })).toBe(404);
});

it.each<[string, Partial<ServiceOptions>]>([
  ['proxies', { proxies: ['127.0.0.1'] }],
  ['hosts', { hosts: ['render.example'] }],
  ['publicUrl', { publicUrl: 'https://render.example' }],
])(
  '`/metrics` takes a key if `%s` reveals a proxy, which may not say whose request it is',
  async (_, options) => {
    const { url } = await openService(options);
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    expect((await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${key}` } })).status).toBe(200);
  },
);

it('`/metrics` requires a key for HTTP/1.0, which nginx uses to forward requests of others', async () => {
  const { port } = new URL((await openService()).url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.end(`GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`);
  expect(await readText(socket)).toMatch(/^HTTP\/1\.1 401 /);
});
