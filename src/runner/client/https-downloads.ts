/** Downloads pictures and clips from listed https hosts at public addresses, or from listed http origins, in one try: `save-result.ts` tries again. Sends no key. */
import { once } from 'node:events';
import { isIP } from 'node:net';
import type { Agent } from 'undici';
import { withTimeLimit } from '../../lib/limits.ts';
import {
  type Internet,
  isPrivateOrPublic,
  NoPublicAddress,
  publicAddresses,
  publicLookup,
  theInternet,
} from '../../lib/net/addresses.ts';
import { proxiedAgent } from '../../lib/net/proxied-agent.ts';
import { noProxies, proxyFor, type ProxyRules } from '../../lib/net/addresses.ts';
import type { JobAtService } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import type { ReceivedFile } from '../core/picture.ts';
import type { Downloads, ResultKey, Room } from '../pipeline/ports.ts';
import { exchange, noKeySent, type Outcome, readRetryAfter, redirectOf, tooLargeText } from './exchange.ts';
import type { ReceivedFiles } from './received-files.ts';
import type { BodySink } from './receiver.ts';

export interface DownloadOptions {
  /** Allowed hosts and origins, in the format of `readDownloadAddress`. */
  hosts: readonly string[];
  /** Largest picture in bytes. */
  maxBytes: number;
  /** Takes clips. Undefined if there are none. */
  received?: ReceivedFiles;
  /** Longest wait for a connection, and again for the answer, which each received byte extends. */
  requestTimeoutMs: number;
  proxies?: ProxyRules;
}

/** Access to the internet, with certificates that a test may replace. */
export interface DownloadInternet extends Internet {
  /** PEM certificates that are trusted instead of the usual ones. */
  ca?: string;
}

const maxRedirects = 3;
const verdictMs = 60_000;
const pictureHeaders = { accept: 'image/png, image/*;q=0.9, */*;q=0.1', 'user-agent': 'nightrender' };
/** A compressed body could not be continued. */
const clipHeaders = {
  accept: 'video/*, audio/*, */*;q=0.1',
  'accept-encoding': 'identity',
  'user-agent': 'nightrender',
};

/** Options of a download. A `sink` takes the content in place of memory. */
interface Wanted {
  what: 'picture' | 'clip';
  signal: AbortSignal;
  room?: Room | undefined;
  range?: Record<string, string>;
  sink?: BodySink;
}

export class HttpsDownloads implements Downloads {
  readonly #options: DownloadOptions;
  readonly #proxies: ProxyRules;
  readonly #internet: DownloadInternet;
  readonly #agent: Agent;
  /** Used for origins that are listed as `http://…`. */
  readonly #plainAgent: Agent;
  /** Refusals of names of hosts behind a proxy, by origin. */
  readonly #verdicts = new Map<string, { until: number; refusal: Promise<NoPublicAddress | undefined> }>();

