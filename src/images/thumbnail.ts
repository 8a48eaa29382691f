/** Thumbnails: small enough that a page of hundreds shows at once, large enough to choose from. */
import type { Sharp } from 'sharp';
import { thumbnailSide } from '../core/thumbnail.ts';

/** The least effort that costs less than decoding a picture of 512 × 512; more makes files of this size hardly smaller. */
const webp = { quality: 75, effort: 2 };

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
    return await toThumbnail(image());
  } catch {
    return undefined;
  }
}
