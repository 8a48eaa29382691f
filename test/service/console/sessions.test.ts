/**
 * Promise: only admins can use the console, for half a day per session, and no other site can use their
 * session.
 */
import { get, type IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { key } from '../service-harness.ts';
import { enter, openWithConsole, ownPage, send, withKeys } from './visit.ts';

it('admits whoever has an admin key, by a token and a cookie that scripts and other sites do not get', async () => {
  const { url } = await openWithConsole();
  const { status, headers, body } = await send(url, 'POST', 'session', { key: ` ${key}\n` });
  expect([status, body]).toEqual([200, { token: expect.stringMatching(/^[\w-]{43}$/) }]);
  const [cookie, ...attributes] = (headers.get('set-cookie') ?? '').split('; ');
  expect(cookie).not.toContain(key);
  expect(attributes).toEqual(
    expect.arrayContaining(['HttpOnly', 'SameSite=Strict', expect.stringMatching(/^Path=\/console$/)]),
  );
});

it('admits no key of another kind, no revoked key, and no invalid key', async () => {
  const { url, dataDir } = await openWithConsole();
  const keys = withKeys(dataDir, (store) => {
    const [client, worker, revoked] = (['client', 'worker', 'admin'] as const).map((kind) =>
      store.add({ name: kind, kind, endpoints: null }),
    );
    store.revoke('admin');
    return [client?.key, worker?.key, revoked?.key, '', 'x', `Bearer ${key}`, 7, null];
  });
  for (const wrong of keys) {
    const { status, headers } = await send(url, 'POST', 'session', { key: wrong });
    expect([wrong, status, headers.get('set-cookie')]).toEqual([wrong, 401, null]);
  }
});

it('makes a client that guesses keys wait', async () => {
  let now = 1_000_000;
  const { url } = await openWithConsole({ now: () => now });
  for (let i = 0; i < 20; i++)
    expect((await send(url, 'POST', 'session', { key: `x${i}` })).status).toBe(401);
  const { status, headers } = await send(url, 'POST', 'session', { key });
  expect([status, headers.get('retry-after')]).toEqual([429, '60']);
  now += 60_000;
  expect((await send(url, 'POST', 'session', { key })).status).toBe(200);
});

it('one of several consoles on a machine works, although browsers do not distinguish their cookies by port', async () => {
  const [one, other] = await Promise.all([openWithConsole(), openWithConsole()]);
  const [here, there] = [await enter(one.url), await enter(other.url)];
  const [hereName, thereName] = [here, there].map(({ cookie }) => cookie.split('=')[0]);
  expect(hereName).not.toBe(thereName);
  const Cookie = `${here.cookie}; ${there.cookie}`;
  const [bothHere, bothThere] = [here, there].map(({ headers }) => ({ ...headers, Cookie }));
  const left = await send(one.url, 'DELETE', 'session', undefined, bothHere);
  expect(left.headers.get('set-cookie')).toMatch(`${hereName}=;`);
  expect((await send(one.url, 'GET', 'overview', undefined, bothHere)).status).toBe(401);
  expect((await send(other.url, 'GET', 'overview', undefined, bothThere)).status).toBe(200);
});

it('reveals nothing to a program on another port that received the cookie, changes nothing for it, and keeps the session', async () => {
  const { url } = await openWithConsole();
  const [visit, other] = [await enter(url), await enter(url)];
  const { cookie } = visit;
  for (const proof of ['1', '', 'x', other.token, undefined])
    for (const [method, path] of [
      ['GET', 'overview'],
      ['GET', 'jobs/any/thumbnail'],
      ['POST', 'keys'],
      ['POST', 'endpoints'],
      ['DELETE', 'session'],
    ] as const) {
      const headers = { Cookie: cookie, ...(proof !== undefined && { 'X-Nightrender-Console': proof }) };
      const body = path === 'keys' ? { name: 'theirs', kind: 'admin', endpoints: null } : undefined;
      const { status } = await send(url, method, path, body, headers);
      const refused = path === 'session' ? [204, 403] : [401, 403];
      expect([proof, method, path, refused.includes(status)]).toEqual([proof, method, path, true]);
    }
  // The token without the cookie is rejected too.
  const { status } = await send(url, 'GET', 'overview', undefined, {
    ...ownPage,
    'X-Nightrender-Console': visit.token,
  });
  expect(status).toBe(401);
  expect(await visit.keys()).toEqual([]);
});

it('ends a session after half a day, however often it is used', async () => {
  let now = Date.now();
  const { url } = await openWithConsole({ now: () => now });
  const visit = await enter(url);
  for (let hour = 1; hour <= 12; hour++) {
    now += 60 * 60_000;
    expect((await visit.ask('GET', 'overview')).status).toBe(200);
  }
  now += 1;
  expect((await visit.ask('GET', 'overview')).status).toBe(401);
});

it('ends a session when its key is revoked by another program, when it is left alone, and when it is ended', async () => {
  let now = Date.now();
  const { url, dataDir } = await openWithConsole({ now: () => now });
  const { key: mine } = withKeys(dataDir, (store) =>
    store.add({ name: 'mine', kind: 'admin', endpoints: null }),
  );
  const [revoked, left, ended] = [await enter(url, mine), await enter(url), await enter(url)];
  withKeys(dataDir, (store) => store.revoke('mine'));
  expect((await revoked.ask('GET', 'overview')).status).toBe(401);
  expect((await ended.ask('DELETE', 'session')).headers.get('set-cookie')).toContain('Max-Age=0');
  expect((await ended.ask('GET', 'overview')).status).toBe(401);
  expect((await left.ask('GET', 'overview')).status).toBe(200);
  now += 12 * 60 * 60_000 + 1;
  expect((await left.ask('GET', 'overview')).status).toBe(401);
});

it('says whether a browser is signed in, without refusing it', async () => {
  const { url } = await openWithConsole();
  expect(await send(url, 'GET', 'session')).toMatchObject({ status: 200, body: { signedIn: false } });
  const visit = await enter(url);
  expect(await visit.get('session')).toEqual({ signedIn: true });
  await visit.ask('DELETE', 'session');
  expect(await visit.get('session')).toEqual({ signedIn: false });
});

it('reveals nothing to a client that is not signed in', async () => {
  const { url } = await openWithConsole();
  const name = (await enter(url)).cookie.split('=')[0];
  for (const [method, path] of [
    ['GET', 'overview'],
    ['GET', 'catalogue'],
    ['GET', 'jobs'],
    ['GET', 'keys'],
    ['POST', 'keys'],
    ['POST', 'endpoints'],
    ['DELETE', 'endpoints/scene-renderer'],
    ['GET', 'nothing'],
  ] as const) {
    for (const cookie of ['', `${name}=`, `${name}=x; a=b`, '=;;=']) {
      const { status } = await send(url, method, path, undefined, { ...ownPage, Cookie: cookie });
      expect([method, path, cookie, status]).toEqual([method, path, cookie, 401]);
    }
  }
});

it('accepts no change from pages of other sites', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  const foreign: Record<string, string>[] = [
    {},
    { 'Sec-Fetch-Site': 'same-origin' },
    { 'Content-Type': 'application/x-www-form-urlencoded', Origin: 'https://elsewhere.example' },
    { 'Content-Type': 'text/plain' },
    ...['cross-site', 'same-site', 'none'].map((site) => ({ ...visit.headers, 'Sec-Fetch-Site': site })),
  ];
  for (const headers of foreign) {
    const sent = { ...headers, Cookie: visit.cookie };
    const body = JSON.stringify({ name: 'theirs', kind: 'admin' });
    const refused = await Promise.all([
      send(url, 'POST', 'keys', body, sent),
      send(url, 'POST', 'session', { key }, sent),
      send(url, 'DELETE', 'endpoints/scene-renderer', undefined, sent),
    ]);
    expect([headers, ...refused.map(({ status }) => status)]).toEqual([headers, 403, 403, 403]);
  }
  expect(await visit.keys()).toEqual([]);
});

