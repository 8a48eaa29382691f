/**
 * Promise: behind trusted proxies a client is known by its own address, and no client can pretend to have
 * another.
 */
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { isAddressRange, TrustedProxies } from '../../../src/lib/net/addresses.ts';

const proxies = new TrustedProxies(['127.0.0.1', '10.0.0.0/8', '2001:db8::/32']);

function asked(
  remoteAddress: string | undefined,
  headers: Record<string, string | string[]>,
): IncomingMessage {
  return { socket: { remoteAddress }, headers } as unknown as IncomingMessage;
}

it.each([
  ['192.0.2.7', '198.51.100.1', '192.0.2.7'],
  ['127.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['::ffff:127.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['127.0.0.1', '203.0.113.9, 198.51.100.1', '198.51.100.1'],
  ['127.0.0.1', '203.0.113.9, 198.51.100.1, 10.1.2.3', '198.51.100.1'],
  ['127.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
  ['2001:db8::1', '[2001:470::5]:443', '2001:470::5'],
  ['127.0.0.1', '10.0.0.9', '10.0.0.9'],
  ['127.0.0.1', 'unknown', '127.0.0.1'],
  ['127.0.0.1', '198.51.100.1, <script>', '127.0.0.1'],
  ['127.0.0.1', '', '127.0.0.1'],
])('the client of %s, forwarded for %j, is %s', (from, forwarded, address) => {
  expect(proxies.addressOf(asked(from, { 'x-forwarded-for': forwarded }))).toBe(address);
});

it('believes no one if there is no proxy, and knows no address of a connection that has ended', () => {
  const none = new TrustedProxies([]);
  expect(none.addressOf(asked('127.0.0.1', { 'x-forwarded-for': '198.51.100.1' }))).toBe('127.0.0.1');
  expect(proxies.addressOf(asked(undefined, { 'x-forwarded-for': '198.51.100.1' }))).toBeUndefined();
});

it('trusts only a proxy that says its client used encryption', () => {
  expect(proxies.isSecure(asked('10.0.0.1', { 'x-forwarded-proto': 'https' }))).toBe(true);
  expect(proxies.isSecure(asked('10.0.0.1', { 'x-forwarded-proto': 'http' }))).toBe(false);
  expect(proxies.isSecure(asked('192.0.2.7', { 'x-forwarded-proto': 'https' }))).toBe(false);
  expect(proxies.isSecure(asked('2001:db9::1', { 'x-forwarded-proto': 'https' }))).toBe(false);
  expect(proxies.isSecure(asked(undefined, { 'x-forwarded-proto': 'https' }))).toBe(false);
});

it('believes the facts of a connection, and of a request those that another process of ours states', () => {
  const socket = { remoteAddress: '192.0.2.7', encrypted: true };
  const request = { socket, headers: { host: 'a.example' } } as unknown as IncomingMessage;
  expect([proxies.isSecure(request), proxies.hostOf(request)]).toEqual([true, 'a.example']);
  proxies.believe(request, { address: '198.51.100.1', isSecure: false, host: 'b.example' });
  expect([proxies.addressOf(request), proxies.isSecure(request), proxies.hostOf(request)]).toEqual([
    '198.51.100.1',
    false,
    'b.example',
  ]);
});

it.each(['10.0.0.0/8', '127.0.0.1', '::1', '2001:db8::/32'])('accepts %s', (text) =>
  expect(isAddressRange(text)).toBe(true),
);
it.each(['nginx', '10.0.0.0/33', '', '*'])('rejects %j', (text) => expect(isAddressRange(text)).toBe(false));
