/** Sends signed requests to a bucket, repeats those that fail temporarily, and explains errors. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AwsV4Signer } from 'aws4fetch';
import pLimit from 'p-limit';
import { type Agent, request } from 'undici';
import { proxiedAgent, refusalOfProxy } from '../net/proxied-agent.ts';
import { noProxies, proxyFor, type ProxyRules, shownProxy } from '../net/addresses.ts';
import { formatDuration } from '../text/format.ts';
import type { BucketAddress } from './bucket-address.ts';

export interface BucketOptions {
  /** Ends the waits between tries; the request then fails. */
  signal?: AbortSignal;
  /** Ends requests that are on their way. */
  abandoned?: AbortSignal;
  /** How long a request is repeated that fails for a temporary reason; one minute by default. */
  patienceMs?: number;
  /** How long a try waits for an answer and for its end; half a minute by default. */
  answerMs?: number;
  /** Upper bound of the first wait before a retry, whose lower bound is half of it; 0.2 s by default. */
  firstWaitMs?: number;
  /** Called with the reason when requests begin to fail, and not again until one succeeds. */
  onTrouble?: (text: string) => void;
  proxies?: ProxyRules;
}

/** Maximum number of connections, and so of concurrent requests. */
const requestsAtOnce = 64;

const patienceMs = 60_000;
const maxWaitMs = 20_000;
const firstWaitMs = 200;
const minAtOnce = 2;

/** Minimum bytes per second. A body of this size extends the time for an answer by one second. */
const minBytesPerSecond = 64 * 1024;
const answerMs = 30_000;

/** Maximum tries of a request that arrived damaged. */
const garbledTries = 4;

type Signer = typeof AwsV4Signer;

interface Call {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Empty for the bucket itself. */
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** Hex digest of the body, which the store compares with what it receives. */
  sha256?: string;
  /** True if the request is never repeated. */
  isOnce?: boolean;
  /** True if the body differs from its digest on purpose, so that a refusal is the expected answer. */
  isGarbled?: boolean;
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Throws `S3Error`. */
export class S3Requests {
  readonly #address: BucketAddress;
  readonly #options: BucketOptions;
  readonly #signer: Signer;
  // Each try has its own time limit, which a store cannot extend by sending a byte now and then.
  readonly #agent: Agent;
  readonly #limit = pLimit(requestsAtOnce);
  readonly #signingKeys = new Map<string, ArrayBuffer>();
  readonly #underWay = new Set<AbortController>();
  #isTroubled = false;
  #successes = 0;
  #until = Infinity;

  private constructor(address: BucketAddress, options: BucketOptions, signer: Signer) {
    this.#address = address;
    this.#options = options;
    this.#signer = signer;
    const times = { headersTimeout: 0, bodyTimeout: 0 };
    this.#agent = proxiedAgent(options.proxies ?? noProxies, { connections: requestsAtOnce, ...times });
    options.abandoned?.addEventListener('abort', () => this.#underWay.forEach((given) => given.abort()));
  }

  static async open(address: BucketAddress, options: BucketOptions): Promise<S3Requests> {
    return new S3Requests(address, options, await loadSigner());
  }

  /** Sends a request. Returns undefined if there is no such object. A missing bucket is an error. */
  async find(call: Call): Promise<Answer | undefined> {
    try {
      return await this.send(call);
    } catch (error) {
      if (error instanceof S3Error && error.isMissing) return undefined;
      throw error;
    }
  }

  /** Limits all retries within `work` to the time of a single request. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    this.#until = performance.now() + (this.#options.patienceMs ?? patienceMs);
    try {
      return await work();
    } finally {
      this.#until = Infinity;
    }
  }

  async send(call: Call): Promise<Answer> {
    const { signal, patienceMs: patience = patienceMs, firstWaitMs: firstWait = firstWaitMs } = this.#options;
    const since = performance.now();
    for (let tries = 1; ; tries++) {
      const answer = await this.#limit(() => this.#try(call));
      this.#adapt(answer);
      if (!(answer instanceof S3Error)) {
        this.#isTroubled = false;
        return answer;
      }
      const text = `${this.#name()}: ${answer.message}`;
      const now = performance.now();
      const isOver = now - since > patience || now > this.#until || signal?.aborted === true;
      const isSentAgain = answer.isGarbled && tries < garbledTries && call.isGarbled !== true;
      const isRepeated = answer.isPassing || isSentAgain;
      if (!isRepeated || isOver || call.isOnce === true) throw new S3Error(text, answer);
      // Nobody should wait half a minute three times without a warning.
      if (tries === 3 || answer.code === silent) this.#warn(text);
      const waitMs = Math.min(maxWaitMs, firstWait * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
      await sleep(waitMs, undefined, signal && { signal }).catch(() => undefined);
    }
  }

  async signedUrl(key: string, seconds: number): Promise<string> {
    const query = { 'X-Amz-Expires': String(seconds) };
    return (await this.#signed({ method: 'GET', key, query }, true)).url.href;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  /** Halves the concurrency if the store or the line is overloaded, and then increases it slowly. */
  #adapt(answer: Answer | S3Error): void {
    const now = this.#limit.concurrency;
    if (answer instanceof S3Error && answer.isOverload)
      this.#limit.concurrency = Math.max(minAtOnce, Math.floor(now / 2));
    if (answer instanceof S3Error || now === requestsAtOnce) return;
    this.#successes += 1;
    if (this.#successes < now) return;
    this.#successes = 0;
    this.#limit.concurrency = now + 1;
  }

  #warn(text: string): void {
    if (!this.#isTroubled) this.#options.onTrouble?.(text);
    this.#isTroubled = true;
  }

  #name(): string {
    return `s3://${this.#address.bucket}/${this.#address.prefix}`;
  }

