/**
 * Promise: a client that holds many connections, with or without a key, does not keep others from the
 * service.
 */
import { Socket } from 'node:net';
import { expect, it, vi } from 'vitest';
import { Connections } from '../../../src/service/http/connections.ts';
import { unlimited } from '../../../src/service/model/key.ts';
import { healthPath, statusPath } from '../../../src/protocol/paths.ts';
import { openWithConsole, enter, withKeys } from '../console/visit.ts';
import { addKey, PullingWorker } from '../pull-harness.ts';
import { ask, endpointId, key, submit, type TestService } from '../service-harness.ts';
import { SlowClient } from './slow-client.ts';

const health = healthPath('v2', endpointId);

function askWith(url: string, path: string, withKey: string) {
  return ask(url, path, { headers: { Authorization: `Bearer ${withKey}` } });
}

async function silent(url: string, count: number, localAddress = '127.0.0.1'): Promise<SlowClient[]> {
  const clients: SlowClient[] = [];
  for (let nth = 0; nth < count; nth++) clients.push(await SlowClient.connect(url, { localAddress }));
  return clients;
}

/** Opens connections, and leaves a waiting request of the key on each. */
async function wait(url: string, path: string, withKey: string, count: number): Promise<void> {
  for (const client of await silent(url, count)) {
    // Requests of a connection are answered in order. Once the first answer is here, the service has begun
    // the second request.
    client.ask(healthOf(path), 'GET', withKey);
    client.ask(path, 'GET', withKey);
    await client.readUpTo(1);
  }
}

/** Returns a path of the same kind of key that is answered at once. */
function healthOf(path: string): string {
  return path.includes('/job-') ? `/v2/${endpointId}/ping/w1` : health;
}

async function waitForJob(service: TestService, withKey: string, count: number): Promise<string> {
  const path = `/v2/${endpointId}/status-sync/${await submit(service.url, { scene: 'x' })}`;
  await wait(service.url, path, withKey, count);
  const { status, text } = await askWith(service.url, `${path}?wait=1`, withKey);
  return `${status} ${text}`;
}

async function opened(maxConnections: number) {
  const service = await openWithConsole({ workers: 0, maxConnections });
  const [client, other, worker] = ['client', 'client', 'worker'].map((kind) => addKey(service.dataDir, kind));
  return { service, client: client ?? '', other: other ?? '', worker: worker ?? '' };
}

it('answers clients, workers and the console while others connect without a request, and closes the oldest of those', async () => {
  const { service, client, worker } = await opened(16);
  const { url } = service;
  const clients = await silent(url, 60);
  expect((await askWith(url, health, client)).status).toBe(200);
  expect((await new PullingWorker(url, worker, 'w1').ping()).status).toBe(200);
  await (await enter(url)).overview();
  await clients[0]?.readToEnd();
  expect(clients.at(-1)?.isClosed).toBe(false);
});

it.skipIf(process.platform === 'darwin')(
  'closes none of a network that has few for one that has many (skipped on macOS, which has one loopback address only)',
  async () => {
    const { service } = await opened(16);
    const [few] = await silent(service.url, 1, '127.0.1.1');
    const many = await silent(service.url, 20, '127.0.0.2');
    const more = await silent(service.url, 20, '127.0.0.3');
    await many.at(-1)?.readToEnd();
    expect([few?.isClosed, more.at(-1)?.isClosed]).toEqual([false, false]);
    few?.ask(health);
    await few?.readUpTo(1);
    expect(few?.text()).toMatch(/^HTTP\/1\.1 200 /);
  },
);

it('lets a key wait on half of the connections, clients on three quarters, and leaves the rest to workers and admins', async () => {
  const { service, client, other, worker } = await opened(16);
  const { url } = service;
  expect(await waitForJob(service, client, 8)).toMatch(/^429 .*the key client-0 has 8 requests in progress/);
  expect((await askWith(url, health, client)).status).toBe(200);
  expect(await waitForJob(service, other, 4)).toMatch(/^429 .*too many requests are in progress at once/);
  expect((await askWith(url, health, other)).status).toBe(429);
  const taken = await Promise.all(['w1', 'w2'].map((id) => new PullingWorker(url, worker, id).taken()));
  expect(new Set(taken).size).toBe(2);
  expect((await ask(url, health)).status).toBe(200);
  await (await enter(url)).overview();
});

