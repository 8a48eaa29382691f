/** Makes copies of pictures in other formats and sizes. */
import sharp from 'sharp';
import { copyEnding, type PictureCopy } from '../core/picture-copy.ts';
import type { SidecarMaker } from './sidecars.ts';
import { coloured } from './check-picture.ts';
import { checkPng } from './check-png.ts';

/** JPEG knows no transparency: what shows through is paper. */
const paper = '#ffffff';

/**
 * In sRGB, without metadata. One that cannot be made (a format has its own largest size) fails no picture: `onLacking` is
 * told why.
 */
export function copyMaker(copy: PictureCopy, onLacking: (ending: string, why: string) => void): SidecarMaker {
  const ending = copyEnding(copy);
  return {
    ending,
    make: async ({ png, width, height }) => {
      try {
        return await copyOf(Buffer.from(png.buffer, png.byteOffset, png.byteLength), width * height, copy);
      } catch (error) {
        onLacking(ending, error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error));
        return undefined;
      }
    },
  };
}

async function copyOf(png: Buffer, limitInputPixels: number, copy: PictureCopy): Promise<Buffer> {
  const checked = checkPng(png);
  if ('problem' in checked) throw new Error(checked.problem);
  const { format, quality, size } = copy;
  const image = sharp(coloured(checked), { limitInputPixels }).autoOrient();
  const sized =
    size === undefined ? image : image.resize(size, size, { fit: 'inside', withoutEnlargement: true });
  if (format === 'jpeg') return sized.flatten({ background: paper }).jpeg({ quality }).toBuffer();
  return (format === 'webp' ? sized.webp({ quality }) : sized.avif({ quality })).toBuffer();
}
