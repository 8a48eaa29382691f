/** What a store is told of an object, and what it says of it afterwards: sha256, or the ETag of the MD5s of its parts. */
import { createHash } from 'node:crypto';

/** From this size on, an object is sent in parts of it. */
export const partBytes = 64 * 1024 * 1024;

export const checksumHeader = 'x-amz-checksum-sha256';

export interface Part {
  from: number;
  /** The first byte behind it. */
  to: number;
}

export function partsOf(bytes: number): Part[] {
  return Array.from({ length: Math.ceil(bytes / partBytes) }, (_, i) => ({
    from: i * partBytes,
    to: Math.min(bytes, (i + 1) * partBytes),
  }));
}

export function hexOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function md5Of(bytes: Uint8Array): Buffer {
  return createHash('md5').update(bytes).digest();
}

/** As stores make it of an object that came in such parts, or whole. */
export function etagOf(bytes: Uint8Array): string {
  if (bytes.length <= partBytes) return md5Of(bytes).toString('hex');
  const parts = partsOf(bytes.length).map(({ from, to }) => md5Of(bytes.subarray(from, to)));
  return `${md5Of(Buffer.concat(parts)).toString('hex')}-${parts.length}`;
}

/** Goes with the object, for stores that keep no sha256: what their own checksum, the ETag, has to be. */
export function recorded(sha256: string, etag: string): Record<string, string> {
  return { 'x-amz-meta-sha256': sha256, 'x-amz-meta-etag': etag };
}

/** By the headers of an object, whether it is of this sha256 (hex); undefined where the store does not say. */
export function isOf(
  headers: Record<string, string | string[] | undefined>,
  sha256: string,
): boolean | undefined {
  const own = String(headers[checksumHeader] ?? '');
  // One with a number at its end is of checksums of parts.
  if (/^[\w+/]{43}=$/.test(own)) return own === Buffer.from(sha256, 'hex').toString('base64');
  const known = headers['x-amz-meta-sha256'];
  const etag = String(headers['etag'] ?? '').replaceAll('"', '');
  if (known === undefined || headers['x-amz-meta-etag'] === undefined) return undefined;
  if (known !== sha256) return false;
  // Stores that encrypt with keys of their own have ETags that say nothing of the content.
  return etag === headers['x-amz-meta-etag'] ? true : undefined;
}
