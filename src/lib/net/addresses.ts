/** Addresses: which are public, which use a proxy, how they are grouped, the client behind proxies, and a DNS lookup of public ones. */
import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';
import { ConfigError } from '../yaml/problem.ts';

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

export class NoPublicAddress extends Error {}

/** Returns a lookup for the connection itself, so that it goes to the checked address (no DNS rebinding). */
export function publicLookup(internet: Internet = theInternet): LookupFunction {
  const find = callbackify((hostname: string) => publicAddresses(hostname, internet));
  return (hostname, { all }, callback) =>
    find(hostname, (error, found) => {
      if (error !== null) callback(error, all ? [] : '');
      else if (all) callback(null, found);
      else callback(null, found[0]?.address ?? '', found[0]?.family);
    });
}

/** Returns the addresses of a host that connections are allowed to. Throws `NoPublicAddress` if it has none. */
export async function publicAddresses(
  hostname: string,
  { lookup, isPublic }: Internet = theInternet,
): Promise<LookupAddress[]> {
  const found = (await lookup(hostname)).filter(({ address }) => isPublic(address));
  if (found.length === 0) throw new NoPublicAddress(`${hostname} has no public address`);
  return found;
}

/** True for a name or address of this machine itself, as a URL has it or without brackets. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || /^(::1|\[::1\]|127(\.\d{1,3}){3})$/.test(host);
}

/** True for every name and address that leads to this machine. `host` has no brackets. */
function isThisMachine(host: string): boolean {
  if (isLoopback(host) || host.endsWith('.localhost')) return true;
  return ipaddr.isValid(host) && /^(loopback|unspecified)$/.test(ipaddr.process(host).range());
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

/** Returns the key for limits per client: an IPv4 address itself, the /64 of IPv6, and any other text unchanged. */
export function addressGroup(text: string): string {
  if (!ipaddr.isValid(text)) return text;
  const address = ipaddr.process(text);
  if (!('parts' in address)) return address.toString();
  return `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}

/** True for a range such as `10.0.0.0/8`, and for a single address. */
export function isAddressRange(text: string): boolean {
  return ipaddr.isValid(text) || ipaddr.isValidCIDR(text);
}

/** True if the IP address is in the range, or is this address. False for any other text as range. */
function isWithin(text: string, range: string): boolean {
  return isAddressRange(range) && matches(ipaddr.process(text), readRange(range));
}

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

function readRange(text: string): Range {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function matches(address: ipaddr.IPv4 | ipaddr.IPv6, [range, bits]: Range): boolean {
  return range.kind() === address.kind() && address.match(range, bits);
}

/** Rules by which requests to other hosts use a proxy: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case. */
export interface ProxyRules {
  /** Proxies for http and https addresses; the problem of a variable that names none. */
  http: URL | ConfigError | undefined;
  https: URL | ConfigError | undefined;
  /** Entries of NO_PROXY, in lower case. */
  except: string[];
  /** True if private addresses and names without a dot use the proxy, too. */
  isForAll: boolean;
}

export const noProxies: ProxyRules = { http: undefined, https: undefined, except: [], isForAll: false };

export function proxyRules(env: NodeJS.ProcessEnv, isForAll = false): ProxyRules {
  return {
    http: readProxy(env, 'HTTP_PROXY'),
    https: readProxy(env, 'HTTPS_PROXY'),
    except: (env['no_proxy'] || env['NO_PROXY'] || '')
      .toLowerCase()
      .split(/[,\s]+/)
      .filter((entry) => entry !== ''),
    isForAll,
  };
}

/** The problem never shows the value, which may hold a password. */
function readProxy(env: NodeJS.ProcessEnv, name: string): URL | ConfigError | undefined {
  const where = [name.toLowerCase(), name].find((each) => (env[each] ?? '').trim() !== '');
  if (where === undefined) return undefined;
  return proxyUrl(env[where] ?? '') ?? new ConfigError([{ where, text: expected }]);
}

const expected =
  'not the address of a proxy; expected one such as http://proxy.example:3128, with %25 for a % in its password';

/** Returns undefined if the text is not the address of a proxy for HTTP with a readable name and password. */
export function proxyUrl(text: string): URL | undefined {
  try {
    const url = new URL(text.includes('://') ? text.trim() : `http://${text.trim()}`);
    decodeURIComponent(`${url.username}:${url.password}`);
    return /^https?:$/.test(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the proxy for an address; undefined if none is used. Throws `ConfigError` if its variable is wrong. */
export function proxyFor({ protocol, hostname, port }: URL, rules: ProxyRules): URL | undefined {
  const proxy = protocol === 'https:' ? rules.https : rules.http;
  if (proxy === undefined) return undefined;
  const host = hostname.replace(/^\[(.*)\]$|\.$/, '$1');
  if (isThisMachine(host)) return undefined;
  const isPrivate = isIP(host) === 0 ? !host.includes('.') : !isPublicAddress(host);
  if (isPrivate && !rules.isForAll) return undefined;
  const target = { host, port: port || (protocol === 'https:' ? '443' : '80') };
  if (rules.except.some((entry) => isExcepted(target, entry))) return undefined;
  if (proxy instanceof ConfigError) throw proxy;
  return proxy;
}

/** `entry`: `*`, `example.com` with all names below it, `.example.com`, an address or a range, each perhaps with a port. */
function isExcepted({ host, port }: { host: string; port: string }, entry: string): boolean {
  if (entry === '*') return true;
  if (isIP(host) !== 0 && isWithin(host, entry)) return true;
  const [, name = entry, entryPort = port] = /^([^:]+|\[.*\]):(\d+)$/.exec(entry) ?? [];
  const suffix = name.replace(/^\[(.*)\]$|^\*?\./, '$1');
  return entryPort === port && (host === suffix || host.endsWith(`.${suffix}`));
}

/** Returns the address of a proxy without its password, such as `http://proxy.example:3128`, or the problem. */
export function shownProxy(proxy: URL | ConfigError): string {
  return proxy instanceof ConfigError ? proxy.message : proxy.origin;
}

interface Client {
  address: string | undefined;
  /** True if the client's own connection is encrypted. */
  isSecure: boolean;
  /** Host name that the client asked for; undefined if it is unknown. */
  host: string | undefined;
}

/** Finds the client behind a request that came through proxies. */
export class TrustedProxies {
  readonly #ranges: Range[];
  readonly #believed = new WeakMap<IncomingMessage, Client>();

  /** `ranges`: addresses and ranges of the proxies whose headers are believed. */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map(readRange);
  }

  /** Sets the client of a request that another process of this program has passed on. */
  believe(request: IncomingMessage, client: Client): void {
    this.#believed.set(request, client);
  }

  /** Returns the last address that is not a trusted proxy, because clients can forge those before it. */
  addressOf(request: IncomingMessage): string | undefined {
    const believed = this.#believed.get(request);
    if (believed !== undefined) return believed.address;
    const { socket, headers } = request;
    let address = socket.remoteAddress;
    // Parsing an address costs as much as a good part of a short answer.
    if (this.#ranges.length === 0) return address;
    const named = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    while (address !== undefined && this.#has(address)) {
      const before = withoutPort(named.pop()?.trim() ?? '');
      if (!ipaddr.isValid(before)) break;
      address = before;
    }
    return address;
  }

  /** True if the client's own connection is encrypted. */
  isSecure(request: IncomingMessage): boolean {
    const believed = this.#believed.get(request);
    if (believed !== undefined) return believed.isSecure;
    const { socket, headers } = request;
    if ((socket as Partial<TLSSocket>).encrypted === true) return true;
    return headers['x-forwarded-proto'] === 'https' && this.#has(socket.remoteAddress ?? '');
  }

  hostOf(request: IncomingMessage): string | undefined {
    return this.#believed.get(request)?.host ?? request.headers.host;
  }

  #has(text: string): boolean {
    if (!ipaddr.isValid(text)) return false;
    // Unwraps an IPv4-mapped IPv6 address.
    const address = ipaddr.process(text);
    return this.#ranges.some((range) => matches(address, range));
  }
}

/** Removes a port, which some proxies add: `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}
