/** Checksums of objects: those sent to a store and those it returns, as sha256 or as the ETag of MD5s of parts. */
import { createHash } from 'node:crypto';

/** Size of the parts in which larger objects are sent. */
export const partBytes = 64 * 1024 * 1024;

export const checksumHeader = 'x-amz-checksum-sha256';

export interface Part {
  from: number;
  /** End of the part, exclusive. */
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

/** Returns the ETag that stores compute for an object that was sent whole or in such parts. */
export function etagOf(bytes: Uint8Array): string {
  if (bytes.length <= partBytes) return md5Of(bytes).toString('hex');
  const parts = partsOf(bytes.length).map(({ from, to }) => md5Of(bytes.subarray(from, to)));
  return `${md5Of(Buffer.concat(parts)).toString('hex')}-${parts.length}`;
}

/**
 * Returns headers that are stored with the object, for stores that keep no sha256: the ETag that the store
 * must have computed.
 */
export function recorded(sha256: string, etag: string): Record<string, string> {
  return { 'x-amz-meta-sha256': sha256, 'x-amz-meta-etag': etag };
}

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