it('answers no page of another site, not even one of the same machine', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  for (const [site, status] of [
    ['cross-site', 403],
    ['same-site', 403],
    ['same-origin', 200],
    ['none', 403],
  ] as const) {
    const headers = { ...visit.headers, 'Sec-Fetch-Site': site };
    expect([site, (await ask(url, headers)).statusCode]).toEqual([site, status]);
  }
  const page = await ask(url, { 'Sec-Fetch-Site': 'cross-site' }, '/console/');
  expect(page.statusCode).toBe(200);
});

it('answers with data that no browser takes for a page, refused or not', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  for (const reply of [await visit.ask('GET', 'overview'), await send(url, 'GET', 'overview')])
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'content-type': 'application/json',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    });
});

it('reveals nothing to a page whose name is made to lead here', async () => {
  const { url } = await openWithConsole();
  const host = `rebound.example:${new URL(url).port}`;
  // A browser that is signed in has a cookie for the name at which it signed in.
  await enter(url);
  const headers = { ...ownPage, Host: host, Origin: `http://${host}` };
  for (const path of ['overview', 'jobs', 'keys', 'endpoints'])
    expect([path, (await ask(url, headers, `/console/api/${path}`)).statusCode]).toEqual([path, 421]);
});

/**
 * Sends a request with any headers. `fetch` can send neither another Host nor headers that only browsers set.
 */
function ask(
  url: string,
  headers: Record<string, string>,
  path = '/console/api/overview',
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(`${url}${path}`, { headers }, (response) => resolve(response.resume())).on('error', reject);
  });
}
