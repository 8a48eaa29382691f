/** Thumbnails: small enough that a page of hundreds shows at once, large enough to choose from. */
import pLimit from 'p-limit';
import sharp, { type Sharp } from 'sharp';
import { thumbnailSide } from '../core/thumbnail.ts';

/** The least effort that costs less than decoding a picture of 512 × 512; more makes files of this size hardly smaller. */
const webp = { quality: 75, effort: 2 };

/** No picture is decoded twice, and what the library keeps for that is memory of every run. */
sharp.cache(false);

/** One by itself is decoded on all processors; several at once would hold a large picture's pixels each. */
const limitMaking = pLimit(1);

/** As WebP: upright, in sRGB, without metadata. Every pixel of the picture is decoded; what is wrong with it is thrown. */
export function toThumbnail(image: Sharp): Promise<Buffer> {
  return image
    .autoOrient()
    .resize(thumbnailSide, thumbnailSide, { fit: 'inside', withoutEnlargement: true })
    .webp(webp)
    .toBuffer();
}

/** Undefined where none can be made. */
export async function triedThumbnail(image: () => Sharp): Promise<Buffer | undefined> {
  try {
    return await limitMaking(() => toThumbnail(image()));
  } catch {
    return undefined;
  }
}
