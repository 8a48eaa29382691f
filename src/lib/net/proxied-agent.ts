/** Connections to other hosts: directly, or through the proxy that the rules name. */
import type { LookupFunction } from 'node:net';
import { Agent, Pool, ProxyAgent } from 'undici';
import { proxyFor, type ProxyRules } from './addresses.ts';

interface Connecting {
  /** In ms. */
  timeout?: number;
  lookup?: LookupFunction;
  /** PEM certificates that are trusted instead of the usual ones. */
  ca?: string;
}

/**
 * Returns an agent whose requests for https addresses go through a tunnel (CONNECT), so that the proxy reads
 * neither key nor body. Requests for http addresses are sent to the proxy itself. `connect.lookup` applies to
 * direct connections only, because a proxy resolves names itself.
 */
export function proxiedAgent(
  rules: ProxyRules,
  { connect = {}, ...options }: Omit<Agent.Options, 'connect'> & { connect?: Connecting },
): Agent {
  return new Agent({
    ...options,
    connect,
    factory: (origin, all) => {
      const proxy = proxyFor(new URL(origin), rules);
      if (proxy === undefined) return new Pool(origin, all);
      const { lookup: _, ...requestTls } = connect;
      const { timeout } = connect;
      return new ProxyAgent({
        ...options,
        uri: proxy.href,
        proxyTunnel: false,
        requestTls,
        ...(timeout !== undefined && {
          proxyTls: { timeout },
          // A proxy that accepts a connection and never answers is given up like one that accepts none.
          clientFactory: (to, more) => new Pool(to, { ...more, headersTimeout: timeout }),
        }),
      });
    },
  });
}
