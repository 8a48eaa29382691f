/** A bucket by the S3 protocol: puts, reads, lists and removes objects, and verifies what it put. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import pLimit from 'p-limit';
import type { BucketAddress } from './bucket-address.ts';
import { type BucketOptions, encoded, hexOf, S3Error, S3Requests } from './s3-requests.ts';

export type { BucketOptions } from './s3-requests.ts';

/** Properties of an object that a store reports without sending it. */
export interface ObjectFacts {
  bytes: number;
  /** True if the store's own checksum is that of these bytes (hex); undefined if it has none to compare. */
  isOf(sha256: string): boolean | undefined;
}

export interface ListedObject {
  key: string;
  bytes: number;
  /** Time by the clock of the store, epoch ms. */
  modifiedAt: number;
}

/** Prefix of the keys of probes. */
const probes = '.nightrender-probe-';
const maxProbeMs = 60 * 60_000;

/** Repeats each call while it fails for a temporary reason. After that, and for any other reason, throws `S3Error`. */
export class Bucket {
  readonly #address: BucketAddress;
  readonly #requests: S3Requests;
  readonly #partsLimit = pLimit(partsAtOnce);

  private constructor(address: BucketAddress, requests: S3Requests) {
    this.#address = address;
    this.#requests = requests;
  }

  /** Opens the bucket without sending anything. */
  static async open(address: BucketAddress, options: BucketOptions = {}): Promise<Bucket> {
    return new Bucket(address, await S3Requests.open(address, options));
  }

  /** Returns the address below which all keys are. */
  get name(): string {
    return `s3://${this.#address.bucket}/${this.#address.prefix}`;
  }

  /** Resolves when the store has all bytes and has compared them with their sha256. */
  async put(
    key: string,
    bytes: Uint8Array,
    {
      type,
      sha256 = hexOf(bytes),
      isFirst = false,
      isGarbled = false,
    }: {
      /** Media type, such as `image/png`. */
      type: string;
      /** Hex digest, if it is known. */
      sha256?: string;
      /** True if `sha256` belongs to other bytes, which the store has to detect. */
      isGarbled?: boolean;
      /** True to leave an existing object alone. Only some stores support this condition. */
      isFirst?: boolean;
    },
  ): Promise<void> {
    if (bytes.length > wholeBytes) {
      const partAt = async ({ from, to }: Part): Promise<Uint8Array> => bytes.subarray(from, to);
      const parts = partsOf(bytes.length);
      return this.#putParts(key, parts, partAt, { 'content-type': type, ...recorded(sha256, etagOf(bytes)) });
    }
    const headers = {
      'content-type': type,
      [checksumHeader]: Buffer.from(sha256, 'hex').toString('base64'),
      ...recorded(sha256, etagOf(bytes)),
      ...(isFirst && { 'if-none-match': '*' }),
    };
    await this.#requests.send({ method: 'PUT', key, headers, body: bytes, sha256, isGarbled });
  }

  /** Puts a file of any size, like `putParts`. */
  async putFile(key: string, path: string, type: string, sha256?: string): Promise<void> {
    const file = await open(path);
    try {
      const read = async (at: number, length: number): Promise<Uint8Array> => {
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
        return buffer.subarray(0, bytesRead);
      };
      await this.putParts(key, { length: (await file.stat()).size, read }, type, sha256);
    } finally {
      await file.close();
    }
  }

  /**
   * Puts content of any size, which is read twice: the checksums of all parts must be known before the first is sent.
   * Throws `S3Error` if the content changes meanwhile, or is not that of `sha256` (hex).
   */
  async putParts(key: string, content: PartSource, type: string, sha256?: string): Promise<void> {
    const partAt = async ({ from, to }: Part): Promise<Uint8Array> => {
      const bytes = await content.read(from, to - from);
      if (bytes.length < to - from) throw this.#changed(key);
      return bytes;
    };
    const parts = partsOf(content.length);
    const [first] = parts;
    if (parts.length < 2) {
      const bytes = first === undefined ? Buffer.alloc(0) : await this.#partsLimit(() => partAt(first));
      if (sha256 !== undefined && hexOf(bytes) !== sha256) throw this.#changed(key);
      return this.put(key, bytes, { type });
    }
    const whole = createHash('sha256');
    const sums: Buffer[] = [];
    for (const part of parts) {
      const bytes = await this.#partsLimit(() => partAt(part));
      whole.update(bytes);
      sums.push(md5Of(bytes));
    }
    const digest = whole.digest('hex');
    if (sha256 !== undefined && digest !== sha256) throw this.#changed(key);
    const sameAt = async (part: Part): Promise<Uint8Array> => {
      const bytes = await partAt(part);
      if (sums[parts.indexOf(part)]?.equals(md5Of(bytes)) !== true) throw this.#changed(key);
      return bytes;
    };
    const headers = { 'content-type': type, ...recorded(digest, etagOfParts(sums)) };
    await this.#putParts(key, parts, sameAt, headers);
  }

