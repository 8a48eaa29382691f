/** A valid PNG of a wanted size, of noise that takes about as many bytes a pixel as a render does. */
import sharp from 'sharp';
import { seededRandom } from './random.ts';

const channels = 3;
/** Noise of four bits a channel takes half of its raw bytes, as a render of 1024² takes 1.5 MB. */
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
