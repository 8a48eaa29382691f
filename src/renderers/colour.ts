/** Colours: their names in English, and mixing them. */

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

export function rgb(hexadecimal: string): Colour {
  const value = Number.parseInt(hexadecimal.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

export function colourOf(colour: Colour | string): Colour {
  return typeof colour === 'string' ? rgb(colour) : colour;
}

/** Several, with a space between them. */
export function rgbs(hexadecimals: string): [Colour, ...Colour[]] {
  const [first = '', ...rest] = hexadecimals.split(' ');
  return [rgb(first), ...rest.map(rgb)];
}

export function hex(colour: Colour): string {
  const pairs = colour.map((part) =>
    Math.round(clamp(part, 0, 255))
      .toString(16)
      .padStart(2, '0'),
  );
  return `#${pairs.join('')}`;
}

/** `share` 0 is all `from`, 1 is all `to`. */
export function mix(from: Colour, to: Colour, share: number): Colour {
  const at = (a: number, b: number): number => a + (b - a) * share;
  return [at(from[0], to[0]), at(from[1], to[1]), at(from[2], to[2])];
}

/** The colour as it looks under a light: white light leaves it as it is. */
export function under(light: Colour, colour: Colour): Colour {
  return [(colour[0] * light[0]) / 255, (colour[1] * light[1]) / 255, (colour[2] * light[2]) / 255];
}

/** Towards white for a positive amount, towards a bluish black for a negative one; the amount is from -1 to 1. */
export function shade(colour: Colour, amount: number): Colour {
  return amount >= 0 ? mix(colour, [255, 252, 244], amount) : mix(colour, [14, 16, 36], -amount);
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
