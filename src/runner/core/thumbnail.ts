/** Which pictures have a thumbnail in the report, and what its file is called. */
import type { SavedPicture } from './picture.ts';

/** Pixels of a thumbnail's longer side, at most. */
export const thumbnailSide = 320;

/** A picture within `thumbnailSide` that has no more bytes is quick to show as it is. */
const fewBytes = 32_000;

/**
 * The thumbnail's path from the report's folder, `/` between folders; undefined where the picture is small enough to be
 * shown itself. Named after the content: no rename of the picture touches it, and pictures of the same bytes share it.
 */
export function thumbnailOf(
  picture: Pick<SavedPicture, 'width' | 'height' | 'bytes' | 'sha256'>,
): string | undefined {
  const { width, height, bytes, sha256 } = picture;
  if (Math.max(width, height) <= thumbnailSide && bytes <= fewBytes) return undefined;
  return `thumbnails/${sha256.slice(0, 2)}/${sha256.slice(0, 32)}.webp`;
}
