/** The definition of a thing: its height, the place for others on top of it, and its parts in the wanted colours. */
import { namedColours, rgb, type ColourName } from '../../colour.ts';
import type { Material } from '../../language/other-words.ts';
import type { Random } from '../../random.ts';
import { paintOf, type Paint, type Part } from './parts.ts';

export interface Thing extends Place {
  /** In metres, from the lowest to the highest point. */
  height: number;
  build(said: SaidLook, random: Random): Part[];
}

export interface Place {
  home: 'land' | 'table' | 'water' | 'air';
  /** Height at which others stand on it, as a share of its height. */
  rest: number;
  /** Free share of its width and depth there. */
  restRoom: number;
}

export interface SaidLook {
  colours: readonly ColourName[];
  trim: readonly ColourName[];
  material: Material | null;
  text: string;
  /** True if a person sits or rides. */
  isSeated: boolean;
}

export const land: Place = { home: 'land', rest: 1, restRoom: 0.8 };
export const table: Place = { home: 'table', rest: 1, restRoom: 0.7 };
export const water: Place = { home: 'water', rest: 0.5, restRoom: 0.6 };
export const air: Place = { home: 'air', rest: 1, restRoom: 0.8 };

/** Returns the place with another height for things on top, as a share of its height. */
export function top(place: Place, rest: number, restRoom = place.restRoom): Place {
  return { ...place, rest, restRoom };
}

/** Defines a thing. `usual`: paints of body, second colour and accent, with commas; `|` separates choices. */
export function thing(
  height: number,
  place: Place,
  usual: string,
  build: (main: Paint, trim: Paint, random: Random, said: SaidLook, accent: Paint) => Part[],
): Thing {
  const [main = '', trim = main, accent = trim] = usual.split(', ');
  return {
    ...place,
    height,
    build: (said, random) =>
      build(mainOf(said, main, random), trimOf(said, trim), random, said, trimOf(said, accent)),
  };
}

export function mainOf({ colours: [first], material }: SaidLook, usual: string, random: Random): Paint {
  const [choices = '', usualMaterial = 'matt'] = usual.split(' ');
  const colours = choices.split('|');
  const picked = colours[colours.length === 1 ? 0 : random.whole(0, colours.length - 1)];
  const tint = material === null ? picked : (tints[material] ?? picked);
  const colour = first === undefined ? rgb(tint ?? choices) : namedColours[first];
  return { colour, material: material ?? (usualMaterial as Material) };
}

function trimOf({ colours: [, second], trim: [part = second] }: SaidLook, usual: string): Paint {
  const paint = paintOf(usual);
  return part === undefined ? paint : { ...paint, colour: namedColours[part] };
}

const tints: Partial<Record<Material, string>> = {
  metal: '#b4b8be',
  gold: '#e2a93b',
  silver: '#d4d7dc',
  glass: '#bfe3ea',
  wood: '#9a6a3f',
  stone: '#a09a90',
  brick: '#a4553f',
};
