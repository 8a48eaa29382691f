/**
 * Promise: no key or address blocks others from the built service, however many connections, requests or
 * workers it invents.
 */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { nightWith, testKey } from '../e2e/cli.ts';
import { Served } from '../e2e/served.ts';
import { enter } from '../service/console/visit.ts';

/** Starts a service with an endpoint for remote workers. */
async function start(): Promise<{ served: Served; addKey: (...args: string[]) => Promise<string> }> {
  const night = nightWith({ 'service.yaml': 'endpoints: [{name: farm, remote: true}]' });
  const served = await Served.start(night.cwd, ['service.yaml'], { NIGHTRENDER_API_KEY: testKey });
  onTestFinished(() => served.kill());
  const addKey = async (...args: string[]): Promise<string> =>
    (await night.built('keys', 'add', ...args, '--data', 'service')).stdout.trim();
  return { served, addKey };
}

async function connected(served: Served): Promise<Socket> {
  const socket = connect(Number(new URL(served.url).port), '127.0.0.1');
  socket.on('error', () => undefined).resume();
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

async function othersAreServed(served: Served, workerKey: string): Promise<void> {
  expect((await served.ask('/v2/farm/health')).status).toBe(200);
  expect((await served.ask('/v2/farm/ping/honest', { key: workerKey })).status).toBe(200);
  await (await enter(served.url, testKey)).overview();
}

it('3,000 connections that never finish a head keep out no ping, no admin and no console', async () => {
  const { served, addKey } = await start();
  const workerKey = await addKey('attic', '--kind', 'worker');
  for (let nth = 0; nth < 3_000; nth++)
    (await connected(served)).write('GET /v2/farm/health HTTP/1.1\r\nHost: x\r\nX-');
  await othersAreServed(served, workerKey);
});

it('a key limited to its own jobs that waits on 1,200 connections blocks no other client, and is told to wait', async () => {
  const { served, addKey } = await start();
  const [customer, workerKey] = [
    await addKey('customer', '--own-jobs'),
    await addKey('attic', '--kind', 'worker'),
  ];
  const run = { method: 'POST', key: customer, body: { input: { scene: 'x' } } };
  const { id } = (await (await served.ask('/v2/farm/run', run)).json()) as { id: string };
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  onTestFinished(() => agent.destroy());
  const statuses: (number | undefined)[] = [];
  for (let nth = 0; nth < 1_200; nth++) {
    const headers = { Authorization: `Bearer ${customer}` };
    const asked = request(`${served.url}/v2/farm/status-sync/${id}`, { agent, headers });
    asked.on('error', () => statuses.push(undefined));
    asked.on('response', (answer: IncomingMessage) => void statuses.push(answer.resume().statusCode));
    asked.end();
  }
  await expect.poll(() => statuses.length, { timeout: 60_000 }).toBe(700);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
  await othersAreServed(served, workerKey);
  expect((await served.ask('/v2/farm/health', { key: customer })).status).toBe(200);
});

it('a worker key that invents 1,000 workers and refused results keeps out no other worker and fills no log', async () => {
  const { served, addKey } = await start();
  const [hostile, honest] = [
    await addKey('hostile', '--kind', 'worker'),
    await addKey('attic', '--kind', 'worker'),
  ];
  const id = await served.submit('farm', { scene: 'x' });
  expect((await served.ask('/v2/farm/job-take/w0', { key: hostile })).status).toBe(200);
  const statuses: number[] = [];
  for (let nth = 0; nth < 1_000; nth++) {
    statuses.push((await served.ask(`/v2/farm/ping/w${nth}`, { key: hostile })).status);
    const refused = { method: 'POST', key: hostile, body: { nothing: nth } };
    await served.ask(`/v2/farm/job-done/w0/${id}`, refused);
  }
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  await othersAreServed(served, honest);
  const { stdout, stderr } = await served.stop();
  expect((stdout + stderr).split('was not accepted').length).toBeLessThan(30);
});

it('a key never exceeds its limits, even with 300 submissions at once', async () => {
  const { served, addKey } = await start();
  const limits = ['--own-jobs', '--max-queued', '5', '--quota', '2h'];
  const guest = await addKey('guest', ...limits);
  const byQuota = await addKey('night', '--quota', '30m');
  const slow = await addKey('slow', '--requests-per-second', '1');
  const accepted = async (key: string): Promise<number> => {
    const run = { method: 'POST', key, body: { input: { scene: 'x' } } };
    const answers = await Promise.all(Array.from({ length: 300 }, () => served.ask('/v2/farm/run', run)));
    return answers.filter(({ status }) => status === 200).length;
  };
  expect([await accepted(guest), await accepted(byQuota)]).toEqual([5, 3]);
  expect(await accepted(slow)).toBeLessThan(100);
  expect((await served.ask('/v2/farm/health')).status).toBe(200);
});