it('lets a key have no more requests in progress than its own limit says', async () => {
  const { service } = await opened(16);
  const guest = withKeys(
    service.dataDir,
    (keys) => keys.add({ name: 'guest', kind: 'client', endpoints: null, maxHeld: '2' }).key,
  );
  expect(await waitForJob(service, guest, 2)).toMatch(/^429 .*the key guest has 2 requests in progress/);
});

it('refuses a worker no result and no ping, however many requests of its key wait', async () => {
  const { service, worker } = await opened(16);
  const { url } = service;
  const id = await submit(url, { scene: 'x' });
  const first = new PullingWorker(url, worker, 'w1');
  expect(await first.taken()).toBe(id);
  await wait(url, `/v2/${endpointId}/job-stop/w2`, worker, 12);
  expect((await first.toStop()).status).toBe(429);
  expect((await first.ping(id)).status).toBe(200);
  expect((await first.done(id, '{"output":1}')).text).toBe('{"accepted":true}');
});

it('closes idle connections of the key that has most, once there is no other', async () => {
  const { service, client, other } = await opened(16);
  const { url } = service;
  const askAll = async (count: number, withKey: string): Promise<SlowClient[]> => {
    const clients = await silent(url, count);
    for (const each of clients) {
      each.ask(health, 'GET', withKey);
      await each.readUpTo(1);
    }
    return clients;
  };
  const few = await askAll(3, other);
  const many = await askAll(30, client);
  await many[0]?.readToEnd();
  await many[10]?.readToEnd();
  expect(few.map(({ isClosed }) => isClosed)).toEqual([false, false, false]);
  expect((await ask(url, statusPath('v2', endpointId, await submit(url, { scene: key })))).status).toBe(200);
});

it('does not count connections that have ended', async () => {
  const { service, client } = await opened(16);
  const idle = await SlowClient.connect(service.url);
  idle.ask(health, 'GET', client);
  await idle.readUpTo(1);
  for (let nth = 0; nth < 20; nth++) {
    const ended = await SlowClient.connect(service.url);
    ended.send('GET /v2/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(await ended.readToEnd()).toMatch(/^HTTP\/1\.1 4/);
  }
  idle.send(
    `GET ${health} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client}\r\nConnection: close\r\n\r\n`,
  );
  expect((await idle.readToEnd()).match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
});

it('treats a connection whose key the leading process rejects as one without a key', () => {
  const connections = new Connections(2);
  const requests = [1, 2, 3].map((remotePort) => {
    const socket = Object.assign(new Socket(), { destroy: vi.fn(() => socket) });
    Object.defineProperty(socket, 'remotePort', { value: remotePort });
    return { socket };
  });
  const [good, wrong, newest] = requests as [
    (typeof requests)[0],
    (typeof requests)[0],
    (typeof requests)[0],
  ];
  for (const request of [good, wrong]) {
    connections.add(request.socket);
    connections.take(request, { ...unlimited, id: 'any', name: 'any', kind: 'admin' }, false);
    connections.end(request);
  }
  connections.distrust(wrong);
  connections.add(newest.socket);
  expect(requests.map(({ socket }) => socket.destroy.mock.calls.length)).toEqual([0, 1, 0]);
});

/** Takes connections without a network. `take` returns the status of the refusal, if any. */
function connectionsOf(max: number) {
  const connections = new Connections(max);
  let remotePort = 0;
  const take = (kind: 'client' | 'worker', id: string, isLong: boolean) => {
    const socket = new Socket();
    Object.defineProperty(socket, 'remotePort', { value: (remotePort += 1) });
    connections.add(socket);
    return connections.take({ socket }, { ...unlimited, id, name: id, kind }, isLong)?.status;
  };
  const count = (kind: 'client' | 'worker', id: string, isLong: boolean) =>
    Array.from({ length: max }, () => take(kind, id, isLong)).filter((status) => status === undefined).length;
  return { take, count };
}

it.each([
  ['client', 10],
  ['worker', 13],
] as const)('bounds the short requests in progress of one %s key as well', (kind, most) => {
  const { take, count } = connectionsOf(16);
  expect(count(kind, 'greedy', false)).toBe(most);
  expect(take(kind, 'other', false)).toBeUndefined();
});

it('keeps room for results of workers, however many requests of clients and workers wait', () => {
  const { take, count } = connectionsOf(16);
  expect([count('client', 'a', true), count('client', 'b', true), count('worker', 'c', true)]).toEqual([
    8, 4, 2,
  ]);
  expect(take('worker', 'd', true)).toBe(429);
  expect(take('worker', 'd', false)).toBeUndefined();
});
