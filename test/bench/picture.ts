/** Makes a valid PNG of a given size, with noise that takes about as many bytes a pixel as a rendered picture. */
import sharp from 'sharp';
import { seededRandom } from './random.ts';

const channels = 3;
/**
 * Noise with four bits a channel compresses to half of its raw size, like a rendered picture of 1024² pixels, which
 * takes 1.5 MB.
 */
const noiseMask = 0x0f;
const bytesPerPixel = channels / 2;

export function makePicture(bytes: number, seed: number): Promise<Buffer> {
  const side = Math.max(1, Math.round(Math.sqrt(bytes / bytesPerPixel)));
  const random = seededRandom(seed);
  const raw = Buffer.alloc(side * side * channels);
  for (let i = 0; i < raw.length; i++) raw[i] = (random() * 256) & noiseMask;
  return sharp(raw, { raw: { width: side, height: side, channels } })
    .png()
    .toBuffer();
}
