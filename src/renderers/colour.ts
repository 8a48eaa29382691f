/** Colours: their English names, and functions that mix them. */

/** Red, green and blue, each from 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number];

export const namedColours = {
  red: [205, 48, 44],
  orange: [238, 128, 42],
  yellow: [246, 202, 62],
  green: [72, 146, 76],
  blue: [48, 104, 192],
  purple: [124, 74, 164],
  pink: [240, 142, 172],
  brown: [130, 88, 58],
  black: [42, 42, 48],
  white: [246, 244, 238],
  grey: [140, 144, 150],
  turquoise: [54, 182, 186],
  gold: [222, 172, 66],
  silver: [192, 198, 206],
  cream: [244, 230, 200],
  crimson: [170, 28, 52],
  navy: [32, 50, 104],
  lavender: [160, 128, 216],
} as const satisfies Record<string, Colour>;

export type ColourName = keyof typeof namedColours;

/** Reads a colour such as `#ffc878`. */
export function rgb(hexadecimal: string): Colour {
  const value = Number.parseInt(hexadecimal.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** `share`: 0 returns `from`, 1 returns `to`. */
export function mix(from: Colour, to: Colour, share: number): Colour {
  const at = (a: number, b: number): number => a + (b - a) * share;
  return [at(from[0], to[0]), at(from[1], to[1]), at(from[2], to[2])];
}
