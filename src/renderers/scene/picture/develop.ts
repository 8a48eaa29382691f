/** Light as it was measured → a picture's values: exposure, highlights rolled off, gentle corners; pure. */

/** Sums of passes, four numbers a pixel, become three bytes a pixel. */
export function develop(light: Float32Array, width: number, height: number, passes: number): Buffer {
  const bytes = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = (y * width + x) * 4;
      const shine = corners(x / width - 0.5, y / height - 0.5) / passes;
      const [red, green, blue] = rolledOff(
        (light[at] ?? 0) * shine,
        (light[at + 1] ?? 0) * shine,
        (light[at + 2] ?? 0) * shine,
      );
      const to = (y * width + x) * 3;
      const grain = dither(x, y);
      bytes[to] = encoded(red, grain);
      bytes[to + 1] = encoded(green, grain);
      bytes[to + 2] = encoded(blue, grain);
    }
  }
  return bytes;
}

function corners(x: number, y: number): number {
  const away = x * x + y * y;
  return 1 - 0.3 * away * away * 4;
}

/** Khronos' neutral tone mapping: colours stay what they are, only what is too bright is drawn in. */
function rolledOff(red: number, green: number, blue: number): [number, number, number] {
  const start = 0.8 - 0.04;
  const least = Math.min(red, green, blue);
  const offset = least < 0.08 ? least - 6.25 * least * least : 0.04;
  const [r, g, b] = [red - offset, green - offset, blue - offset];
  const peak = Math.max(r, g, b);
  if (peak < start) return [r, g, b];
  const room = 1 - start;
  const drawn = 1 - (room * room) / (peak + room - start);
  const share = drawn / peak;
  const white = 1 - 1 / (0.15 * (peak - drawn) + 1);
  const to = (value: number): number => value * share + (drawn - value * share) * white;
  return [to(r), to(g), to(b)];
}

function encoded(light: number, grain: number): number {
  const share = light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055;
  return Math.max(0, Math.min(255, Math.floor(share * 255 + grain)));
}

/** Steps in a smooth sky would be seen: rounded up here and down there. */
function dither(x: number, y: number): number {
  const value = Math.sin(x * 12.9898 + y * 78.233) * 43758.5453;
  return 0.25 + 0.5 * (value - Math.floor(value));
}
