/** Signed requests to a bucket, repeated while they fail for a reason that passes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AwsV4Signer } from 'aws4fetch';
import pLimit from 'p-limit';
import { Agent, request } from 'undici';
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
  /** Called where requests begin to fail, with the reason, once until one succeeds again. */
  onTrouble?: (text: string) => void;
}

/** Connections, and so requests at the same moment. */
const requestsAtOnce = 64;

const patienceMs = 60_000;
const longestWaitMs = 20_000;
const fewestAtOnce = 2;

/** A second of a line that is not given up yet. */
const slowestBytes = 64 * 1024;

/** Of what has arrived damaged. */
const garbledTries = 4;
const timeoutMs = 60_000;

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
  readonly #agent = new Agent({ connections: requestsAtOnce, bodyTimeout: timeoutMs });
  readonly #limit = pLimit(requestsAtOnce);
  readonly #signingKeys = new Map<string, ArrayBuffer>();
  #isTroubled = false;
  #successes = 0;

  private constructor(address: BucketAddress, options: BucketOptions, signer: Signer) {
    this.#address = address;
    this.#options = options;
    this.#signer = signer;
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

  async send(call: Call): Promise<Answer> {
    const { signal, patienceMs: patience = patienceMs } = this.#options;
    const since = performance.now();
    for (let tries = 1; ; tries++) {
      const answer = await this.#limit(() => this.#try(call));
      this.#adapt(answer);
      if (!(answer instanceof S3Error)) {
        this.#isTroubled = false;
        return answer;
      }
      const text = `${this.#name()}: ${answer.message}`;
      const isOver = performance.now() - since > patience || signal?.aborted === true;
      const isRepeated = answer.isPassing || (answer.isGarbled && tries < garbledTries);
      if (!isRepeated || isOver || call.isOnce === true) throw new S3Error(text, answer);
      if (tries === 3) this.#warn(text);
      const waitMs = Math.min(longestWaitMs, 100 * 2 ** tries) * (0.5 + Math.random() / 2);
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
    if (this.#successes % now === 0) this.#limit.concurrency = now + 1;
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
    // The time for the answer runs while the body is on its way.
    const headersTimeout = timeoutMs + ((body?.length ?? 0) / slowestBytes) * 1_000;
    const common = { headers: Object.fromEntries(headers), dispatcher: this.#agent };
    const { abandoned } = this.#options;
    const options = { method, body, headersTimeout, ...common, ...(abandoned && { signal: abandoned }) };
    try {
      const { statusCode: status, headers: answered, body: text } = await request(url, options);
      const answer = { status, headers: answered, body: Buffer.from(await text.arrayBuffer()) };
      return failureOf(answer, method) ?? answer;
    } catch (error) {
      return failureOf(error);
    }
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