  constructor(options: DownloadOptions, internet: DownloadInternet = theInternet) {
    this.#options = options;
    this.#internet = internet;
    const { requestTimeoutMs: timeout, proxies = noProxies } = options;
    this.#proxies = proxies;
    const { ca } = internet;
    const common = { connections: 64, pipelining: 1, headersTimeout: timeout, bodyTimeout: timeout };
    this.#agent = proxiedAgent(proxies, {
      ...common,
      connect: { timeout, lookup: publicLookup(internet), ...(ca !== undefined && { ca }) },
    });
    const lookup = publicLookup(allowPrivate(internet));
    this.#plainAgent = proxiedAgent(proxies, { ...common, connect: { timeout, lookup } });
  }

  async fetch(url: string, signal: AbortSignal, room?: Room): Promise<{ bytes: Uint8Array } | Failure> {
    const sent = await this.#follow(url, { what: 'picture', signal, room });
    const fetched = 'kind' in sent ? sent : this.#read(sent.outcome, sent.from, 'picture');
    // The caller waits before a retry, and must not hold memory meanwhile.
    if (!('bytes' in fetched)) room?.share.release();
    return fetched;
  }

  async receive(
    url: string,
    key: ResultKey,
    signal: AbortSignal,
  ): Promise<{ received: ReceivedFile } | Failure> {
    const { received } = this.#options;
    if (received === undefined) throw new Error('no clips are expected');
    // A new signature in the query does not change the file.
    const [address = ''] = url.split(/[?#]/);
    const sent = await received.receive(key, address, (range, sink) =>
      this.#follow(url, { what: 'clip', signal, range, sink }),
    );
    if ('received' in sent || 'kind' in sent) return sent;
    const fetched = this.#read(sent.outcome, sent.from, 'clip');
    return 'kind' in fetched ? fetched : failed(sent.from, 'clip', 'the data is empty');
  }

  async remove(job: JobAtService): Promise<void> {
    await this.#options.received?.remove(job);
  }

  /** Aborts downloads in progress. */
  async close(): Promise<void> {
    await Promise.all([this.#agent.destroy(), this.#plainAgent.destroy()]);
  }

  #read(outcome: Outcome, from: URL, what: What): { bytes: Uint8Array } | Failure {
    switch (outcome.kind) {
      case 'answered':
        return readAnswer(outcome.answer, from, what);
      case 'too-large': {
        const { maxBytes, received } = this.#options;
        const name = `the ${what} at ${shownAddress(from)}`;
        return what === 'clip' && received !== undefined
          ? { kind: 'clip-too-large', text: tooLargeText(name, outcome, received.maxBytes, 'download') }
          : { kind: 'result-too-large', text: tooLargeText(name, outcome, maxBytes, 'body') };
      }
      case 'broken':
        if (!(outcome.cause instanceof NoPublicAddress)) return failed(from, what, outcome.why);
        return refused(
          `the ${what} at ${shownAddress(from)} is refused: ${from.host} ${
            isPlain(from)
              ? 'leads to this machine or to a link-local address, which `output.hosts` has to name itself'
              : 'has no public address'
          }`,
        );
    }
  }

  async #follow(url: string, wanted: Wanted): Promise<{ outcome: Outcome; from: URL } | Failure> {
    const { what } = wanted;
    let target = readDownloadAddress(url, what, this.#options.hosts);
    for (let hops = 0; 'origin' in target; hops++) {
      const outcome = await this.#get(target, wanted);
      const next = redirectOf(outcome, target.href);
      if (next === undefined) return { outcome, from: target };
      if (isPlain(target) || /^http:/i.test(next))
        return refused(
          `the ${what} at ${shownAddress(target)} is refused: a redirect from or to plain http is not followed`,
        );
      if (hops === maxRedirects)
        return failed(target, what, `it is redirected more than ${maxRedirects} times`);
      target = readDownloadAddress(next, what, this.#options.hosts);
    }
    return target;
  }

  async #get(url: URL, { signal, room, range, sink }: Wanted): Promise<Outcome> {
    const proxy = proxyFor(url, this.#proxies);
    const refusal = proxy && (await this.#refusedName(url, signal));
    if (refusal !== undefined)
      return { kind: 'broken', wasSent: false, why: refusal.message, beginning: '', cause: refusal };
    const { origin, pathname, search } = url;
    const { maxBytes, requestTimeoutMs } = this.#options;
    const headers = sink === undefined ? pictureHeaders : { ...clipHeaders, ...range };
    const request = { origin, path: pathname + search, method: 'GET', headers } as const;
    const limits = {
      maxBodyBytes: maxBytes,
      wholeAnswerMs: requestTimeoutMs,
      share: room?.share,
      bodies: room?.pictures,
      sink,
    };
    return exchange(isPlain(url) ? this.#plainAgent : this.#agent, request, limits, signal, proxy);
  }

  /**
   * A proxy resolves names itself, so they are checked here first. Many networks with a proxy resolve no
   * names of the internet: `output.hosts` alone decides then. Each host is looked up once a minute at most,
   * because lookups share few threads with the disk.
   */
  async #refusedName(url: URL, signal: AbortSignal): Promise<NoPublicAddress | undefined> {
    const now = performance.now();
    let verdict = this.#verdicts.get(url.origin);
    if (verdict === undefined || verdict.until < now) {
      verdict = { until: now + verdictMs, refusal: this.#lookUp(url) };
      this.#verdicts.set(url.origin, verdict);
    }
    const { refusal } = verdict;
    const given = withTimeLimit(this.#options.requestTimeoutMs, signal, async (limited) => {
      limited.throwIfAborted();
      return Promise.race([refusal, once(limited, 'abort').then(() => undefined)]);
    });
    return given.catch(() => undefined);
  }

  async #lookUp(url: URL): Promise<NoPublicAddress | undefined> {
    try {
      await publicAddresses(url.hostname, isPlain(url) ? allowPrivate(this.#internet) : this.#internet);
    } catch (error) {
      if (error instanceof NoPublicAddress) return error;
    }
    return undefined;
  }
}

function allowPrivate(internet: Internet): Internet {
  return { ...internet, isPublic: isPrivateOrPublic };
}

type What = Wanted['what'];

/** Never shows the body of a refusal, because storage services repeat signatures in it. */
function readAnswer(
  { status, headers: heads, bytes }: (Outcome & { kind: 'answered' })['answer'],
  from: URL,
  what: What,
): { bytes: Uint8Array } | Failure {
  if (status >= 200 && status <= 299)
    return bytes.length > 0 ? { bytes } : failed(from, what, 'the data is empty');
  const retryAfterMs = readRetryAfter(heads);
  const isExpired = [400, 401, 403].includes(status) && expiredAddress.test(bytes.toString('latin1'));
  const answered = `${from.host} answered ${status}`;
  return {
    ...failed(from, what, status === 401 ? `${answered}: ${noKeySent}` : answered),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...((status === 404 || status === 410 || isExpired) && { isGone: true }),
  };
}

/** Words of S3, R2, Google and Azure for a signature whose time is over. */
const expiredAddress = /expired|specified time frame/i;

function failed(from: URL, what: What, why: string): Failure {
  return { kind: 'download-failed', text: `the ${what} at ${shownAddress(from)} was not downloaded: ${why}` };
}

/**
 * Returns the address as a URL, or why nothing is downloaded from it. `hosts` has host names in lower case:
 * `cdn.example`, `*.example` for all hosts below it, `cdn.example:8443` if the port is not 443. It may also
 * have http origins, such as `http://minio.lan:9000`.
 */
function readDownloadAddress(text: string, what: What, hosts: readonly string[]): URL | Failure {
  if (!URL.canParse(text)) return refused(`the address of the ${what} in the output is not a URL`);
  const url = new URL(text);
  const place = shownAddress(url);
  const isListedOrigin = isPlain(url) && hosts.includes(url.origin);
  if (url.protocol !== 'https:' && !isListedOrigin)
    return refused(
      `the ${what} at ${place} is not offered over https${isPlain(url) ? plainAdvice(url) : ''}`,
    );
  if (url.username !== '' || url.password !== '')
    return refused(`the address of the ${what} at ${place} holds a user name or a password`);
  if (isListedOrigin) return url;
  if (isIP(url.hostname.replaceAll(/[[\]]/g, '')) !== 0)
    return refused(`the ${what} at ${place} is at a bare IP address, not at a host with a name`);
  if (hosts.length === 0) return notAllowed(url, what);
  if (!hosts.some((entry) => isListed(url, entry)))
    return refused(`the ${what} at ${place} is at ${url.host}, which \`output.hosts\` does not list`);
  return url;
}

function isPlain({ protocol }: URL): boolean {
  return protocol === 'http:';
}

function plainAdvice({ origin }: URL): string {
  return `; if this server is yours, put "${origin}" into \`output.hosts\``;
}

/** Returns the address without its query, which may contain a signature, cut to one line. */
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

function notAllowed({ host }: URL, what: What): Failure {
  const text = `the output names ${what}s by address, at ${host}, and \`output.hosts\` is empty; put ${host} into it and start again within 30 minutes, while most services still have the results`;
  return { kind: 'urls-not-allowed', text };
}

function refused(text: string): Failure {
  return { kind: 'url-refused', text };
}
