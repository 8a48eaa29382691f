/** How one thing is to look: its own colours, seen in the picture's light; and the fills that things share. */
import { hex, mix, namedColours, rgb, shade, type Colour } from '../../colour.ts';
import { circle, ellipse, type Drawing } from '../drawing.ts';
import { type Random } from '../../random.ts';
import type { Season } from '../../language/other-words.ts';
import type { Mention } from '../mentions.ts';

export interface Look {
  drawing: Drawing;
  /** Of this one thing alone. */
  random: Random;
  /** A colour as the light and the distance let it be seen. */
  seen: (colour: Colour) => Colour;
  /** The colour that was asked for, and a second one. */
  main: Colour | undefined;
  trim: Colour | undefined;
  /** Which side the light comes from, as this thing is drawn. */
  side: -1 | 1;
  isLamplit: boolean;
  season: Season | 'winter' | null;
}

/** Draws a thing that stands on 0, 0 and rises to negative y, at the size it has near by. */
export type DrawThing = (look: Look) => string;

/** One colour, seen. */
export function flat(look: Look, colour: Colour): string {
  return hex(look.seen(colour));
}

/** A round or upright body: bright on the side of the light, dark on the other. */
export function round(look: Look, colour: Colour, depth = 0.34): string {
  const bright = look.seen(shade(colour, depth * 0.6));
  const dark = look.seen(shade(colour, -depth));
  return look.drawing.across(look.side, [0, dark], [0.65, bright], [1, bright]);
}

/** Brighter above, darker below. */
export function tall(look: Look, colour: Colour, depth = 0.25): string {
  return look.drawing.linear(
    [0, look.seen(shade(colour, depth * 0.7))],
    [1, look.seen(shade(colour, -depth))],
  );
}

/** A ball with its bright spot towards the light. */
export function ball(look: Look, colour: Colour): string {
  return look.drawing.radialAround(
    [0.5 + look.side * 0.14, 0.36],
    [0, look.seen(shade(colour, 0.6))],
    [0.35, look.seen(shade(colour, 0.15))],
    [0.75, look.seen(shade(colour, -0.15))],
    [1, look.seen(shade(colour, -0.5))],
  );
}

/** The bright spot on a glazed ball. */
export function gleam(look: Look, x: number, y: number, radius: number): string {
  const spot = look.drawing.radial([0, [255, 255, 255], 0.75], [1, [255, 255, 255], 0]);
  return ellipse([x + look.side * radius * 0.36, y - radius * 0.42], radius * 0.34, radius * 0.24, spot);
}

/** The fill of a window: warm light at night, sky by day. */
export function pane(look: Look): string {
  return look.isLamplit ? '#ffd98c' : hex(look.seen(rgb('#5c7f9e')));
}

/** Warm light around a lit window or lamp. */
export function lamplight(look: Look, x: number, y: number, radius: number): string {
  return look.isLamplit ? look.drawing.glow([x, y], radius, radius, rgb('#ffb95e'), 0.5) : '';
}

/** Where several things share one mention, they take its colours in turn. */
export function coloursOf(
  mention: Mention,
  index: number,
): { main: Colour | undefined; trim: Colour | undefined } {
  const { colours, count, trim: parts } = mention;
  const first = count > 1 && colours.length > 1 ? colours[index % colours.length] : colours[0];
  const second = parts[0] ?? (count > 1 && colours.length > 1 ? undefined : colours[1]);
  return {
    main: first === undefined ? undefined : namedColours[first],
    trim: second === undefined ? undefined : namedColours[second],
  };
}

export function smoke(look: Look, x: number, y: number): string {
  const colour = look.seen(rgb('#e8e6e4'));
  const puffs = [0, 1, 2, 3, 4].map((step) => {
    const fill = look.drawing.radial([0, colour, 0.55 - step * 0.08], [1, colour, 0]);
    return circle([x + step * step * 1.6, y - step * 11], 6 + step * 3.6, fill);
  });
  return puffs.join('');
}

export function blend(colours: readonly [Colour, Colour], look: Look): Colour {
  return mix(colours[0], colours[1], look.random.next());
}
