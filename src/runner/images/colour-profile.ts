/** Puts a colour profile into a PNG that was made of bare pixels. */
import { crc32, deflateSync } from 'node:zlib';
import { headerEnd } from './check-png.ts';

/** Left as it is where the profile is of other colours than red, green and blue, of which it would say nothing. */
export function withProfile(png: Buffer, profile: Buffer | undefined): Buffer {
  if (profile?.toString('latin1', 16, 20) !== 'RGB ') return png;
  // The name, its end and the method of compression come before the profile.
  const body = Buffer.concat([Buffer.from('iCCPicc\0\0', 'latin1'), deflateSync(profile)]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length - 4);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  // It has to stand before the pixels.
  return Buffer.concat([png.subarray(0, headerEnd), length, body, checksum, png.subarray(headerEnd)]);
}
