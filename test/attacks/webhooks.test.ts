/**
 * Promise: webhooks of the built service cannot be used for private addresses, forged or repeated calls, or
 * to stall it with dead hosts.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { folderWith, root } from '../e2e/cli.ts';
import { Served } from '../e2e/served.ts';
import { rest } from '../fakes/tier.ts';

interface Call {
  path: string;
  text: string;
  headers: IncomingHttpHeaders;
}

/** Listens on all addresses of this machine, because each address of 127.0.0.0/8 counts as another host. */
async function open(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function openTarget(): Promise<{ port: number; calls: Call[] }> {
  const calls: Call[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url: path = '', headers } = request;
    calls.push({ path, text: await textOf(request), headers });
    response.end();
  };
  const server = createServer((request, response) => void take(request, response));
  return { port: await open(server), calls };
}

const env = { NIGHTRENDER_API_KEY: 'a-key-of-the-attacks' };

async function serve(yaml: string): Promise<Served> {
  const cwd = folderWith({
    'service.yaml': `${yaml}\nendpoints: [{name: Echo, module: ./echo.mjs, workers: 2, quickStart: true}]\n`,
    'echo.mjs': 'export const handler = async ({ input }) => input;',
  });
  return await Served.start(cwd, ['service.yaml'], env);
}

async function submit(served: Served, webhook: string): Promise<number> {
  const answer = await served.ask('/v2/echo/run', { method: 'POST', body: { input: { a: 1 }, webhook } });
  await answer.text();
  return answer.status;
}

const proxied = 'host: 127.0.0.1\nproxies: [127.0.0.1]\nhosts: [render.example]';

rest.it(
  'a client behind the documented proxy reaches neither loopback nor metadata by a webhook',
  async () => {
    const { port, calls } = await openTarget();
    const addresses = [
      `http://127.0.0.1:${port}/`,
      `http://localhost:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      `http://2130706433:${port}/`,
      `http://0:${port}/`,
      'http://169.254.169.254/latest/meta-data/',
      'http://[fd00:ec2::254]/latest/meta-data/',
    ];
    for (const yaml of [proxied, 'publicUrl: https://render.example', 'hosts: [render.example]']) {
      const served = await serve(yaml);
      for (const address of addresses)
        expect([address, await submit(served, address)]).toEqual([address, 400]);
      await served.stop();
    }
    expect(calls).toEqual([]);
    const allowed = await serve(`${proxied}\nwebhooks: { private: true }`);
    expect(await submit(allowed, `http://127.0.0.1:${port}/wanted`)).toBe(200);
    await expect.poll(() => calls.map(({ path }) => path), { timeout: 60_000 }).toEqual(['/wanted']);
  },
);

/** Accepts a call once, if it is genuine and not older than five minutes, as the manual tells receivers. */
class Receiver {
  readonly #secret: Buffer;
  readonly #seen = new Set<string>();

  constructor(secret: string) {
    this.#secret = Buffer.from(secret.replace('whsec_', ''), 'base64');
  }

  takes({ headers, text }: Call): boolean {
    const id = String(headers['webhook-id']);
    const timestamp = String(headers['webhook-timestamp']);
    const hmac = createHmac('sha256', this.#secret).update(`${id}.${timestamp}.${text}`).digest('base64');
    const isNew = !this.#seen.has(id) && Math.abs(Date.now() / 1_000 - Number(timestamp)) < 300;
    if (!isNew || headers['webhook-signature'] !== `v1,${hmac}`) return false;
    this.#seen.add(id);
    return true;
  }
}

/** Runs the Python receiver of the manual. */
function isGenuineByTheManual({ headers, text }: Call, secret: string): boolean {
  const manual = readFileSync(join(root, 'src/help/job-interface.md'), 'utf8');
  const shown = /```python\n([^`]*def is_genuine[^`]*)```/.exec(manual)?.[1] ?? '';
  const asking = `${shown}\nimport json, sys\ncall = json.load(sys.stdin)\nprint(is_genuine(call["headers"], call["text"].encode(), call["secret"]))`;
  const input = JSON.stringify({ headers, text, secret });
  return execFileSync('python3', ['-c', asking], { input, encoding: 'utf8' }).trim() === 'True';
}

const hasPython = spawnSync('python3', ['--version']).status === 0;

rest.it.skipIf(!hasPython)(
  'a receiver that checks signatures rejects a forged, changed, repeated or late call (skipped if there is no python3)',
  async () => {
    const { port, calls } = await openTarget();
    const served = await serve('');
    await submit(served, `http://127.0.0.1:${port}/`);
    await expect.poll(() => calls.length, { timeout: 60_000 }).toBe(1);
    const [call] = calls;
    if (call === undefined) return;
    const { secret } = (await (await served.ask('/v2/echo/webhook-secret')).json()) as { secret: string };
    const receiver = new Receiver(secret);
    const withHeaders = (headers: IncomingHttpHeaders): Call => ({
      ...call,
      headers: { ...call.headers, ...headers },
    });
    expect(receiver.takes({ ...call, text: call.text.replace('COMPLETED', 'FAILED') })).toBe(false);
    expect(receiver.takes(withHeaders({ 'webhook-id': 'another' }))).toBe(false);
    expect(
      receiver.takes(withHeaders({ 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) + 1) })),
    ).toBe(false);
    expect(receiver.takes(withHeaders({ 'webhook-signature': `v1,${'A'.repeat(43)}=` }))).toBe(false);
    expect(receiver.takes(call)).toBe(true);
    expect(receiver.takes(call)).toBe(false);
    const forged = { ...call, text: call.text.replace('COMPLETED', 'FAILED') };
    const late = withHeaders({ 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) - 301) });
    expect([call, forged, late].map((each) => isGenuineByTheManual(each, secret))).toEqual([
      true,
      false,
      false,
    ]);
    // Nobody gets the secret without a key or with another key.
    expect((await served.ask('/v2/echo/webhook-secret', { key: 'nr_wrong' })).status).toBe(401);
  },
);

rest.it.skipIf(process.platform === 'darwin')(
  'webhooks for a healthy host arrive beside nine times as many for dead hosts (skipped on macOS, which has one loopback address only)',
  async () => {
    const { port, calls } = await openTarget();
    const silent = await open(createServer(() => undefined));
    const cwd = folderWith({
      'service.yaml': 'limits: { maxQueued: 10000 }\nendpoints: [{name: Echo, remote: true}]\n',
    });
    const served = await Served.start(cwd, ['service.yaml'], env);
    const deadHost = (nth: number): string =>
      nth % 2 === 0 ? `127.1.${nth % 9}.${nth % 200}:${silent}` : `127.2.0.${nth % 200}:1`;
    const targets = Array.from({ length: 4_000 }, (_, nth) =>
      nth % 10 === 9 ? `http://127.0.0.1:${port}/${nth}` : `http://${deadHost(nth)}/${nth}`,
    );
    const left = targets.values();
    const submitting = async (): Promise<void> => {
      for (const target of left) expect(await submit(served, target)).toBe(200);
    };
    await Promise.all(Array.from({ length: 32 }, submitting));
    // All of them end at the same time.
    expect((await served.ask('/v2/echo/purge-queue', { method: 'POST' })).status).toBe(200);
    await expect.poll(() => new Set(calls.map(({ path }) => path)).size, { timeout: 60_000 }).toBe(400);
    expect(calls).toHaveLength(400);
  },
);
