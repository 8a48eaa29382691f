/**
 * Promise: pages of configured sites may use the job interface. Pages of other sites may not, and none may
 * use the console.
 */
import { expect, it } from 'vitest';
import { key, openService } from '../service-harness.ts';
import { openWithConsole } from '../console/visit.ts';

const studio = 'https://studio.example';
const path = '/v2/scene-renderer/health';

function preflight(url: string, origin: string, to = path): Promise<Response> {
  const headers = { Origin: origin, 'Access-Control-Request-Method': 'GET' };
  return fetch(url + to, { method: 'OPTIONS', headers });
}

function get(url: string, origin: string, to = path): Promise<Response> {
  return fetch(url + to, { headers: { Origin: origin, Authorization: `Bearer ${key}` } });
}

const allowed = (answer: Response) => answer.headers.get('access-control-allow-origin');

it('preflight requests of browsers are answered, and an allowed page can read answers and refusals', async () => {
  const { url } = await openService({ origins: [studio] });
  const asked = await preflight(url, studio);
  expect([asked.status, allowed(asked)]).toEqual([204, studio]);
  expect(asked.headers.get('access-control-allow-headers')).toContain('Authorization');
  const told = await get(url, studio);
  expect([told.status, allowed(told), told.headers.get('vary')]).toEqual([200, studio, 'Origin']);
  const missing = await get(url, studio, '/v2/none/health');
  expect([missing.status, allowed(missing)]).toEqual([404, studio]);
});

it('other sites are allowed nothing, and by default no site is allowed anything', async () => {
  const { url } = await openService({ origins: [studio] });
  const asked = await preflight(url, 'https://other.example');
  expect([asked.status, allowed(asked)]).toEqual([401, null]);
  expect(allowed(await get(url, 'https://other.example'))).toBeNull();
  const byDefault = await openService();
  expect(allowed(await get(byDefault.url, studio))).toBeNull();
});

it('any site is allowed if configured, but never at the console', async () => {
  const { url } = await openWithConsole({ origins: ['*'] });
  expect(allowed(await get(url, studio))).toBe('*');
  expect(allowed(await get(url, studio, '/console/api/session'))).toBeNull();
  expect(allowed(await preflight(url, studio, '/console/api/session'))).toBeNull();
});
