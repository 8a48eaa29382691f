/** What every format is decoded by, and the words for what is wrong with it. */
import type { Sharp, SharpOptions } from 'sharp';
import type { PictureFormat } from '../core/picture-format.ts';
import { thumbnailOf, type Picture } from '../core/picture.ts';
import type { Unusable } from './decode-base64.ts';

export interface Demands {
  maxPixels: number;
  /** Pixels that the shorter side has at least. */
  minSide: number;
  /** Whether a picture that shows nothing fails. */
  isBlankRefused: boolean;
  /** Whether a thumbnail is made on the way, of pictures that need one. */
  isThumbnailWanted: boolean;
  /** Whether JPEG, WebP and AVIF are kept as they came. */
  isOriginalKept: boolean;
}

/** A picture that was decoded, upright. `blank`: why it counts as blank; found out only if blank pictures are refused. */
export type WholePicture = Pick<Picture, 'width' | 'height'> & {
  content: Buffer;
  format: PictureFormat;
  blank: string | undefined;
  thumbnail?: Buffer | undefined;
  /** Whether what came was signed and this is no more. */
  isSignatureLost?: boolean;
};

/** The same memory. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** `warning` is the strictest: it alone notices much of the damage within a JPEG. */
export function strict(maxPixels: number): SharpOptions {
  return { failOn: 'warning', limitInputPixels: maxPixels };
}

/** One channel is enough to have every pixel decoded, at a third of the memory; what is blank shows in all of them. */
export function pixelsOf(image: Sharp, isBlankRefused: boolean) {
  return (isBlankRefused ? image : image.extractChannel(0)).raw().toBuffer({ resolveWithObject: true });
}

export function needsThumbnail({
  content,
  width,
  height,
}: Pick<WholePicture, 'content' | 'width' | 'height'>): boolean {
  return thumbnailOf({ width, height, bytes: content.length, sha256: '' }) !== undefined;
}

export function tooLarge(size: { width: number; height: number }, maxPixels: number): Unusable | undefined {
  if (size.width * size.height <= maxPixels) return undefined;
  const problem = `it declares ${size.width}×${size.height} pixels, more than the limit of ${maxPixels / 1e6} megapixels: raise \`limits.pixels\`, or render smaller pictures`;
  return { problem, kind: 'too-many-pixels' };
}

export function damage(format: PictureFormat, error: unknown): Unusable {
  const message = error instanceof Error ? error.message : String(error);
  return { problem: `its ${format} data is cut or damaged (${message.split('\n', 1)[0] ?? ''})` };
}
