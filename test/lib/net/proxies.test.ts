/**
 * Promise: a request uses the proxy that the environment sets for its scheme, and never one for this machine.
 */
import { expect, it } from 'vitest';
import { proxyFor, proxyRules, shownProxy } from '../../../src/lib/net/addresses.ts';

const proxy = 'http://ann:secret@proxy.corp.example:3128';
const of = (url: string, env: NodeJS.ProcessEnv, isForAll = false): string | undefined => {
  const found = proxyFor(new URL(url), proxyRules(env, isForAll));
  return found && shownProxy(found);
};
const both = { HTTPS_PROXY: proxy, HTTP_PROXY: proxy };
const shown = 'http://proxy.corp.example:3128';

it.each([
  ['https://api.example', { HTTPS_PROXY: proxy }, shown],
  ['https://api.example', { https_proxy: proxy }, shown],
  ['https://api.example', { https_proxy: '', HTTPS_PROXY: proxy }, shown],
  ['https://api.example', { HTTPS_PROXY: 'proxy.corp.example:3128' }, shown],
  ['https://api.example', { HTTP_PROXY: proxy }, undefined],
  ['http://api.example', { HTTP_PROXY: proxy }, shown],
  ['http://api.example', { HTTPS_PROXY: proxy }, undefined],
  ['https://api.example', {}, undefined],
  ['https://8.8.8.8', both, shown],
])('%s with %j goes through %s', (url, env, expected) => {
  expect(of(url, env)).toBe(expected);
});

it.each([
  'http://localhost:8000',
  'http://a.localhost',
  'http://127.0.0.1:7990',
  'https://127.8.8.8',
  'http://[::1]:80',
  'http://[::ffff:127.0.0.1]',
  'http://0.0.0.0:9000',
])('%s is this machine, whatever is set', (url) => {
  expect(of(url, both, true)).toBeUndefined();
});

it.each([
  'http://box:8188',
  'https://10.1.2.3',
  'http://192.168.1.5',
  'https://[fd00::1]',
  'http://100.64.0.1',
])('%s is private, and goes through a proxy with `proxy: all` only', (url) => {
  expect([of(url, both), of(url, both, true)]).toEqual([undefined, shown]);
});

it.each([
  ['*', 'https://api.example', undefined],
  ['api.example', 'https://api.example', undefined],
  ['example', 'https://api.example', undefined],
  ['.API.example', 'https://eu.api.example', undefined],
  ['*.api.example', 'https://eu.api.example', undefined],
  ['pi.example', 'https://api.example', shown],
  ['api.example:8443', 'https://api.example', shown],
  ['api.example:443', 'https://api.example', undefined],
  ['other.example, 8.8.0.0/16', 'https://8.8.8.8', undefined],
  ['8.8.0.0/16', 'https://9.8.8.8', shown],
  ['2001:4860::/32', 'https://[2001:4860::8888]', undefined],
])('NO_PROXY=%s, in either case, sends %s through %s', (except, url, expected) => {
  expect(of(url, { ...both, NO_PROXY: except })).toBe(expected);
  expect(of(url, { ...both, no_proxy: except })).toBe(expected);
});

it.each(['socks5://ann:secret@proxy:1080', 'http://', 'http://a b', 'http://ann:secret50%@proxy:1080'])(
  '%s is refused without its words, if it would be used',
  (value) => {
    const lower = { https_proxy: value, NO_PROXY: 'corp.example' };
    expect(() => of('https://api.example', lower)).toThrow(/^https_proxy: not the address of a proxy/);
    const upper = { HTTPS_PROXY: value };
    expect(() => of('https://api.example', upper)).toThrow(/^HTTPS_PROXY: (?!.*secret)/);
    for (const url of ['http://api.example', 'https://127.0.0.1', 'https://box', 'https://git.corp.example'])
      expect(of(url, lower)).toBeUndefined();
  },
);
