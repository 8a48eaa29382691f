/** Who is behind a request that came through proxies. */
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import ipaddr from 'ipaddr.js';

/** `10.0.0.0/8`, or an address alone. */
export function isAddressRange(text: string): boolean {
  return ipaddr.isValid(text) || ipaddr.isValidCIDR(text);
}

interface Client {
  address: string | undefined;
  /** Whether its own connection is encrypted. */
  isSecure: boolean;
  /** By which name it asked; undefined where nobody says. */
  host: string | undefined;
}

export class TrustedProxies {
  readonly #ranges: [ipaddr.IPv4 | ipaddr.IPv6, number][];
  readonly #believed = new WeakMap<IncomingMessage, Client>();

  /** Addresses and ranges of the proxies whose word is taken. */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map((text) => {
      if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
      const address = ipaddr.process(text);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    });
  }

  /** Of a request that another process of ours has handed on. */
  believe(request: IncomingMessage, client: Client): void {
    this.#believed.set(request, client);
  }

  /** The last address that no trusted proxy has; undefined where the connection has ended. Anybody can write those before it. */
  addressOf(request: IncomingMessage): string | undefined {
    const believed = this.#believed.get(request);
    if (believed !== undefined) return believed.address;
    const { socket, headers } = request;
    let address = socket.remoteAddress;
    // To read an address costs as much as a good part of a short answer.
    if (this.#ranges.length === 0) return address;
    const named = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    while (address !== undefined && this.#has(address)) {
      const before = withoutPort(named.pop()?.trim() ?? '');
      if (!ipaddr.isValid(before)) break;
      address = before;
    }
    return address;
  }

  /** Whether the client's own connection is encrypted. */
  isSecure(request: IncomingMessage): boolean {
    const believed = this.#believed.get(request);
    if (believed !== undefined) return believed.isSecure;
    const { socket, headers } = request;
    if ((socket as Partial<TLSSocket>).encrypted === true) return true;
    return headers['x-forwarded-proto'] === 'https' && this.#has(socket.remoteAddress ?? '');
  }

  /** The name by which it was asked for. */
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

/** `192.0.2.1:4711` and `[2001:db8::1]:4711` are written by some. */
function withoutPort(text: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}
