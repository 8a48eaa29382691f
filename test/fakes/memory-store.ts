/** A store that speaks as much S3 as a bucket asks of it, with its objects in memory, and as unreliable as a test wants it. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { bucketAddress } from '../../src/lib/s3/address.ts';
import { Bucket, type BucketOptions } from '../../src/lib/s3/bucket.ts';

export interface StoreTraits {
  comparesChecksums?: boolean;
  keepsChecksums?: boolean;
  /** Whether it leaves what is there where it is told so; otherwise it overlooks that. */
  knowsConditions?: boolean;
  /** What becomes of a request instead of an answer, by its number from 1 on; undefined where it is answered. */
  trouble?: (number: number, method: string, path: string) => Trouble | undefined;
}

/** 503; the connection stays open without a byte; or with one now and then, and no end. */
type Trouble = 'busy' | 'silent' | 'dripping';

interface StoredObject {
  bytes: Buffer;
  headers: Record<string, string>;
  modifiedAt: number;
}

export class MemoryStore {
  /** By path: the bucket's name, and the key. */
  readonly objects = new Map<string, StoredObject>();
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
        const trouble = store.#traits.trouble(store.#requests, method, url);
        if (trouble !== undefined) return troubled(trouble, response);
        store.#answer(method, new URL(url, 'http://store'), headers, Buffer.concat(body), response);
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
    this.#traits = { ...reliable, trouble: () => undefined, ...traits };
  }

  /** For who uses it. */
  get env(): Record<string, string> {
    return { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_ENDPOINT_URL: this.#url };
  }

  /** That it has received. */
  get requests(): number {
    return this.#requests;
  }

  async open(url: string, options: BucketOptions = {}): Promise<Bucket> {
    const bucket = await Bucket.open(bucketAddress(url, this.env), options);
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
    if (method === 'PUT') this.#put(path, headers, body, response);
    else if (method === 'DELETE') response.writeHead(this.objects.delete(path) ? 204 : 404).end();
    else if (url.searchParams.has('list-type'))
      response.end(this.#list(path + (url.searchParams.get('prefix') ?? '')));
    else if (found === undefined)
      response.writeHead(404).end(method === 'HEAD' ? undefined : '<Code>NoSuchKey</Code>');
    else
      response
        .writeHead(200, { ...found.headers, 'content-length': found.bytes.length })
        .end(method === 'HEAD' ? undefined : found.bytes);
  }

  #put(path: string, headers: IncomingHttpHeaders, bytes: Buffer, response: ServerResponse): void {
    const { comparesChecksums, keepsChecksums, knowsConditions } = this.#traits;
    const isRight = headers['x-amz-checksum-sha256'] === createHash('sha256').update(bytes).digest('base64');
    if (comparesChecksums && !isRight)
      return void response.writeHead(400).end('<Error><Code>BadDigest</Code></Error>');
    if (knowsConditions && headers['if-none-match'] === '*' && this.objects.has(path))
      return void response.writeHead(412).end('<Error><Code>PreconditionFailed</Code></Error>');
    const kept = Object.entries(headers).filter(([name]) => /^x-amz-(meta|checksum)/.test(name));
    const own = keepsChecksums ? (Object.fromEntries(kept) as Record<string, string>) : {};
    this.objects.set(path, { bytes, headers: own, modifiedAt: Date.now() });
    response.end();
  }

  #list(prefix: string): string {
    const [bucket = ''] = prefix.split('/');
    const listed = [...this.objects].filter(([path]) => path.startsWith(prefix));
    const contents = listed.map(
      ([path, { bytes, modifiedAt }]) =>
        `<Contents><Key>${encodeURIComponent(path.slice(bucket.length + 1))}</Key><Size>${bytes.length}</Size><LastModified>${new Date(modifiedAt).toISOString()}</LastModified></Contents>`,
    );
    return `<ListBucketResult>${contents.join('')}</ListBucketResult>`;
  }
}

function troubled(trouble: Trouble, response: ServerResponse): void {
  if (trouble === 'busy') return void response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>');
  if (trouble === 'silent') return;
  response.writeHead(200);
  const drip = setInterval(() => response.write(' '), 5);
  response.once('close', () => clearInterval(drip));
}
