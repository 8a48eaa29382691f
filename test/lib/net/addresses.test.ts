/** Promise: no picture comes from a private address, and all addresses of an IPv6 /64 count as one client. */
import type { LookupAddress } from 'node:dns';
import { expect, it } from 'vitest';
import {
  addressGroup,
  isPublicAddress,
  NoPublicAddress,
  publicLookup,
} from '../../../src/lib/net/addresses.ts';

it.each([
  '1.1.1.1',
  '8.8.8.8',
  '172.15.0.1',
  '172.32.0.1',
  '100.128.0.1',
  '::ffff:8.8.8.8',
  '2606:4700::1111',
])('an address is public: %s', (address) => expect(isPublicAddress(address)).toBe(true));

it.each([
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.0.9',
  '169.254.169.254',
  '168.63.129.16',
  '::ffff:168.63.129.16',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '4000::1',
  '0x7f.1',
  '2130706433',
  '0177.0.0.1',
  'localhost',
  '',
])('an address is not public: %s', (address) => expect(isPublicAddress(address)).toBe(false));

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8::/64'],
  ['::1', '::/64'],
  ['fe80::1%eth0', 'fe80::/64'],
  ['', ''],
])('counts %s as %s', (address, group) => {
  expect(addressGroup(address)).toBe(group);
});

/** Returns the addresses that a connection gets for a name that resolves to these. */
function lookedUp(addresses: string[] | Error, all: boolean): Promise<unknown[]> {
  const lookup = publicLookup({
    lookup: async () => {
      if (addresses instanceof Error) throw addresses;
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
    isPublic: isPublicAddress,
  });
  return new Promise((resolve) =>
    lookup('a.example', { all }, (...told: [Error | null, string | LookupAddress[], number?]) =>
      resolve(told),
    ),
  );
}

it('a connection leads to public addresses only', async () => {
  const mixed = ['10.0.0.1', '1.1.1.1', '::1', '2606:4700::1111'];
  expect(await lookedUp(mixed, false)).toEqual([null, '1.1.1.1', 4]);
  expect(await lookedUp(mixed, true)).toEqual([
    null,
    [
      { address: '1.1.1.1', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ],
  ]);
  for (const all of [true, false]) {
    const none = new NoPublicAddress('a.example has no public address');
    expect(await lookedUp(['10.0.0.1'], all)).toEqual([none, all ? [] : '']);
    expect(await lookedUp(new Error('ENOTFOUND'), all)).toEqual([new Error('ENOTFOUND'), all ? [] : '']);
  }
});
