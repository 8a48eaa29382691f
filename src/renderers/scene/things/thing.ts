/** What a thing is: how tall, where another can stand on it, and its parts in the colours that were said. */
import { namedColours, rgb, type ColourName } from '../../colour.ts';
import type { Material } from '../../language/other-words.ts';
import type { Random } from '../../random.ts';
import { paintOf, type Paint, type Part } from './parts.ts';

export interface Thing extends Place {
  /** Metres from its lowest to its highest point. */
  height: number;
  build(said: SaidLook, random: Random): Part[];
}

export interface Place {
  home: 'land' | 'table' | 'water' | 'air';
  /** At what share of its height another stands on it. */
  rest: number;
  /** What share of its width and depth is free there. */
  restRoom: number;
}

export interface SaidLook {
  colours: readonly ColourName[];
  trim: readonly ColourName[];
  material: Material | null;
  /** What is written on it. */
  text: string;
  /** Of people: they sit or ride. */
  isSeated: boolean;
}

export const land: Place = { home: 'land', rest: 1, restRoom: 0.8 };
export const table: Place = { home: 'table', rest: 1, restRoom: 0.7 };
export const water: Place = { home: 'water', rest: 0.5, restRoom: 0.6 };
export const air: Place = { home: 'air', rest: 1, restRoom: 0.8 };

/** The same, with another standing at this share of its height. */
export function top(place: Place, rest: number, restRoom = place.restRoom): Place {
  return { ...place, rest, restRoom };
}

/**
 * `usual` are its paints where nothing else is said: its body's, with `|` between colours of which chance picks one,
 * and after commas those of its second colour. What `build` paints otherwise has its own colour whatever is said.
 */
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
