/** From what a job's output holds to a whole PNG, or to the reason why it is none. */
import { createHash } from 'node:crypto';
import sharp, { type SharpOptions } from 'sharp';
import type { Failure } from '../core/failure.ts';
import type { CheckedPicture, FoundPicture } from '../core/picture.ts';
import { checkPng } from './check-png.ts';
import { decodeBase64 } from './decode-base64.ts';
import { recognise, type PictureFormat } from './recognise.ts';

/**
 * PNG bytes are kept as they came; JPEG and WebP become PNG, upright and with their colour profile. An animated WebP
 * is refused: to keep one frame of many would lose the rest without a word.
 */
export async function checkPicture(
  picture: FoundPicture,
  maxPixels: number,
): Promise<CheckedPicture | Failure> {
  if ('url' in picture) return badPicture(addressText(picture.url));
  const decoded = decodeBase64(picture.base64);
  if ('problem' in decoded) return badPicture(decoded.problem);
  const what = recognise(decoded.bytes);
  if ('instead' in what) return badPicture(`it is ${what.instead}`);
  const whole = await (what.format === 'PNG' ? wholePng : convertedToPng)(
    decoded.bytes,
    maxPixels,
    what.format,
  );
  if ('problem' in whole) return badPicture(whole.problem);
  return { ...whole, sha256: createHash('sha256').update(whole.png).digest('hex') };
}

function badPicture(problem: string): Failure {
  return { kind: 'bad-picture', text: `the picture cannot be used: ${problem}` };
}

function addressText(url: string): string {
  const shown = url.length > 120 ? `${url.slice(0, 120)}…` : url;
  return `the output names an address (${shown}) instead of a picture, and downloads are not configured`;
}

type Whole = { png: Buffer; width: number; height: number } | { problem: string };

async function wholePng(png: Buffer, maxPixels: number, format: PictureFormat): Promise<Whole> {
  const size = checkPng(png);
  if ('problem' in size) return size;
  const problem = tooLarge(size, maxPixels);
  if (problem !== undefined) return { problem };
  try {
    // One channel is enough to have every pixel decoded, at a third of the memory.
    const image = sharp(png, { ...strict(maxPixels), ignoreIcc: true })
      .extractChannel(0)
      .raw();
    const { info } = await image.toBuffer({ resolveWithObject: true });
    if (info.width !== size.width || info.height !== size.height)
      return { problem: 'its size is not what it says' };
    return { png, ...size };
  } catch (error) {
    return { problem: damage(format, error) };
  }
}

async function convertedToPng(bytes: Buffer, maxPixels: number, format: PictureFormat): Promise<Whole> {
  try {
    const { width, height, pages = 1, space } = await sharp(bytes, { limitInputPixels: false }).metadata();
    const problem = tooLarge({ width, height }, maxPixels);
    if (problem !== undefined) return { problem };
    if (pages > 1) return { problem: `it is an animation of ${pages} frames` };
    const upright = sharp(bytes, strict(maxPixels)).autoOrient();
    // A profile for inks says nothing of the red, green and blue that a PNG holds.
    const image = space === 'cmyk' ? upright : upright.keepIccProfile();
    const { data, info } = await image.png().toBuffer({ resolveWithObject: true });
    return { png: data, width: info.width, height: info.height };
  } catch (error) {
    return { problem: damage(format, error) };
  }
}

/** `warning` is the strictest: it alone notices much of the damage within a JPEG. */
function strict(maxPixels: number): SharpOptions {
  return { failOn: 'warning', limitInputPixels: maxPixels };
}

function tooLarge(size: { width: number; height: number }, maxPixels: number): string | undefined {
  if (size.width * size.height <= maxPixels) return undefined;
  return `it says it is ${size.width}×${size.height} pixels, more than the limit of ${maxPixels / 1e6} megapixels`;
}

function damage(format: PictureFormat, error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return `its ${format} data is cut or damaged (${words.split('\n', 1)[0] ?? ''})`;
}
