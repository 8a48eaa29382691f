/** The console answers unknown paths, wrong methods and malformed requests with a message. */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { enter, openWithConsole, ownPage, send } from './visit.ts';

/** Sends the request target unchanged. `fetch` would normalize it. */
async function raw(
  url: string,
  method: string,
  path: string,
): Promise<{ status: number; body: string; location: string }> {
  return await new Promise((resolve, reject) => {
    const asked = request(url, { method, path, headers: ownPage }, (response) => {
      const { statusCode = 0, headers } = response;
      void text(response).then((body) =>
        resolve({ status: statusCode, body, location: headers.location ?? '' }),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
}

it('the console serves its page, with its content security policy, to every client', async () => {
  const { url } = await openWithConsole();
  const page = await fetch(`${url}/console/`);
  expect([page.status, await page.text()]).toEqual([200, '<p>the page</p>']);
  expect(Object.fromEntries(page.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-store',
  });
  expect(await raw(url, 'HEAD', '/console/')).toMatchObject({ status: 200, body: '' });
  for (const path of ['/', '/console', '/console?a=b', '/?a=b'])
    expect([path, await raw(url, 'GET', path)]).toMatchObject([path, { status: 303, location: '/console/' }]);
});

it('the console shows pages of the manual as text', async () => {
  const { url } = await openWithConsole();
  const page = await fetch(`${url}/console/help/service`);
  expect([page.status, await page.text()]).toEqual([200, '# The job service']);
  expect(page.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  for (const topic of ['nothing', '..%2fservice', '']) {
    const missing = await raw(url, 'GET', `/console/help/${topic}`);
    expect([topic, missing.status]).toEqual([topic, 404]);
  }
});

it('the console answers every other address with a message, and never with an internal error', async () => {
  const { url, troubles } = await openWithConsole();
  const answers: [method: string, path: string, status: number][] = [
    ['POST', '/console/', 405],
    ['GET', '/console/nothing', 404],
    ['GET', '/console//', 404],
    ['GET', '/console/api', 404],
    ['GET', '/console/api/../..', 303],
    ['GET', '/console/api/../../etc/passwd', 404],
    ['GET', '/console/api/%2e%2e/', 200],
    ['GET', '/console/%', 404],
    ['GET', '/console/api/jobs/%', 401],
    ['GET', '//', 401],
    ['GET', '//console/', 401],
    ['HEAD', '/console/api/overview', 401],
    ['GET', '/consoles', 401],
  ];
  for (const [method, path, status] of answers)
    expect([method, path, (await raw(url, method, path)).status]).toEqual([method, path, status]);
  expect(troubles).toEqual([]);
});

it('the console names the allowed methods of an address', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  const answers: [method: string, path: string, status: number, allow: string | null][] = [
    ['GET', 'nothing', 404, null],
    ['GET', '', 404, null],
    ['POST', 'overview', 405, 'GET'],
    ['HEAD', 'overview', 405, 'GET'],
    ['PATCH', 'endpoints/x', 405, 'PUT, DELETE'],
    ['GET', 'endpoints/x/jobs', 405, 'POST'],
    ['PUT', 'keys', 405, 'GET, POST'],
    ['GET', 'jobs/no-job', 404, null],
    ['GET', 'jobs/%E0%A4%A', 404, null],
    ['POST', 'jobs/no-job/cancel', 404, null],
    ['POST', 'jobs/no-job/retry', 404, null],
    ['POST', 'keys/no-key/revoke', 404, null],
    ['DELETE', 'endpoints/none', 404, null],
  ];
  for (const [method, path, status, allow] of answers) {
    const said = await visit.ask(method, path);
    expect([method, path, said.status, said.headers.get('allow')]).toEqual([method, path, status, allow]);
  }
});

it('the console refuses bodies that are too large or not a JSON object', async () => {
  const { url, troubles } = await openWithConsole({ maxRequestBytes: 5_000 });
  const visit = await enter(url);
  for (const path of ['keys', 'endpoints', 'endpoints/scene-renderer/jobs'])
    for (const body of ['', '{', 'null', '[]', '"x"', '7', '\u{0}'])
      expect([path, body, (await visit.ask('POST', path, body)).status]).toEqual([path, body, 400]);
  for (const [path, size] of [
    ['keys', 300_000],
    ['endpoints', 300_000],
    ['endpoints/scene-renderer/jobs', 6_000],
  ] as const) {
    const { status, body } = await visit.ask('POST', path, { input: { scene: 'x'.repeat(size) } });
    expect([path, status, body]).toEqual([
      path,
      400,
      { error: expect.stringMatching(/^exceeded max body size of \d+ bytes$/) as string },
    ]);
  }
  expect((await send(url, 'POST', 'session', 'x'.repeat(300_000))).status).toBe(400);
  expect(troubles).toEqual([]);
});
