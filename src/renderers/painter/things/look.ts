/** What a thing is to the painter, how it looks: its colours, seen in the picture's light; and the fills that things share. */
import { colourOf, hex, namedColours, rgb, rgbs, shade, type Colour } from '../../colour.ts';
import type { Season } from '../../language/other-words.ts';
import type { Mention } from '../../language/phrase.ts';
import type { Random } from '../../random.ts';
import { circle, ellipse, type Circle, type Drawing } from '../drawing.ts';

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
type Drawn = (look: Look, main: Colour, trim: Colour) => string | readonly string[];

/** Where a thing belongs, how large it is, and who draws it. */
export interface Entry {
  home: 'land' | 'water' | 'air';
  /** Half its width in drawing units, which others keep away from. */
  reach: number;
  /** How far from the horizon it stands on open land: 0 to 1. */
  depths: readonly [from: number, to: number];
  /** How large one alone is shown; a building is large as it is, a cat is brought near. */
  alone: number;
  /** How high it rises over its foot, for what must stay below the picture's top. */
  rise: number;
  draw: DrawThing;
}

export function land(
  reach: number,
  depths: Entry['depths'],
  alone: number,
  usual: string,
  draw: Drawn,
): Entry {
  return { home: 'land', reach, depths, alone, rise: 0, draw: drawn(usual, draw) };
}

export function water(reach: number, alone: number, usual: string, draw: Drawn): Entry {
  return { home: 'water', reach, depths: [0, 1], alone, rise: 0, draw: drawn(usual, draw) };
}

export function air(reach: number, alone: number, rise: number, usual: string, draw: Drawn): Entry {
  return { home: 'air', reach, depths: [0, 1], alone, rise, draw: drawn(usual, draw) };
}

/** `usual` are the colours that chance picks from where none is said; after a comma, those of the second colour. */
export function drawn(usual: string, draw: Drawn): DrawThing {
  const [mains = '', trims] = usual.split(', ');
  return (look) => {
    const main = look.main ?? pickOf(mains, look.random);
    const trim = look.trim ?? (trims === undefined ? main : pickOf(trims, look.random));
    return [draw(look, main, trim)].flat().join('');
  };
}

function pickOf(usual: string, random: Random): Colour {
  const colours = rgbs(usual);
  return colours.length === 1 ? colours[0] : random.pick(colours);
}

/** One colour, seen; lighter for a positive amount, darker for a negative one. */
export function flat(look: Look, colour: Colour | string, amount = 0): string {
  return hex(look.seen(shade(colourOf(colour), amount)));
}

/** A round or upright body: bright on the side of the light, dark on the other. */
export function round(look: Look, colour: Colour | string, depth = 0.34): string {
  const bright = look.seen(shade(colourOf(colour), depth * 0.6));
  const dark = look.seen(shade(colourOf(colour), -depth));
  return look.drawing.across(look.side, [0, dark], [0.65, bright], [1, bright]);
}

/** Brighter above, darker below. */
export function tall(look: Look, colour: Colour | string, depth = 0.25): string {
  const at = (amount: number): Colour => look.seen(shade(colourOf(colour), amount));
  return look.drawing.linear([0, at(depth * 0.7)], [1, at(-depth)]);
}

/** A ball with its bright spot towards the light. */
export function ball(look: Look, colour: Colour | string): string {
  const at = (amount: number): Colour => look.seen(shade(colourOf(colour), amount));
  const spot = [0.5 + look.side * 0.14, 0.36] as const;
  return look.drawing.radialAround(spot, [0, at(0.6)], [0.35, at(0.15)], [0.75, at(-0.15)], [1, at(-0.5)]);
}

/** The bright spot on a glazed ball. */
export function gleam(look: Look, x: number, y: number, radius: number): string {
  const spot = look.drawing.radial([0, [255, 255, 255], 0.75], [1, [255, 255, 255], 0]);
  return ellipse([x + look.side * radius * 0.36, y - radius * 0.42], radius * 0.34, radius * 0.24, spot);
}

/** The fill of a window: warm light at night, sky by day. */
export function pane(look: Look): string {
  return look.isLamplit ? '#ffd98c' : flat(look, '#5c7f9e');
}

/** Warm light around a lit window or lamp. */
export function lamplight(look: Look, x: number, y: number, radius: number): string {
  return look.isLamplit ? look.drawing.glow([x, y], radius, radius, rgb('#ffb95e'), 0.5) : '';
}

export function smoke(look: Look, x: number, y: number): string {
  const colour = look.seen(rgb('#e8e6e4'));
  const puffs = [0, 1, 2, 3, 4].map((step) => {
    const fill = look.drawing.radial([0, colour, 0.55 - step * 0.08], [1, colour, 0]);
    return circle([x + step * step * 1.6, y - step * 11], 6 + step * 3.6, fill);
  });
  return puffs.join('');
}

export function petalsAround(x: number, y: number, count: number, out: number, radius: number): Circle[] {
  return Array.from({ length: count }, (_, index) => {
    const turn = (index / count) * Math.PI * 2;
    return [x + Math.cos(turn) * out, y + Math.sin(turn) * out, radius];
  });
}

/** Where several things share one mention, they take its colours in turn. */
export function coloursOf(
  mention: Pick<Mention, 'count' | 'colours' | 'trim'>,
  index: number,
): Pick<Look, 'main' | 'trim'> {
  const { colours, count, trim: parts } = mention;
  const areShared = count > 1 && colours.length > 1;
  const first = colours[areShared ? index % colours.length : 0];
  const second = parts[0] ?? (areShared ? undefined : colours[1]);
  return {
    main: first === undefined ? undefined : namedColours[first],
    trim: second === undefined ? undefined : namedColours[second],
  };
}
