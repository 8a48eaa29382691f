/** Light → a picture's values: what is too bright drawn in, and steps of a smooth sky hidden. */

const steps = 0x4000;
let encoded: Float32Array | undefined;

/** The values of sRGB for light from 0 to 1; their last bits are left out. */
function encodedLight(): Float32Array {
  return Float32Array.from({ length: steps + 1 }, (_, step) => {
    const light = step / steps;
    const share = light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055;
    return Math.round(share * 254.05 * 256) / 256;
  });
}

/** Khronos' neutral tone mapping, in place: colours stay what they are. */
export function rollOff(light: Float64Array): void {
  const red = light[0] ?? 0;
  const green = light[1] ?? 0;
  const blue = light[2] ?? 0;
  const least = Math.min(red, green, blue);
  const offset = least < 0.08 ? least - 6.25 * least * least : 0.04;
  const peak = Math.max(red, green, blue) - offset;
  let by = 1;
  let white = 0;
  let drawn = peak;
  if (peak > 0.76) {
    drawn = 1 - 0.0576 / (peak - 0.52);
    by = drawn / peak;
    white = 1 - 1 / (0.15 * (peak - drawn) + 1);
  }
  light[0] = mixed((red - offset) * by, drawn, white);
  light[1] = mixed((green - offset) * by, drawn, white);
  light[2] = mixed((blue - offset) * by, drawn, white);
}

function mixed(own: number, other: number, share: number): number {
  return own + (other - own) * share;
}

/** Three bytes a pixel; the corners of a picture keep a little less of the light. */
export function writeLine(
  bytes: Uint8Array,
  y: number,
  line: Float64Array,
  width: number,
  height: number,
): void {
  encoded ??= encodedLight();
  const down = y / height - 0.5;
  for (let x = 0; x < width; x += 1) {
    const aside = x / width - 0.5;
    const away = aside * aside + down * down;
    const noise = 0.06711056 * x + 0.00583715 * y;
    const spread = 52.9829189 * (noise - Math.floor(noise));
    const grain = 0.1 + 0.8 * (spread - Math.floor(spread));
    for (let part = 0; part < 3; part += 1) {
      const light = (line[x * 3 + part] ?? 0) * (1 - 0.9 * away * away);
      const step = light <= 0 ? 0 : light >= 1 ? steps : Math.floor(light * steps + 0.5);
      bytes[(y * width + x) * 3 + part] = (encoded[step] ?? 0) + grain;
    }
  }
}
