/** IP addresses: which are public, how they are grouped, and a DNS lookup restricted to public ones. */
import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';

/** DNS and the rule for public addresses. Tests replace them. */
export interface Internet {
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  /** True if connections to the address are allowed. */
  isPublic: (address: string) => boolean;
}

export const theInternet: Internet = {
  lookup: (hostname) => systemLookup(hostname, { all: true }),
  isPublic: isPublicAddress,
};

/** Thrown if a host name has no public address. */
export class NoPublicAddress extends Error {}

/**
 * Returns a lookup that the connection itself uses, so that the checked address is the one connected to (no
 * DNS rebinding).
 */
export function publicLookup({ lookup, isPublic }: Internet = theInternet): LookupFunction {
  const find = callbackify(async (hostname: string): Promise<LookupAddress[]> => {
    const found = (await lookup(hostname)).filter(({ address }) => isPublic(address));
    if (found.length === 0) throw new NoPublicAddress(`${hostname} has no public address`);
    return found;
  });
  return (hostname, { all }, callback) =>
    find(hostname, (error, found) => {
      if (error !== null) callback(error, all ? [] : '');
      else if (all) callback(null, found);
      else callback(null, found[0]?.address ?? '', found[0]?.family);
    });
}

/** True for a name or address of this machine itself, as a URL has it or without brackets. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || /^(::1|\[::1\]|127(\.\d{1,3}){3})$/.test(host);
}

/** Returns false for anything that is not an IP address. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  // Unwraps an IPv4-mapped IPv6 address.
  const address = ipaddr.process(text);
  if (address.toString() === hostOfAzure) return false;
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(globalUnicast));
}

/** True for public addresses and those of private networks, but not for this machine's own or link-local ones. */
export function isPrivateOrPublic(text: string): boolean {
  if (isPublicAddress(text)) return true;
  const range = ipaddr.isValid(text) ? ipaddr.process(text).range() : '';
  return range === 'private' || range === 'uniqueLocal' || range === 'carrierGradeNat';
}

/**
 * Address at which virtual machines reach their host:
 * https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16.
 */
const hostOfAzure = '168.63.129.16';

/** IPv6 range in use. ipaddr.js calls all unassigned addresses `unicast` too. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/** Returns the network of an address: the /24 of IPv4, the /64 of IPv6, and any other text unchanged. */
export function networkOf(text: string): string {
  return addressGroup(text).replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1.0/24');
}

/** Returns the key for limits per client: an IPv4 address itself, the /64 of IPv6, and any other text unchanged. */
export function addressGroup(text: string): string {
  if (!ipaddr.isValid(text)) return text;
  const address = ipaddr.process(text);
  if (!('parts' in address)) return address.toString();
  return `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}
