/**
 * Promise: a stolen cookie, or a revoked, read-only or wrong key, allows nothing at the built service beyond
 * its rights.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { folderWith, nightrender, testKey } from '../e2e/cli.ts';
import { clockMovedBy } from '../e2e/moved-clock.ts';
import { type Job, Served } from '../e2e/served.ts';
import { enter, send } from '../service/console/visit.ts';
import { halfSent } from '../service/http/slow-client.ts';
import { PullingWorker } from '../service/pull-harness.ts';
import { noBrowser, openBrowser, openPage } from '../web/browser.ts';

describe.skipIf(noBrowser !== undefined)('in a browser (skipped if there is no chromium)', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await openBrowser();
  });

  afterAll(() => browser.close());

  it('a program on another port of the host gets the cookie of the console, and nothing for it', async () => {
    const { served } = await serveOne();
    const thief = await startThief();
    const { page } = await openPage(browser, { isAllowed: () => true });
    onTestFinished(() => page.context().close());
    await page.goto(`${served.url}/console/`);
    await page.getByLabel('API key').fill(testKey);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor();
    // A second tab, a reload and downloads use the same session.
    const second = await page.context().newPage();
    await second.goto(`${served.url}/console/#/keys`);
    await second.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
    await second.reload();
    await second.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();

    await second.goto(`${thief.url}/console/`);
    await second.getByText('caught').waitFor();
    const [cookie] = thief.cookies;
    expect(cookie).toMatch(/^nightrender_console_\w+=./);
    for (const [method, path, body] of [
      ['GET', 'overview', undefined],
      ['GET', 'keys', undefined],
      ['POST', 'keys', { name: 'evil', kind: 'admin', endpoints: null }],
      ['POST', 'endpoints', evil],
    ] as const) {
      const headers = { Cookie: cookie ?? '', 'X-Nightrender-Console': '1' };
      const { status } = await send(served.url, method, path, body, headers);
      expect([method, path, status]).toEqual([method, path, 401]);
    }
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor();
    expect(await page.getByText('Evil').count()).toBe(0);
  });
});

it('an upload and a result that a revoked key has begun are refused when they end', async () => {
  const { served, cwd } = await serveOne();
  const keys = (...args: string[]) => inFolder(cwd, ['keys', ...args, '--data', 'service']);
  const client = await keys('add', 'client');
  const worker = await keys('add', 'worker', '--kind', 'worker');
  const id = await served.submit('farm', { scene: 'x' });
  const pulling = new PullingWorker(served.url, worker, 'w1', 'farm');
  expect(await pulling.taken()).toBe(id);
  const upload = await halfSent(served.url, '/v2/farm/run', bearer(client), '{"input":{"scene":"evil"}}');
  const path = `/v2/farm/job-done/w1/${id}`;
  const result = await halfSent(served.url, path, bearer(worker), '{"output":"forged"}');
  for (const name of ['client', 'worker']) await keys('revoke', name);
  for (const begun of [upload, result])
    expect(await begun.finish()).toMatch(/HTTP\/1\.1 401 .*the API key was revoked or has expired since/s);
  expect(await (await served.ask('/v2/farm/health')).json()).toMatchObject({
    jobs: { inQueue: 0, inProgress: 1, completed: 0 },
  });
});

it('a read-only admin, an expired key and the earlier text of a rotated one change nothing', async () => {
  const cwd = folderWith({ 'service.yaml': yaml });
  const moved = join(cwd, 'moved');
  const clock = { NODE_OPTIONS: clockMovedBy(86_400_000, moved) };
  const { served } = await serveOne(cwd, clock);
  const keys = (...args: string[]) => inFolder(cwd, ['keys', ...args, '--data', 'service']);
  const guest = await enter(served.url, await keys('add', 'guest', '--kind', 'admin', '--read-only'));
  for (const [method, path, body] of [
    ['POST', 'keys', { name: 'evil', kind: 'admin', endpoints: null }],
    ['POST', 'endpoints', evil],
    ['DELETE', 'endpoints/farm', undefined],
    ['POST', 'endpoints/farm/jobs', { input: { scene: 'x' } }],
  ] as const)
    expect([path, (await guest.ask(method, path, body)).status]).toEqual([path, 403]);
  const first = await keys('add', 'customer', '--own-jobs', '--expires', '1h');
  const submission = { method: 'POST', body: { input: { scene: 'x' } } };
  const { id } = (await (await served.ask('/v2/farm/run', { ...submission, key: first })).json()) as Job;
  const second = await keys('rotate', 'customer');
  const statusFor = async (key: string) => (await served.ask(`/v2/farm/status/${id}`, { key })).status;
  expect([await statusFor(first), await statusFor(second)]).toEqual([401, 200]);
  writeFileSync(moved, '');
  expect(await statusFor(second)).toBe(401);
});

it('an admin of the console runs no program if service.yaml says so', async () => {
  const { served } = await serveOne(folderWith({ 'service.yaml': `${yaml}console: { programs: false }\n` }));
  const admin = await enter(served.url, testKey);
  const code = { NODE_OPTIONS: '--import=data:text/javascript,0' };
  for (const tried of [
    evil,
    { id: 'evil', name: 'Evil', image: 'user/name:1', network: 'host', arguments: ['--volume=/:/host'] },
    { id: 'evil', name: 'Evil', quickDeploy: 'scene-renderer', environment: code },
  ])
    expect(await admin.ask('POST', 'endpoints', tried)).toMatchObject({
      status: 422,
      body: { problems: [{ text: expect.stringContaining('console.programs') as string }] },
    });
  await admin.make({ id: 'drawn', name: 'Drawn', quickDeploy: 'scene-renderer' });
  expect((await admin.ask('PUT', 'endpoints/drawn', { ...evil, id: 'drawn' })).status).toBe(422);
});

it('a flood of wrong keys is recorded, and the record stays small', async () => {
  const { served, cwd } = await serveOne(folderWith({ 'service.yaml': `${yaml}proxies: [127.0.0.1]\n` }));
  const knock = async (index: number): Promise<void> => {
    const from = { 'x-forwarded-for': `198.51.${index >> 8}.${index & 255}` };
    const headers = { ...bearer(`guess-${index}`), ...from };
    expect((await fetch(`${served.url}/v2/farm/health`, { headers })).status).toBe(401);
  };
  for (let index = 0; index < 2_000; index += 50)
    await Promise.all(Array.from({ length: 50 }, (_, more) => knock(index + more)));
  const path = join(cwd, 'service/wrong-keys.jsonl');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'wrong-key', from: '198.51.0.0' });
  expect(statSync(path).mode & 0o077).toBe(0);
  // The log has at most 600 lines a minute.
  expect(lines.length).toBeLessThan(2_000);
  const signedIn = await enter(served.url, testKey);
  expect((await signedIn.get<object[]>('audit')).length).toBeGreaterThan(0);
});

const yaml = 'endpoints: [{name: farm, remote: true}]\n';
const evil = { id: 'evil', name: 'Evil', command: ['touch', 'taken'] };

function bearer(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}` };
}

/** Runs a command and returns its output. */
async function inFolder(cwd: string, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await nightrender(args, { cwd });
  expect([code, stderr]).toEqual([0, stderr]);
  return stdout.trim();
}

/** Starts a service without workers, so that jobs wait. */
async function serveOne(
  cwd = folderWith({ 'service.yaml': yaml }),
  env: Record<string, string> = {},
): Promise<{ served: Served; cwd: string }> {
  const served = await Served.start(cwd, ['service.yaml'], { NIGHTRENDER_API_KEY: testKey, ...env });
  onTestFinished(() => served.kill());
  return { served, cwd };
}

/** Starts a server that records the cookies that browsers send. */
async function startThief(): Promise<{ url: string; cookies: string[] }> {
  const cookies: string[] = [];
  const server = createServer(({ headers }, response) => {
    if (headers.cookie !== undefined) cookies.push(headers.cookie);
    response.setHeader('Content-Type', 'text/html').end('<p>caught</p>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cookies };
}