  #changed(key: string): S3Error {
    return new S3Error(`${this.name}${key}: the file changed before or while it was sent`);
  }

  /** Returns the content, or a part of it that may be shorter; undefined if there is no such object. */
  async get(key: string, part?: { at: number; length: number }): Promise<Buffer | undefined> {
    // A part `..` would lead out of the folder.
    if (key.split('/').some((name) => name === '.' || name === '..')) return undefined;
    if (part === undefined) return (await this.#requests.find({ method: 'GET', key }))?.body;
    const { at, length } = part;
    try {
      const headers = { range: `bytes=${at}-${at + length - 1}` };
      const answer = await this.#requests.find({ method: 'GET', key, headers });
      // A store may send the whole object.
      return answer?.status === 200 ? answer.body.subarray(at, at + length) : answer?.body;
    } catch (error) {
      if (error instanceof S3Error && error.code === 'InvalidRange') return Buffer.alloc(0);
      throw error;
    }
  }

  /** Returns undefined if there is no such object. */
  async facts(key: string): Promise<ObjectFacts | undefined> {
    const answer = await this.#requests.find({
      method: 'HEAD',
      key,
      headers: { 'x-amz-checksum-mode': 'ENABLED' },
    });
    if (answer === undefined) return undefined;
    const { headers } = answer;
    return { bytes: Number(headers['content-length'] ?? 0), isOf: (sha256) => isOf(headers, sha256) };
  }

  /** Yields objects sorted by key, in the state that the store has when each thousand is read. */
  async *list(folder: string): AsyncGenerator<ListedObject> {
    const prefix = this.#address.prefix + folder;
    let query: Record<string, string> = { 'list-type': '2', 'encoding-type': 'url', prefix };
    for (;;) {
      const { body } = await this.#requests.send({ method: 'GET', key: '', query });
      const text = body.toString();
      for (const [, object = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const key = decodeURIComponent(unescaped(tagOf(object, 'Key') ?? '').replaceAll('+', '%20'));
        yield {
          key: key.slice(this.#address.prefix.length),
          bytes: Number(tagOf(object, 'Size')),
          modifiedAt: Date.parse(tagOf(object, 'LastModified') ?? ''),
        };
      }
      if (tagOf(text, 'IsTruncated') !== 'true') return;
      const token = unescaped(tagOf(text, 'NextContinuationToken') ?? '');
      if (token === '' || token === query['continuation-token'])
        throw new S3Error(
          `${this.name}: the store's list of objects does not continue at the place that it names`,
        );
      query = { ...query, 'continuation-token': token };
    }
  }

  async remove(key: string): Promise<void> {
    await this.#requests.find({ method: 'DELETE', key });
  }

  /** Returns the URL of an object, for those who may read the bucket. */
  urlOf(key: string): string {
    return `${this.#address.url}/${encoded(this.#address.prefix + key)}`;
  }

  /** Returns a URL that shows the object to whoever has it, for this number of seconds. It is a credential. */
  signedUrl(key: string, seconds: number): Promise<string> {
    return this.#requests.signedUrl(key, seconds);
  }

  /** Limits all retries within `work` to the time of a single call. */
  within<T>(work: () => Promise<T>): Promise<T> {
    return this.#requests.within(work);
  }

  /** Throws if the store accepts other bytes than announced, or does not report the checksum of an object. */
  async probe(): Promise<void> {
    const key = `${probes}${randomUUID()}`;
    const [bytes, others] = [randomBytes(100), randomBytes(100)];
    const type = 'application/octet-stream';
    try {
      await this.put(key, bytes, { type });
      const facts = await this.facts(key);
      const isKnown = facts?.bytes === bytes.length && facts.isOf(hexOf(bytes)) === true;
      if (!isKnown || (await this.get(key))?.equals(bytes) !== true)
        throw this.#unreliable('keeps no checksums');
      const isAccepted = await this.put(key, bytes, { type, sha256: hexOf(others), isGarbled: true }).then(
        () => true,
        (error: unknown) => {
          if (error instanceof S3Error && error.isRefusal) return false;
          throw error;
        },
      );
      if (isAccepted) throw this.#unreliable('does not compare checksums');
      await this.#removeProbesBefore(key);
    } catch (error) {
      // A store that cannot be reached is not waited for again. A later probe removes this one.
      if (!(error instanceof S3Error && error.isPassing)) await this.remove(key).catch(() => undefined);
      throw error;
    }
    await this.remove(key).catch(() => undefined);
  }

  /** Removes probes of programs that crashed. Younger ones may still be in use. */
  async #removeProbesBefore(own: string): Promise<void> {
    const found: ListedObject[] = [];
    for await (const object of this.list(probes)) found.push(object);
    const now = found.find(({ key }) => key === own)?.modifiedAt ?? NaN;
    for (const { key, modifiedAt } of found) if (now - modifiedAt > maxProbeMs) await this.remove(key);
  }

  #unreliable(what: string): S3Error {
    return new S3Error(
      `${this.name}: this store ${what}, so a picture that arrives damaged would go unnoticed; use another store`,
    );
  }

  async close(): Promise<void> {
    await this.#requests.close();
  }

  async #putParts(
    key: string,
    parts: Part[],
    partAt: (part: Part) => Promise<Uint8Array>,
    headers: Record<string, string>,
  ): Promise<void> {
    const begun = await this.#requests.send({ method: 'POST', key, query: { uploads: '' }, headers });
    const uploadId = unescaped(tagOf(begun.body.toString(), 'UploadId') ?? '');
    try {
      const tags: string[] = [];
      for (const [i, part] of parts.entries()) {
        const query = { partNumber: String(i + 1), uploadId };
        const { headers: sent } = await this.#partsLimit(async () => {
          const body = await partAt(part);
          return this.#requests.send({ method: 'PUT', key, query, body, sha256: hexOf(body) });
        });
        tags.push(`<Part><PartNumber>${i + 1}</PartNumber><ETag>${String(sent['etag'])}</ETag></Part>`);
      }
      const list = Buffer.from(`<CompleteMultipartUpload>${tags.join('')}</CompleteMultipartUpload>`);
      const sha256 = hexOf(list);
      await this.#requests.send({ method: 'POST', key, query: { uploadId }, body: list, sha256 });
    } catch (error) {
      // The answer to the last request may have been lost.
      const isGone = error instanceof S3Error && error.code === 'NoSuchUpload';
      if (isGone && (await this.facts(key))?.bytes === parts.at(-1)?.to) return;
      // Parts of an unfinished upload are billed forever.
      const query = { uploadId };
      await this.#requests.send({ method: 'DELETE', key, query, isOnce: true }).catch(() => undefined);
      throw error;
    }
  }
}

