/** Connections to other hosts: directly, or through the proxy that the rules name. */
import type { LookupFunction } from 'node:net';
import { Agent, type buildConnector, Pool, ProxyAgent } from 'undici';
import { proxyFor, type ProxyRules } from './addresses.ts';

interface Connecting {
  /** In ms; 10 s by default. Also the longest wait for a proxy to open a tunnel. */
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
      const { timeout = 10_000 } = connect;
      const login = decodeURIComponent(`${proxy.username}:${proxy.password}`);
      return new ProxyAgent({
        ...options,
        uri: proxy.href,
        ...(login !== ':' && { token: `Basic ${Buffer.from(login).toString('base64')}` }),
        proxyTunnel: false,
        requestTls,
        proxyTls: { timeout },
        // A proxy that accepts a connection and never answers is given up like one that accepts none.
        clientFactory: (to, more) => new Pool(to, { ...more, headersTimeout: timeout }),
        factory: (to, more) => {
          const { connect: open, ...rest } = more as { connect: buildConnector.connector };
          return new Pool(to, {
            ...options,
            ...rest,
            connect: (target, done) =>
              open(target, (...[error, socket]) =>
                error === null ? done(null, socket) : done(asFinal(error), null),
              ),
          });
        },
      });
    },
  });
}

/** After errors with these codes undici connects again at once and without end, whatever aborts the request. */
function asFinal(error: Error): Error {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code !== 'UND_ERR_SOCKET' && code !== 'UND_ERR_INFO') return error;
  return Object.assign(new Error('the proxy closed the connection', { cause: error }), {
    code: 'ECONNRESET',
  });
}

/** Returns the status with which a proxy refused to connect, according to undici's message. */
export function refusalOfProxy(error: unknown): { status: number; text: string } | undefined {
  const [, status] =
    /^Proxy (?:response|Authentication Required) \((\d+)\)/.exec(
      error instanceof Error ? error.message : '',
    ) ?? [];
  if (status === undefined) return undefined;
  const text = status === '407' ? 'it asks for a user name and a password' : 'the connection was refused';
  return { status: Number(status), text: `${text} (${status})` };
}
