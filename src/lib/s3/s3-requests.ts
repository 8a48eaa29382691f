/** Signed requests to a bucket, repeated while they fail for a reason that passes. */
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
  /** How long a request that fails for a passing reason is repeated; a minute where left out. */
  patienceMs?: number;
  /** After so long without an answer, or without its end, a try is given up; half a minute where left out. */
  answerMs?: number;
  /** The first wait before a request is repeated is between this time and half of it; 0.2 s if left out. */
  firstWaitMs?: number;
  /** Called where requests begin to fail, with the reason, once until one succeeds again. */
  onTrouble?: (text: string) => void;
}

/** Connections, and so requests at the same moment. */
const requestsAtOnce = 64;

const patienceMs = 60_000;
const longestWaitMs = 20_000;
const firstWaitMs = 200;
const fewestAtOnce = 2;

/** A second of a line that is not given up yet: bytes on their way get time beyond that for an answer. */
const slowestBytes = 64 * 1024;
const answerMs = 30_000;

/** Of what has arrived damaged. */
const garbledTries = 4;

type Signer = typeof AwsV4Signer;

interface Call {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Empty for the bucket itself. */
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** Of the body, hex; the store compares it with what comes. */
  sha256?: string;
  /** It is sent once, whatever comes. */
  isOnce?: boolean;
  /** It is sent as something else than announced: that this is refused is an answer. */
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
  // Each try has a clock of its own, which a store that sends a byte now and then cannot wind up again.
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

  /** As below; undefined where there is no such object, though a bucket that is missing is an error. */
  async find(call: Call): Promise<Answer | undefined> {
    try {
      return await this.send(call);
    } catch (error) {
      if (error instanceof S3Error && error.isMissing) return undefined;
      throw error;
    }
  }

  /** All that is sent within `work` has the patience of one request. */
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
      // Nobody waits half a minute three times without a word.
      if (tries === 3 || answer.code === silent) this.#warn(text);
      const waitMs = Math.min(longestWaitMs, firstWait * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
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

  /** Half as many at once where the store or the line is overloaded, and slowly more again. */
  #adapt(answer: Answer | S3Error): void {
    const now = this.#limit.concurrency;
    if (answer instanceof S3Error && answer.isOverload)
      this.#limit.concurrency = Math.max(fewestAtOnce, Math.floor(now / 2));
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
    // The time for the answer runs while the body is on its way.
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
    const ms = (this.#options.answerMs ?? answerMs) + (bytes / slowestBytes) * 1_000;
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

/** A key as a part of an address; `/` stays. */
export function encoded(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}
