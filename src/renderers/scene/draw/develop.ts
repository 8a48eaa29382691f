/** Light → a picture's values, from 0 to 255: what is too bright is drawn in. */

const steps = 0x1000;
let encoded: Float32Array | undefined;

/** The values of sRGB for light from 0 to 1; their last bits are left out. */
function encodedLight(): Float32Array {
  return Float32Array.from({ length: steps + 2 }, (_, step) => {
    const light = Math.min(1, step / steps);
    const share = light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055;
    return Math.round(share * 255 * 256) / 256;
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
  const own = by * (1 - white);
  const more = drawn * white;
  light[0] = (red - offset) * own + more;
  light[1] = (green - offset) * own + more;
  light[2] = (blue - offset) * own + more;
}

/** Three values from a place on. */
export function encode(light: Float64Array, values: Float32Array, at: number): void {
  encoded ??= encodedLight();
  for (let part = 0; part < 3; part += 1) {
    const place = Math.max(0, Math.min(1, light[part] ?? 0)) * steps;
    const step = Math.floor(place);
    const value = encoded[step] ?? 0;
    values[at + part] = value + ((encoded[step + 1] ?? 0) - value) * (place - step);
  }
}
