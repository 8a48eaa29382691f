/**
 * Promise: invalid requests are rejected with a clear message, and requests without a known key reveal
 * nothing.
 */
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { cancelPath, runPath, statusPath } from '../../src/protocol/paths.ts';
import { ask, askStatus, endpointId, key, openService, post, submit } from './service-harness.ts';

const run = runPath('v2', endpointId);
const goodBody = '{"input":{"scene":"a hill"}}';

describe('a request without a known key', () => {
  const wrongKeys = [
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${key}x`,
    `Bearer ${key.slice(0, -1)}`,
    `${key}x`,
    `Basic ${key}`,
  ];

  it.each(wrongKeys)('is answered with 401: "%s"', async (authorization) => {
    const { url } = await openService();
    const headers = { Authorization: authorization };
    const reply = await ask(url, run, { method: 'POST', body: goodBody, headers });
    expect(reply.status).toBe(401);
    expect(reply.headers.get('www-authenticate')).toBe('Bearer');
    expect(reply.json).toEqual({ error: expect.any(String) as string });
  });

  it('learns nothing else: not which endpoints, jobs, paths or methods exist', async () => {
    const { url } = await openService();
    const id = await submit(url, { scene: 'a hill' });
    const headers = { Authorization: 'Bearer wrong' };
    const replies = [
      await ask(url, statusPath('v2', endpointId, id), { headers }),
      await ask(url, statusPath('v2', 'no-such', 'no-such'), { headers }),
      await ask(url, '/', { headers }),
      await ask(url, run, { method: 'DELETE', headers }),
      await ask(url, run, { method: 'POST', body: 'no json', headers }),
    ];
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(replies[0]?.status).toBe(401);
  });
});

it.each(['abc', '-1', '', '1e3'])('a submission with ?wait=%s is refused', async (wait) => {
  const { url } = await openService();
  const reply = await post(url, goodBody, `/v2/${endpointId}/runsync?wait=${wait}`);
  expect(reply.status).toBe(400);
  expect(reply.json).toEqual({
    error: `"wait" is "${wait}"; expected milliseconds, from 0 to 90000 (longer waits end then)`,
  });
  const health = (await ask(url, `/v2/${endpointId}/health`)).json as { jobs: Record<string, number> };
  expect(Object.values(health.jobs).every((count) => count === 0)).toBe(true);
});

it.each(['first', 'second', 'third'])('a service accepts each of its keys: the %s', async (each) => {
  const { url } = await openService({ keys: ['first', 'second', 'third'] });
  const reply = await ask(url, run, {
    method: 'POST',
    body: goodBody,
    headers: { Authorization: `bearer ${each}` },
  });
  expect(reply.status).toBe(200);
});

describe('an answer for an unknown address', () => {
  it.each(['/v2/no-such/run', '/v1/no-such/run', '/v2//run', '/v2/%E0%A4%A/run', '/v2/__proto__/run'])(
    'says that %s does not name an endpoint',
    async (path) => {
      const { url } = await openService();
      const reply = await post(url, goodBody, path);
      expect(reply.status).toBe(404);
      expect(reply.json).toEqual({ error: `endpoint not found; there is ${endpointId}` });
      const headers = { Authorization: 'Bearer wrong' };
      expect((await ask(url, path, { method: 'POST', body: goodBody, headers })).text).not.toContain(
        endpointId,
      );
    },
  );

  it.each([
    '/',
    '/v2',
    `/v3/${endpointId}/run`,
    `/v2/${endpointId}`,
    `${run}/`,
    `${run}/more`,
    `/v2/${endpointId}/status/x/more`,
    `/v2/${endpointId}/status/x/`,
    `/v2/${endpointId}/status`,
    `/v2/${endpointId}/purge`,
  ])('is 404 for %s', async (path) => {
    const { url } = await openService();
    const reply = await post(url, goodBody, path);
    expect(reply.status).toBe(404);
    expect(reply.json).toEqual({ error: 'not found' });
  });

  it.each(['6b0e7c0e-8f57-4a5e-9d43-6a1f0c5d2b11', 'x', '%20', 'a%2Fb', 'é', 'x'.repeat(129), ''])(
    'is 404 for the unknown job "%s"',
    async (id) => {
      const { url } = await openService();
      for (const operation of ['status', 'status-sync', 'stream'])
        expect((await ask(url, `/v2/${endpointId}/${operation}/${id}`)).status).toBe(404);
    },
  );

  it('does not show a job under the id of another endpoint', async () => {
    const { held, ...service } = await openService({
      endpoints: ['one', 'two'].map((id) => endpointSettings({ id, workers: 0 })),
    });
    const id = await submit(service.url, { scene: 'a hill' }, 'v2', 'one');
    expect((await ask(service.url, statusPath('v2', 'one', id))).status).toBe(200);
    expect((await ask(service.url, statusPath('v2', 'two', id))).status).toBe(404);
    const cancelled = await ask(service.url, cancelPath('v2', 'two', id), { method: 'POST' });
    expect(cancelled.status).toBe(404);
    expect(held.runs).toEqual([]);
  });
});

it('a status can be requested with POST too', async () => {
  const { url } = await openService({ workers: 0 });
  const id = await submit(url, { scene: 'x' });
  const { status, json } = await post(url, '{}', statusPath('v2', endpointId, id));
  expect([status, json]).toEqual([200, { id, status: 'IN_QUEUE' }]);
});

it('a wrong method is refused with the right one', async () => {
  const { url } = await openService();
  const wrongRun = await ask(url, run);
  const wrongStatus = await ask(url, statusPath('v2', endpointId, 'x'), { method: 'PUT' });
  expect([wrongRun.status, wrongRun.headers.get('allow')]).toEqual([405, 'POST']);
  expect([wrongStatus.status, wrongStatus.headers.get('allow')]).toEqual([405, 'GET, POST']);
});

describe('an invalid body', () => {
  const bodies: [string, string | Uint8Array<ArrayBuffer>][] = [
    ['nothing', ''],
    ['malformed JSON', '{"input":{"scene":'],
    ['no object', '[{"input":{"scene":"x"}}]'],
    ['null', 'null'],
    ['a text', '"input"'],
    ['no input', '{"scene":"x"}'],
    ['an input that is a list', '{"input":["x"]}'],
    ['an input that is null', '{"input":null}'],
    ['an input that is a text', '{"input":"x"}'],
    ['an empty input', '{"input":{}}'],
    ['invalid UTF-8', Uint8Array.from([...Buffer.from('{"input":{"a":"'), 0xff, ...Buffer.from('"}}')])],
    ['an input nested a million deep', `{"input":{"a":${'['.repeat(1e6)}${']'.repeat(1e6)}}}`],
  ];

  it.each(bodies)('answers 400 to %s', async (_what, body) => {
    const { url, held, troubles } = await openService();
    const reply = await post(url, body);
    expect(reply.status).toBe(400);
    expect(reply.json).toEqual({ error: expect.any(String) as string });
    expect(held.runs).toEqual([]);
    expect(troubles).toEqual([]);
  });

  it('keeps an input with the key __proto__ unchanged', async () => {
    const { url, held } = await openService();
    await post(url, '{"input":{"__proto__":{"a":1}}}');
    expect(JSON.stringify((await held.next()).job.input)).toBe('{"__proto__":{"a":1}}');
  });
});

describe('a body that is too large', () => {
  const limit = 1_000;
  it('is accepted up to the limit and refused one byte above it', async () => {
    const { url } = await openService({ maxRequestBytes: limit });
    expect((await post(url, bodyOf(limit))).status).toBe(200);
    const reply = await post(url, bodyOf(limit + 1));
    expect(reply.status).toBe(400);
    expect((reply.json as { error: string }).error).toContain('exceeded max body size');
  });

  it.each(['runsync', 'render'])('may be twice as long for %s', async (operation) => {
    const { url } = await openService({ maxRequestBytes: limit, workers: 0 });
    const path = `/v2/${endpointId}/${operation}?wait=0`;
    expect((await post(url, bodyOf(2 * limit), path)).status).toBe(200);
    expect((await post(url, bodyOf(2 * limit + 1), path)).json).toEqual({
      error: 'exceeded max body size of 2000 bytes',
    });
  });

  it('is refused by its declared length, before it is sent', async () => {
    const { url } = await openService();
    const answer = await exchange(url, `${head('POST', run)}Content-Length: 99999999999\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('exceeded max body size');
  });

  it('is refused in the middle if its length is not declared, and the answer arrives', async () => {
    const { url } = await openService();
    const chunk = Buffer.alloc(256 * 1024, 'x');
    const body = new ReadableStream({
      start(controller) {
        for (let count = 0; count < 60; count++) controller.enqueue(chunk);
        controller.close();
      },
    });
    const init = {
      method: 'POST',
      body,
      duplex: 'half',
      headers: { Authorization: `Bearer ${key}` },
    } as const;
    const response = await fetch(url + run, init);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('exceeded max body size');
  });

  it('does not get its "100 Continue", while a body that fits does', async () => {
    const { url } = await openService({ maxRequestBytes: limit });
    expect(await exchange(url, asking(limit + 1))).toMatch(/^HTTP\/1\.1 400 /);
    const fitting = await exchange(url, asking(goodBody.length), goodBody);
    expect(fitting).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });
});

