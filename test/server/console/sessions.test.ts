/** Who gets into the console, for how long, and whose requests are not even looked at. */
import { expect, it } from 'vitest';
import { key } from '../service-harness.ts';
import { enter, openWithConsole, ownPage, send, withKeys } from './visit.ts';

it('lets in whoever has an admin key, by a cookie that scripts and other sites do not get', async () => {
  const { url } = await openWithConsole();
  const { status, headers } = await send(url, 'POST', 'session', { key: ` ${key}\n` });
  expect(status).toBe(204);
  const [cookie, ...attributes] = (headers.get('set-cookie') ?? '').split('; ');
  expect(cookie).not.toContain(key);
  expect(attributes).toEqual(
    expect.arrayContaining(['HttpOnly', 'SameSite=Strict', expect.stringMatching(/^Path=\/console$/)]),
  );
});

it('lets in no key of another kind, none that was revoked, and none that is none', async () => {
  const { url, dataDir } = await openWithConsole();
  const keys = withKeys(dataDir, (book) => {
    const [client, worker, revoked] = (['client', 'worker', 'admin'] as const).map((kind) =>
      book.add({ name: kind, kind, endpoints: null }),
    );
    book.revoke('admin');
    return [client?.key, worker?.key, revoked?.key, '', 'x', `Bearer ${key}`, 7, null];
  });
  for (const wrong of keys) {
    const { status, headers } = await send(url, 'POST', 'session', { key: wrong });
    expect([wrong, status, headers.get('set-cookie')]).toEqual([wrong, 401, null]);
  }
});

it('has whoever tries keys wait', async () => {
  let now = 1_000_000;
  const { url } = await openWithConsole({ now: () => now });
  for (let i = 0; i < 20; i++)
    expect((await send(url, 'POST', 'session', { key: `x${i}` })).status).toBe(401);
  const { status, headers } = await send(url, 'POST', 'session', { key });
  expect([status, headers.get('retry-after')]).toEqual([429, '60']);
  now += 60_000;
  expect((await send(url, 'POST', 'session', { key })).status).toBe(204);
});

it('ends a session when its key is revoked by another program, when it is left alone, and when it is ended', async () => {
  let now = Date.now();
  const { url, dataDir } = await openWithConsole({ now: () => now });
  const { key: mine } = withKeys(dataDir, (book) =>
    book.add({ name: 'mine', kind: 'admin', endpoints: null }),
  );
  const [revoked, left, ended] = [await enter(url, mine), await enter(url), await enter(url)];
  withKeys(dataDir, (book) => book.revoke('mine'));
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

it('tells nobody anything who is not signed in', async () => {
  const { url } = await openWithConsole();
  for (const [method, path] of [
    ['GET', 'overview'],
    ['GET', 'jobs'],
    ['GET', 'keys'],
    ['POST', 'keys'],
    ['POST', 'endpoints'],
    ['DELETE', 'endpoints/scene-renderer'],
    ['GET', 'nothing'],
  ] as const) {
    for (const cookie of ['', 'nightrender_console=', 'nightrender_console=x; a=b', '=;;=']) {
      const { status } = await send(url, method, path, undefined, { ...ownPage, Cookie: cookie });
      expect([method, path, cookie, status]).toEqual([method, path, cookie, 401]);
    }
  }
});

it('takes no change from pages of other sites', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  const foreign: Record<string, string>[] = [
    {},
    { 'Sec-Fetch-Site': 'same-origin' },
    { 'Content-Type': 'application/x-www-form-urlencoded', Origin: 'https://elsewhere.example' },
    { 'Content-Type': 'text/plain' },
    ...['cross-site', 'same-site', 'none'].map((site) => ({ ...ownPage, 'Sec-Fetch-Site': site })),
    { ...ownPage, 'X-Nightrender-Console': '2' },
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
