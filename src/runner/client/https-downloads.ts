/** Pictures by address: over https, from listed hosts at public addresses, and with nothing of ours in the request. */
import { isIP } from 'node:net';
import { Agent } from 'undici';
import { type Internet, NoPublicAddress, publicLookup, theInternet } from '../../lib/net/addresses.ts';
import type { Failure } from '../core/failure.ts';
import type { Downloads, Room } from '../pipeline/ports.ts';
import { exchange, type Outcome } from './exchange.ts';
import { readRetryAfter } from './read-refusal.ts';

export interface DownloadOptions {
  /** Host names in lower case, as `readDownloadAddress` takes them. */
  hosts: readonly string[];
  /** Largest picture. */
  maxBytes: number;
  /** Longest wait for a connection, and then for the whole answer, which has more time only for how much of it came. */
  requestTimeoutMs: number;
}

/** As a test may have it: with certificates of its own. */
export interface DownloadInternet extends Internet {
  /** PEM; trusted instead of the usual. */
  ca?: string;
}

const maxRedirects = 3;
const redirects = new Set([301, 302, 303, 307, 308]);
const headers = { accept: 'image/png, image/*;q=0.9, */*;q=0.1', 'user-agent': 'nightrender' };

export class HttpsDownloads implements Downloads {
  readonly #options: DownloadOptions;
  readonly #agent: Agent;

  constructor(options: DownloadOptions, internet: DownloadInternet = theInternet) {
    this.#options = options;
    const { requestTimeoutMs: timeout } = options;
    const { ca } = internet;
    this.#agent = new Agent({
      connections: 64,
      pipelining: 1,
      headersTimeout: timeout,
      bodyTimeout: timeout,
      connect: { timeout, lookup: publicLookup(internet), ...(ca !== undefined && { ca }) },
    });
  }

  async fetch(url: string, signal: AbortSignal, room?: Room): Promise<{ bytes: Uint8Array } | Failure> {
    const fetched = await this.#follow(url, signal, room);
    // Whoever asks again waits before, and what came in part is of no use.
    if (!('bytes' in fetched)) room?.hold.release();
    return fetched;
  }

  /** Downloads in progress are cut. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #follow(url: string, signal: AbortSignal, room?: Room): Promise<{ bytes: Uint8Array } | Failure> {
    let target = readDownloadAddress(url, this.#options.hosts);
    for (let hops = 0; 'origin' in target; hops++) {
      const outcome = await this.#get(target, signal, room);
      const next = redirectOf(outcome, target);
      if (next === undefined) return read(outcome, target);
      if (hops === maxRedirects) return failed(target, `it is redirected more than ${maxRedirects} times`);
      target = readDownloadAddress(next, this.#options.hosts);
    }
    return target;
  }

  #get({ origin, pathname, search }: URL, signal: AbortSignal, room?: Room): Promise<Outcome> {
    const { maxBytes, requestTimeoutMs } = this.#options;
    const request = { origin, path: pathname + search, method: 'GET', headers } as const;
    const limits = {
      maxBodyBytes: maxBytes,
      wholeAnswerMs: requestTimeoutMs,
      hold: room?.hold,
      bodies: room?.pictures,
    };
    return exchange(this.#agent, request, limits, signal);
  }
}

/** Where the answer leads on; undefined where it is none of that kind. */
function redirectOf(outcome: Outcome, from: URL): string | undefined {
  if (outcome.kind !== 'answered' || !redirects.has(outcome.answer.status)) return undefined;
  const { location } = outcome.answer.headers;
  if (location === undefined) return undefined;
  // What cannot be resolved is refused as it stands.
  return URL.canParse(location, from.href) ? new URL(location, from.href).href : location;
}

function read(outcome: Outcome, from: URL): { bytes: Uint8Array } | Failure {
  switch (outcome.kind) {
    case 'answered':
      return readAnswer(outcome.answer, from);
    case 'too-large': {
      const text = `the picture at ${shownAddress(from)} is larger than \`limits.body\` allows`;
      return { kind: 'result-too-large', text };
    }
    case 'broken':
      if (!(outcome.cause instanceof NoPublicAddress)) return failed(from, outcome.why);
      return {
        kind: 'url-refused',
        text: `the picture at ${shownAddress(from)} is refused: ${from.host} has no public address`,
      };
  }
}

/** The body of a refusal is never shown: storage services repeat signatures in it. */
function readAnswer(
  { status, headers: heads, bytes }: (Outcome & { kind: 'answered' })['answer'],
  from: URL,
): { bytes: Uint8Array } | Failure {
  if (status >= 200 && status <= 299)
    return bytes.length > 0 ? { bytes } : failed(from, 'what came is empty');
  const retryAfterMs = readRetryAfter(heads);
  return {
    ...failed(from, `${from.host} answered ${status}`),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

function failed(from: URL, why: string): Failure {
  return { kind: 'download-failed', text: `the picture at ${shownAddress(from)} was not downloaded: ${why}` };
}

/**
 * The address as a URL, or why nothing is downloaded from it. `hosts` are host names in lower case, with `*.` before
 * one for all that are below it, and with a port behind where it is not 443.
 */
function readDownloadAddress(text: string, hosts: readonly string[]): URL | Failure {
  if (!URL.canParse(text)) return refused('what the output names as the address of a picture is no URL');
  const url = new URL(text);
  const place = shownAddress(url);
  if (url.protocol !== 'https:') return refused(`the picture at ${place} is not offered over https`);
  if (url.username !== '' || url.password !== '')
    return refused(`the address of the picture at ${place} holds a user name or a password`);
  if (isIP(url.hostname.replaceAll(/[[\]]/g, '')) !== 0)
    return refused(`the picture at ${place} is at a bare IP address, not at a host with a name`);
  if (hosts.length === 0) return notAllowed(url);
  if (!hosts.some((entry) => isListed(url, entry)))
    return refused(`the picture at ${place} is at ${url.host}, which \`output.hosts\` does not list`);
  return url;
}

/** Where a picture is, without the query, which may hold a signature, and no longer than a line. */
function shownAddress({ protocol, host, pathname }: URL): string {
  const address = `${protocol}//${host}${pathname}`;
  return address.length > longestShown ? `${address.slice(0, longestShown - 1)}…` : address;
}

const longestShown = 120;

function isListed({ hostname, port }: URL, entry: string): boolean {
  const [name = '', entryPort = '443'] = entry.split(':');
  if (entryPort !== (port || '443')) return false;
  if (!name.startsWith('*.')) return hostname === name;
  const ending = name.slice(1);
  return hostname.endsWith(ending) && hostname.length > ending.length;
}

function notAllowed({ host }: URL): Failure {
  const text = `the output names pictures by address, at ${host}, and \`output.hosts\` is empty; put ${host} into it and start again within 30 minutes, while most services still have the results`;
  return { kind: 'urls-not-allowed', text };
}

function refused(text: string): Failure {
  return { kind: 'url-refused', text };
}