/** Returns headers to store with the object, for stores that keep no sha256: the ETag they must compute. */
export function recorded(sha256: string, etag: string): Record<string, string> {
  return { 'x-amz-meta-sha256': sha256, 'x-amz-meta-etag': etag };
}

const checksumHeader = 'x-amz-checksum-sha256';

/** Returns true if an object with these headers has this sha256 (hex); undefined if the store does not say. */
export function isOf(
  headers: Record<string, string | string[] | undefined>,
  sha256: string,
): boolean | undefined {
  const own = String(headers[checksumHeader] ?? '');
  // A value with a number at its end is a checksum of checksums of parts.
  if (/^[\w+/]{43}=$/.test(own)) return own === Buffer.from(sha256, 'hex').toString('base64');
  const known = headers['x-amz-meta-sha256'];
  const etag = String(headers['etag'] ?? '').replaceAll('"', '');
  if (known === undefined || headers['x-amz-meta-etag'] === undefined) return undefined;
  if (known !== sha256) return false;
  // Stores that encrypt with their own keys have ETags that do not depend on the content.
  return etag === headers['x-amz-meta-etag'] ? true : undefined;
}

/** Content that is read in parts, because it may be too large for memory. */
interface PartSource {
  /** Size in bytes. */
  length: number;
  read(at: number, length: number): Promise<Uint8Array>;
}

/** Size up to which bytes in memory are sent whole. */
export const wholeBytes = 64 * 1024 * 1024;

/** Size of the parts in which larger objects are sent. */
export const partBytes = 8 * 1024 * 1024;

/** Maximum number of parts in memory. */
const partsAtOnce = 4;

/** Returns the ETag that stores compute for an object that was sent whole or in such parts. */
export function etagOf(bytes: Uint8Array): string {
  if (bytes.length <= wholeBytes) return md5Of(bytes).toString('hex');
  return etagOfParts(partsOf(bytes.length).map(({ from, to }) => md5Of(bytes.subarray(from, to))));
}

function etagOfParts(sums: Buffer[]): string {
  return `${md5Of(Buffer.concat(sums)).toString('hex')}-${sums.length}`;
}

export function md5Of(bytes: Uint8Array): Buffer {
  return createHash('md5').update(bytes).digest();
}

interface Part {
  from: number;
  /** End of the part, exclusive. */
  to: number;
}

function partsOf(bytes: number): Part[] {
  return Array.from({ length: Math.ceil(bytes / partBytes) }, (_, i) => ({
    from: i * partBytes,
    to: Math.min(bytes, (i + 1) * partBytes),
  }));
}

function tagOf(xml: string, tag: string): string | undefined {
  return new RegExp(`<${tag}>(.*?)</${tag}>`, 's').exec(xml)?.[1];
}

function unescaped(text: string): string {
  const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return text.replaceAll(/&(\w+);/g, (whole, name: string) => entities[name] ?? whole);
}
