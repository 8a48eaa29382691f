/** Whether a picture is signed with Content Credentials (C2PA specification 2.1, appendix A): any change breaks the signature. */
import { recognise } from './decode-base64.ts';
import { chunksOf } from './png-chunks.ts';

/** `picture` is whole. */
export function isSigned(picture: Buffer): boolean {
  const what = recognise(picture);
  if ('problem' in what) return false;
  switch (what.format) {
    case 'PNG':
      return Array.from(chunksOf(picture)).some(({ type }) => type === 'caBX');
    case 'JPEG':
      return isJpegSigned(picture);
    case 'WebP':
      return riffChunks(picture).includes('C2PA');
    case 'AVIF':
      return hasBox(picture, credentials);
  }
}

/** Its type is `uuid`, and this. */
const credentials = Buffer.from('75756964d8fec3d61b0e483c92975828877ec481', 'hex');

/** In a segment APP11, as a JUMBF box that says what it is. */
function isJpegSigned(jpeg: Buffer): boolean {
  for (let at = 2; at + 4 <= jpeg.length && jpeg[at] === 0xff;) {
    const marker = jpeg[at + 1] ?? 0;
    // What follows are pixels.
    if (marker === 0xda) return false;
    const length = jpeg.readUInt16BE(at + 2);
    const data = jpeg.subarray(at + 4, at + 2 + length);
    if (marker === 0xeb && data.toString('latin1', 0, 2) === 'JP' && data.includes('c2pa')) return true;
    at += 2 + Math.max(2, length);
  }
  return false;
}

function riffChunks(webp: Buffer): string[] {
  const types: string[] = [];
  for (let at = 12; at + 8 <= webp.length;) {
    types.push(webp.toString('latin1', at, at + 4));
    const length = webp.readUInt32LE(at + 4);
    at += 8 + length + (length % 2);
  }
  return types;
}

/** Among the outermost. */
function hasBox(file: Buffer, type: Buffer): boolean {
  for (let at = 0; at + 8 <= file.length;) {
    if (file.subarray(at + 4, at + 4 + type.length).equals(type)) return true;
    const size = file.readUInt32BE(at);
    // Of a longer one, and of the last.
    if (size < 8) return false;
    at += size;
  }
  return false;
}
