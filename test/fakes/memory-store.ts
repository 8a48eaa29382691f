/** A store in memory that speaks the part of S3 that `Bucket` uses. A test decides how unreliable it is. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { bucketAddress } from '../../src/lib/s3/bucket-address.ts';
import { Bucket, type BucketOptions } from '../../src/lib/s3/bucket.ts';

export interface StoreTraits {
  comparesChecksums?: boolean;
  keepsChecksums?: boolean;
  /** Maximum number of objects in one page of a list. Default: 1,000. */
  listsAtOnce?: number;
  /** True if the next page of a list begins from the start again. */
  repeatsLists?: boolean;
  /** Returns true if a request is carried out but answered with 503. */
  losesAnswer?: (method: string, path: string) => boolean;
  /** True if the store obeys `If-None-Match: *`. Otherwise it ignores the header. */
  knowsConditions?: boolean;
  /**
   * Returns the trouble that replaces the answer to a request, by its number from 1. Undefined for a regular answer.
   */
  trouble?: (number: number, method: string, path: string) => Trouble | undefined;
}

/**
 * `busy`: 503. `silent`: no byte comes and the connection stays open. `dripping`: bytes come now and then without an
 * end. `garbled`: the store calls the body damaged. `held`: nothing is done until `release`.
 */
type Trouble = 'busy' | 'silent' | 'dripping' | 'garbled' | 'held';

interface StoredObject {
  bytes: Buffer;
  headers: Record<string, string>;
  modifiedAt: number;
}

export class MemoryStore {
  /** Objects by path: name of the bucket and key. */
  readonly objects = new Map<string, StoredObject>();
  /** Multipart uploads in progress by id, each with its parts by number. */
  readonly uploads = new Map<string, Map<number, Buffer>>();
  /** Methods and paths with queries, in order. */
  readonly log: string[] = [];
  readonly #held: (() => void)[] = [];
  readonly #metadata = new Map<string, Record<string, string>>();
  readonly #traits: Required<StoreTraits>;
  #url = '';
  #requests = 0;