  async #try(call: Call): Promise<Answer | S3Error> {
    const { url, headers } = await this.#signed(call);
    const { method, body = null } = call;
    const given = new AbortController();
    if (this.#options.abandoned?.aborted === true) given.abort();
    this.#underWay.add(given);
    // The time for the answer also covers sending the body.
    let timer = this.#giveUpLater(given, body?.length ?? 0);
    try {
      const options = { method, body, headers: Object.fromEntries(headers), signal: given.signal };
      const came = await request(url, { ...options, dispatcher: this.#agent });
      clearTimeout(timer);
      timer = this.#giveUpLater(given, Number(came.headers['content-length'] ?? 0));
      const whole = Buffer.from(await came.body.arrayBuffer());
      const answer = { status: came.statusCode, headers: came.headers, body: whole };
      return failureOf(answer, method) ?? answer;
    } catch (error) {
      const failure = failureOf(error);
      const proxy = proxyFor(url, this.#options.proxies ?? noProxies);
      if (proxy === undefined) return failure;
      return new S3Error(`${failure.message}, through the proxy ${shownProxy(proxy)}`, failure);
    } finally {
      clearTimeout(timer);
      this.#underWay.delete(given);
    }
  }

  #giveUpLater(given: AbortController, bytes: number): NodeJS.Timeout {
    const ms = (this.#options.answerMs ?? answerMs) + (bytes / minBytesPerSecond) * 1_000;
    const text = `it takes connections and has not answered within ${formatDuration(ms)}`;
    const late = new S3Error(text, { code: silent, isPassing: true, isOverload: true });
    return setTimeout(() => given.abort(late), ms);
  }

  #signed({ method, key, query = {}, headers = {}, sha256 = emptySha256 }: Call, isInQuery = false) {
    const { url: base, prefix, region, accessKeyId, secretAccessKey, sessionToken } = this.#address;
    const url = new URL(key === '' ? `${base}/` : `${base}/${encoded(prefix + key)}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return new this.#signer({
      method,
      url: url.href,
      headers: isInQuery ? {} : { ...headers, 'x-amz-content-sha256': sha256 },
      service: 's3',
      region,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      cache: this.#signingKeys,
      signQuery: isInQuery,
    }).sign();
  }
}

const silent = 'ETIMEDOUT';
const emptySha256 = hexOf(Buffer.alloc(0));

async function loadSigner(): Promise<Signer> {
  try {
    return (await import('aws4fetch')).AwsV4Signer;
  } catch {
    throw new S3Error(
      'pictures in a bucket need the package aws4fetch; install it: npm install aws4fetch@1.0.20',
    );
  }
}

/** Returns a key as part of a URL; `/` stays. */
export function encoded(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}

/** Explains why a request failed: temporarily (`isPassing`), or for a reason that a person has to fix. */
export class S3Error extends Error {
  /** Error code of the store or the system; empty if there is none. */
  readonly code: string;
  readonly isMissing: boolean;
  readonly isPassing: boolean;
  /** True if the store or the line is overloaded. */
  readonly isOverload: boolean;
  /** True if the store received different bytes than were sent. */
  readonly isGarbled: boolean;
  /** True if the store rejects the request (400). */
  readonly isRefusal: boolean;

  constructor(text: string, facts: Partial<Omit<S3Error, 'message'>> = {}) {
    super(text);
    this.isRefusal = facts.isRefusal ?? false;
    this.code = facts.code ?? '';
    this.isMissing = facts.isMissing ?? false;
    this.isPassing = facts.isPassing ?? false;
    this.isOverload = facts.isOverload ?? false;
    this.isGarbled = facts.isGarbled ?? false;
  }
}

interface Answered {
  status: number;
  body: Buffer;
}

/** Returns undefined if the request succeeded. A thrown error means that the connection failed. */
export function failureOf(answer: Answered, method: string): S3Error | undefined;
export function failureOf(thrown: unknown): S3Error;
export function failureOf(seen: unknown, method?: string): S3Error | undefined {
  if (method === undefined) return connectionFailure(seen);
  const { status, body } = seen as Answered;
  // Some stores find out that they fail after they have sent status 200.
  const isSuccess = status >= 200 && status < 300;
  if (isSuccess && (method === 'GET' || !/<Error>/.test(body.toString('latin1', 0, 500)))) return undefined;
  const code = /<Code>([\w.]+)<\/Code>/.exec(body.toString())?.[1] ?? '';
  // A 404 without a code may come from a load balancer, except for HEAD, whose answers have no code.
  const isMissing = code === 'NoSuchKey' || (status === 404 && code === '' && method === 'HEAD');
  const isForeign = status === 404 && code === '' && method !== 'HEAD';
  const isLater =
    isForeign ||
    (isSuccess && code === 'InternalError') ||
    // A retry cannot add a feature that the store lacks.
    (status >= 500 && status !== 501) ||
    status === 429 ||
    status === 408 ||
    laterCodes.has(code);
  const words =
    meanings[code] ??
    (status === 403 && code === ''
      ? 'access is denied'
      : isLater
        ? 'it cannot answer now'
        : 'it refuses the request');
  return new S3Error(`${words} (${[status, code].filter(Boolean).join(' ')})`, {
    code,
    isMissing,
    isPassing: isLater,
    isOverload: status === 503 || status === 429 || code === 'SlowDown',
    isGarbled: garbledCodes.has(code),
    isRefusal: status === 400,
  });
}

/** Temporary errors with a status that otherwise means a permanent one. */
const laterCodes = new Set(['RequestTimeout', 'OperationAborted', 'SlowDown', 'RequestTimeTooSkewed']);

const garbledCodes = new Set(['BadDigest', 'IncompleteBody', 'XAmzContentSHA256Mismatch']);

const meanings: Record<string, string> = {
  AccessDenied: 'access is denied; see what these credentials may do in this bucket',
  BadDigest: 'the store received different bytes than were sent',
  ExpiredToken: 'the session token has expired; get a new one',
  InvalidAccessKeyId: 'the access key (AWS_ACCESS_KEY_ID) is not known there',
  InvalidToken: 'the session token (AWS_SESSION_TOKEN) is not valid there',
  NoSuchBucket: 'there is no such bucket',
  NoSuchKey: 'there is no such object',
  PermanentRedirect: 'the bucket is in another region; set AWS_REGION',
  AuthorizationHeaderMalformed: 'the bucket is in another region; set AWS_REGION',
  QuotaExceeded: 'its quota is used up',
  RequestTimeTooSkewed: "this machine's clock is wrong",
  SignatureDoesNotMatch: 'the secret key (AWS_SECRET_ACCESS_KEY) is wrong',
  SlowDown: 'it asks for fewer requests',
  XAmzContentSHA256Mismatch: 'the store received different bytes than were sent',
};

function connectionFailure(thrown: unknown): S3Error {
  if (thrown instanceof S3Error) return thrown;
  const refusal = refusalOfProxy(thrown);
  if (refusal !== undefined) {
    const isOverload = refusal.status === 503 || refusal.status === 429;
    return new S3Error(refusal.text, { isPassing: refusal.status >= 500 || isOverload, isOverload });
  }
  if (thrown instanceof TypeError || thrown instanceof RangeError) throw thrown;
  const { code = (thrown as Error).name } = thrown as NodeJS.ErrnoException;
  if ((thrown as Error).name === 'AbortError')
    return new S3Error('the request was given up because the run is ending');
  // A retry cannot fix a certificate.
  const isForGood = /CERT|SSL|TLS|ERR_INVALID|LEAF_SIGNATURE|EPROTO/.test(code);
  const isOverload = code.includes('TIMEOUT');
  return new S3Error(`no connection (${code})`, { code, isPassing: !isForGood, isOverload });
}

export function hexOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