it('answers in JSON to data that is not HTTP', async () => {
  const { url } = await openService();
  const answer = await exchange(url, 'HELO there\r\n\r\n');
  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toEqual({ error: expect.any(String) as string });
});

it('answers in JSON to headers without end', async () => {
  const { url } = await openService();
  const answer = await exchange(url, `${head('GET', '/')}X: ${'x'.repeat(20_000)}\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 431 /);
});

it('continues when clients vanish in the middle of a body', async () => {
  const { url, held, troubles } = await openService();
  for (let count = 0; count < 20; count++) {
    await new Promise<void>((resolve) => {
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname, () => {
        socket.write(`${head('POST', run)}Content-Length: 500\r\n\r\n{"input":`, () => {
          socket.destroy();
          resolve();
        });
      });
    });
  }
  const id = await submit(url, { scene: 'a hill' });
  expect((await held.next()).job.id).toBe(id);
  expect((await askStatus(url, id)).status).toBe(200);
  expect(troubles).toEqual([]);
});

function bodyOf(byteCount: number): string {
  const frame = '{"input":{"scene":""}}';
  return frame.replace('""', `"${'x'.repeat(byteCount - frame.length)}"`);
}

function asking(byteCount: number): string {
  return `${head('POST', run)}Expect: 100-continue\r\nContent-Length: ${byteCount}\r\n\r\n`;
}

function head(method: string, path: string): string {
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n`;
}

/**
 * Sends bytes unchanged, then `after` or the end once the first bytes were answered. Returns all that is
 * received.
 */
function exchange(url: string, bytes: string, after?: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setEncoding('utf8');
    socket.once('data', () => (after === undefined ? socket.end() : socket.write(after)));
    socket.on('data', (text: string) => {
      answer += text;
    });
    socket
      .on('end', () => socket.end())
      .on('close', () => resolve(answer))
      .on('error', reject);
  });
}