  static async start(traits: StoreTraits = {}): Promise<MemoryStore> {
    const store = new MemoryStore(traits);
    const server = createServer((request, response) => {
      const body: Buffer[] = [];
      request.on('data', (chunk: Buffer) => body.push(chunk));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        store.#requests += 1;
        store.log.push(`${method} ${decodeURIComponent(url)}`);
        const answer = (to = response): void =>
          store.#answer(method, new URL(url, 'http://store'), headers, Buffer.concat(body), to);
        const trouble = store.#traits.trouble(store.#requests, method, url);
        if (trouble === 'held') store.#held.push(answer);
        else if (store.#traits.losesAnswer(method, url)) {
          answer(new ServerResponse(request));
          troubled('busy', response);
        } else if (trouble === undefined) answer();
        else troubled(trouble, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    store.#url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return store;
  }

  private constructor(traits: StoreTraits) {
    const reliable = { comparesChecksums: true, keepsChecksums: true, knowsConditions: true };
    this.#traits = {
      ...reliable,
      listsAtOnce: 1_000,
      repeatsLists: false,
      losesAnswer: () => false,
      trouble: () => undefined,
      ...traits,
    };
  }

  /** Environment variables with which a client uses this store. */
  get env(): Record<string, string> {
    return { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_ENDPOINT_URL: this.#url };
  }

  /** Number of received requests. */
  get requests(): number {
    return this.#requests;
  }

  /** Number of requests that wait for `release`. */
  get held(): number {
    return this.#held.length;
  }

  release(): void {
    for (const answer of this.#held.splice(0)) answer();
  }

  async open(url: string, options: BucketOptions = {}): Promise<Bucket> {
    const bucket = await Bucket.open(bucketAddress(url, this.env), { firstWaitMs: 5, ...options });
    onTestFinished(() => bucket.close());
    return bucket;
  }

  put(path: string, text: string, modifiedAt: number): void {
    this.objects.set(path, { bytes: Buffer.from(text), headers: {}, modifiedAt });
  }

  #answer(
    method: string,
    url: URL,
    headers: IncomingHttpHeaders,
    body: Buffer,
    response: ServerResponse,
  ): void {
    const path = decodeURIComponent(url.pathname).slice(1);
    const found = this.objects.get(path);
    const query = url.searchParams;
    if (query.has('uploads') || query.has('uploadId'))
      this.#answerOfUpload(method, path, query, headers, body, response);
    else if (method === 'PUT') this.#put(path, headers, body, response);
    else if (method === 'DELETE') this.#delete(path, response);
    else if (query.has('list-type'))
      response.end(this.#list(path + (query.get('prefix') ?? ''), query.get('continuation-token') ?? ''));
    else if (found === undefined)
      response.writeHead(404).end(method === 'HEAD' ? undefined : '<Code>NoSuchKey</Code>');
    else if (headers.range !== undefined) sendPart(found.bytes, headers.range, response);
    else
      response
        .writeHead(200, {
          ...found.headers,
          etag: found.headers['etag'] ?? `"${md5Of(found.bytes)}"`,
          'content-length': found.bytes.length,
        })
        .end(method === 'HEAD' ? undefined : found.bytes);
  }

  #put(path: string, headers: IncomingHttpHeaders, bytes: Buffer, response: ServerResponse): void {
    const { comparesChecksums, keepsChecksums, knowsConditions } = this.#traits;
    const isRight = headers['x-amz-checksum-sha256'] === createHash('sha256').update(bytes).digest('base64');
    if (comparesChecksums && !isRight)
      return void response.writeHead(400).end('<Error><Code>BadDigest</Code></Error>');
    if (knowsConditions && headers['if-none-match'] === '*' && this.objects.has(path))
      return void response.writeHead(412).end('<Error><Code>PreconditionFailed</Code></Error>');
    const own = keepsChecksums ? keptOf(headers, /^x-amz-(meta|checksum)/) : {};
    this.objects.set(path, { bytes, headers: own, modifiedAt: Date.now() });
    response.end();
  }

  /** Deletes an object. Like S3, also answers 204 if there is none. */
  #delete(path: string, response: ServerResponse): void {
    this.objects.delete(path);
    response.writeHead(204).end();
  }

  /** Begins a multipart upload, takes a part, completes the upload or aborts it. */
  #answerOfUpload(
    method: string,
    path: string,
    query: URLSearchParams,
    headers: IncomingHttpHeaders,
    body: Buffer,
    response: ServerResponse,
  ): void {
    const id = query.get('uploadId') ?? `a&b-${this.#requests}`;
    const parts = this.uploads.get(id);
    if (query.has('uploads')) {
      this.uploads.set(id, new Map());
      this.#metadata.set(id, keptOf(headers, /^x-amz-meta/));
      return void response.end(`<UploadId>${id.replace('&', '&amp;')}</UploadId>`);
    }
    if (parts === undefined)
      return void response.writeHead(404).end('<Error><Code>NoSuchUpload</Code></Error>');
    if (method === 'PUT') {
      parts.set(Number(query.get('partNumber')), body);
      return void response.writeHead(200, { etag: `"${md5Of(body)}"` }).end();
    }
    this.uploads.delete(id);
    if (method === 'DELETE') return void response.writeHead(204).end();
    const listed = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"(\w+)"<\/ETag>/g)];
    const sent = listed.map(([, number, tag]) => ({ bytes: parts.get(Number(number)) ?? Buffer.of(), tag }));
    if (sent.length !== parts.size || sent.some(({ bytes, tag }) => md5Of(bytes) !== tag))
      return void response.writeHead(400).end('<Error><Code>InvalidPart</Code></Error>');
    const etag = `"${md5Of(Buffer.concat(sent.map(({ bytes }) => Buffer.from(md5Of(bytes), 'hex'))))}-${sent.length}"`;
    const whole = { bytes: Buffer.concat(sent.map(({ bytes }) => bytes)), modifiedAt: Date.now() };
    this.objects.set(path, { ...whole, headers: { ...this.#metadata.get(id), etag } });
    response.end();
  }

  #list(prefix: string, after: string): string {
    const [bucket = ''] = prefix.split('/');
    const all = [...this.objects]
      .filter(([path]) => path.startsWith(prefix) && (path > after || this.#traits.repeatsLists))
      .toSorted(([one], [other]) => (one < other ? -1 : 1));
    const listed = all.slice(0, this.#traits.listsAtOnce);
    const last = all.length > listed.length ? (listed.at(-1)?.[0] ?? '') : undefined;
    const more =
      last === undefined
        ? ''
        : `<IsTruncated>true</IsTruncated><NextContinuationToken>${last.replaceAll('&', '&amp;')}</NextContinuationToken>`;
    const contents = listed.map(
      ([path, { bytes, modifiedAt }]) =>
        `<Contents><Key>${encodeURIComponent(path.slice(bucket.length + 1))}</Key><Size>${bytes.length}</Size><LastModified>${new Date(modifiedAt).toISOString()}</LastModified></Contents>`,
    );
    return `<ListBucketResult>${contents.join('')}${more}</ListBucketResult>`;
  }
}

function keptOf(headers: IncomingHttpHeaders, names: RegExp): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => names.test(name));
  return Object.fromEntries(kept) as Record<string, string>;
}

function sendPart(bytes: Buffer, range: string, response: ServerResponse): void {
  const [, from = '', to = ''] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? [];
  if (Number(from) >= bytes.length)
    return void response.writeHead(416).end('<Error><Code>InvalidRange</Code></Error>');
  response.writeHead(206).end(bytes.subarray(Number(from), Number(to) + 1));
}

function md5Of(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('hex');
}

function troubled(trouble: Trouble, response: ServerResponse): void {
  if (trouble === 'busy') return void response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>');
  if (trouble === 'garbled') return void response.writeHead(400).end('<Error><Code>BadDigest</Code></Error>');
  if (trouble === 'silent') return;
  response.writeHead(200);
  const drip = setInterval(() => response.write(' '), 5);
  response.once('close', () => clearInterval(drip));
}
