/** Sends signed requests to a bucket, and repeats them while they fail for a temporary reason. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AwsV4Signer } from 'aws4fetch';
import pLimit from 'p-limit';
import { Agent, request } from 'undici';
import { formatDuration } from '../text/format.ts';
import type { BucketAddress } from './address.ts';
import { hexOf } from './checksums.ts';
import { failureOf, S3Error } from './s3-error.ts';

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
  readonly #agent = new Agent({ connections: requestsAtOnce, headersTimeout: 0, bodyTimeout: 0 });
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
      return failureOf(error);
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
