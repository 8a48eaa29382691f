/** A store that speaks as much S3 as a bucket asks of it, with its objects in memory, and as unreliable as a test wants it. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { bucketAddress } from '../../src/lib/s3/bucket-address.ts';
import { Bucket, type BucketOptions } from '../../src/lib/s3/bucket.ts';

export interface StoreTraits {
  comparesChecksums?: boolean;
  keepsChecksums?: boolean;
  /** So many objects are in a part of its lists. */
  listsAtOnce?: number;
  /** Whether a list that goes on begins anew. */
  repeatsLists?: boolean;
  /** Whether a request is answered as if it had not been, though it was done. */
  losesAnswer?: (method: string, path: string) => boolean;
  /** Whether it leaves what is there where it is told so; otherwise it overlooks that. */
  knowsConditions?: boolean;
  /** What becomes of a request instead of an answer, by its number from 1 on; undefined where it is answered. */
  trouble?: (number: number, method: string, path: string) => Trouble | undefined;
}

/** 503; the connection stays open without a byte, or with one now and then, and no end; what came is called damaged; or nothing is done until `release`. */
type Trouble = 'busy' | 'silent' | 'dripping' | 'garbled' | 'held';

interface StoredObject {
  bytes: Buffer;
  headers: Record<string, string>;
  modifiedAt: number;
}

export class MemoryStore {
  /** By path: the bucket's name, and the key. */
  readonly objects = new Map<string, StoredObject>();
  /** Uploads in parts that have not come to their end: their parts by number. */
  readonly uploads = new Map<string, Map<number, Buffer>>();
  /** Methods and paths with their queries, in their order. */
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

  /** For who uses it. */
  get env(): Record<string, string> {
    return { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_ENDPOINT_URL: this.#url };
  }

  /** That it has received. */
  get requests(): number {
    return this.#requests;
  }

  /** Requests that wait for `release`. */
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

  /** Also where there is none. */
  #delete(path: string, response: ServerResponse): void {
    this.objects.delete(path);
    response.writeHead(204).end();
  }

  /** As far as it goes: an upload is begun, gets its parts, and ends as an object or as nothing. */
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
