/** Finds the client behind a request that came through proxies. */
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import ipaddr from 'ipaddr.js';

/** True for a range such as `10.0.0.0/8`, and for a single address. */
export function isAddressRange(text: string): boolean {
  return ipaddr.isValid(text) || ipaddr.isValidCIDR(text);
}

interface Client {
  address: string | undefined;
  /** True if the client's own connection is encrypted. */
  isSecure: boolean;
  /** Host name that the client asked for; undefined if it is unknown. */
  host: string | undefined;
}

export class TrustedProxies {
  readonly #ranges: [ipaddr.IPv4 | ipaddr.IPv6, number][];
  readonly #believed = new WeakMap<IncomingMessage, Client>();

  /** `ranges`: addresses and ranges of the proxies whose headers are believed. */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map((text) => {
      if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
      const address = ipaddr.process(text);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    });
  }

  /** Sets the client of a request that another process of this program has passed on. */
  believe(request: IncomingMessage, client: Client): void {
    this.#believed.set(request, client);
  }

  /**
   * Returns the last address that is not a trusted proxy, because clients can forge those before it.
   * Undefined if the connection has ended.
   */
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
    return this.#ranges.some(
      ([range, bits]) => range.kind() === address.kind() && address.match(range, bits),
    );
  }
}

/** Removes a port, which some proxies add: `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}
