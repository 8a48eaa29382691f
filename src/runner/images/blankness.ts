/** Whether a picture shows anything. */

/** Why a picture counts as blank, or undefined where it does not. 8 bits a channel, alpha last. */
export function blankness(pixels: Uint8Array, channels: number): string | undefined {
  const isWithAlpha = channels % 2 === 0;
  if (isWithAlpha && isWithin(pixels, channels - 1, channels, 0)) return 'it is fully transparent';
  for (let channel = 0; channel < channels; channel += 1) {
    if (!isEven(pixels, channel, channels)) return undefined;
  }
  return `it has only one colour (${colourOf(pixels, channels)})`;
}

/**
 * Values of a channel this close are one colour. Lossless formats and JPEG keep one colour exactly; lossy WebP spreads
 * greys by up to 4 of 255 from quality 50 on, and any colour by up to 7 from quality 80 on. To the eye it is one colour.
 */
const tolerance = 8;

/** Ends at the first pixel that stands out, which in a picture of something comes soon. */
function isEven(pixels: Uint8Array, channel: number, channels: number): boolean {
  let least = 255;
  let most = 0;
  for (let at = channel; at < pixels.length; at += channels) {
    const value = pixels[at] ?? 0;
    if (value < least) least = value;
    if (value > most) most = value;
    if (most - least > tolerance) return false;
  }
  return true;
}

function isWithin(pixels: Uint8Array, channel: number, channels: number, least: number): boolean {
  for (let at = channel; at < pixels.length; at += channels) {
    if ((pixels[at] ?? 0) > least + tolerance) return false;
  }
  return true;
}

function colourOf(pixels: Uint8Array, channels: number): string {
  const [first = 0, second = 0, third = 0] = pixels;
  const rgb = channels < 3 ? [first, first, first] : [first, second, third];
  return `#${rgb.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}
