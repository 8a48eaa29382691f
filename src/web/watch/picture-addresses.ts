/** Where pictures are to be had; relative to the page, wherever a proxy has put it. */
import type { LivePicture } from '../../runner/core/live-batch.ts';

/** With its content's digest, so that a browser keeps it until it is another. */
export function imageAddress({ file, digest }: LivePicture): string {
  return `images/${file.split('/').map(encodeURIComponent).join('/')}?v=${digest}`;
}

/** With the picture that comes in its place where there is no thumbnail. */
export function thumbnailAddress(thumbnail: string, { file }: LivePicture): string {
  return `${thumbnail}?of=${encodeURIComponent(file)}`;
}
