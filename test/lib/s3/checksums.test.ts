/** Promise: an object counts as unchanged only by the checksum that the store itself computed. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { etagOf, md5Of, partBytes, wholeBytes, isOf, recorded } from '../../../src/lib/s3/bucket.ts';
import { rest } from '../../fakes/tier.ts';

const bytes = Buffer.from('a picture');
const of = (algorithm: string): Buffer => createHash(algorithm).update(bytes).digest();
const [sha256, md5] = [of('sha256').toString('hex'), of('md5').toString('hex')];
const other = '00'.repeat(32);
const own = of('sha256').toString('base64');

it.each<[string, Record<string, string>, string, boolean | undefined]>([
  ['its sha256', { 'x-amz-checksum-sha256': own }, sha256, true],
  ['its sha256', { 'x-amz-checksum-sha256': own }, other, false],
  ['its sha256, whatever was noted', { 'x-amz-checksum-sha256': own, ...recorded(other, md5) }, other, false],
  ['no checksum', {}, sha256, undefined],
  ['an ETag alone', { etag: `"${md5}"` }, sha256, undefined],
  ['what was noted, and no ETag', recorded(sha256, md5), sha256, undefined],
  ['what was noted of the sha256 alone', { 'x-amz-meta-sha256': sha256, etag: md5 }, sha256, undefined],
  ['the ETag that was noted', { etag: `"${md5}"`, ...recorded(sha256, md5) }, sha256, true],
  ['the ETag that was noted', { etag: `"${md5}"`, ...recorded(sha256, md5) }, other, false],
  ['an ETag of its own making', { etag: '"abc"', ...recorded(sha256, md5) }, sha256, undefined],
  [
    'a checksum of checksums',
    { 'x-amz-checksum-sha256': `${own}-2`, etag: `"${md5}"`, ...recorded(sha256, md5) },
    sha256,
    true,
  ],
])('an object counts as unchanged by %s', (_, headers, wanted, answer) => {
  expect(isOf(headers, wanted)).toBe(answer);
});

rest.it('an object has the ETag of stores: of the MD5s of its parts if it comes in several', () => {
  expect(etagOf(bytes)).toBe(md5);
  const large = Buffer.alloc(wholeBytes + 1);
  const starts = Array.from({ length: wholeBytes / partBytes + 1 }, (_, i) => i * partBytes);
  const parts = starts.map((at) => md5Of(large.subarray(at, at + partBytes)));
  expect(etagOf(large)).toBe(`${md5Of(Buffer.concat(parts)).toString('hex')}-9`);
  expect(etagOf(large.subarray(1))).toBe(md5Of(large.subarray(1)).toString('hex'));
});
