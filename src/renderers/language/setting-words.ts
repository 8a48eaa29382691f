/** What a noun says of the place, the sky and the weather rather than of a thing that stands there. */
import type { Noun } from './nouns.ts';

export type Ground =
  'studio' | 'grass' | 'sand' | 'snow' | 'water' | 'floor' | 'road' | 'stone' | 'field' | 'space';
export type Weather = 'clear' | 'cloudy' | 'rain' | 'snowfall' | 'fog' | 'storm';
export type Backdrop = 'mountains' | 'hills' | 'forest' | 'city' | 'shore';
export type SkySight = 'moon' | 'stars' | 'rainbow' | 'sun';

export const groundOf: Partial<Record<Noun, Ground>> = {
  sea: 'water',
  lake: 'water',
  river: 'water',
  beach: 'sand',
  desert: 'sand',
  meadow: 'grass',
  field: 'field',
  forest: 'grass',
  snow: 'snow',
  path: 'road',
  city: 'road',
  space: 'space',
};

/** Words that are no nouns of things, and name a place. */
export const placeWords: ReadonlyMap<string, Ground> = new Map<string, Ground>([
  ...entries('floor', 'floor room kitchen indoors indoor inside library hall office bedroom deck'),
  ...entries('studio', 'studio backdrop'),
  ...entries('stone', 'pavement sidewalk plaza gravel concrete driveway courtyard terrace'),
  ...entries('sand', 'sand sandy'),
  ...entries('water', 'water underwater'),
  ...entries('field', 'cornfield'),
  ...entries('grass', 'outdoors outdoor backyard yard summer'),
]);

export const backdropOf: Partial<Record<Noun, Backdrop>> = {
  mountain: 'mountains',
  snowcap: 'mountains',
  hill: 'hills',
  forest: 'forest',
  city: 'city',
  island: 'shore',
};

export const weatherOf: Partial<Record<Noun, Weather>> = {
  cloud: 'cloudy',
  rain: 'rain',
  snowfall: 'snowfall',
  fog: 'fog',
  storm: 'storm',
  lightning: 'storm',
};

export const skySightOf: Partial<Record<Noun, SkySight>> = {
  moon: 'moon',
  crescent: 'moon',
  star: 'stars',
  aurora: 'stars',
  rainbow: 'rainbow',
  sun: 'sun',
};

/** Whether a noun is a thing with a shape, rather than part of the setting. */
export function isThing(noun: Noun): boolean {
  return (
    noun !== 'sky' &&
    groundOf[noun] === undefined &&
    weatherOf[noun] === undefined &&
    skySightOf[noun] === undefined &&
    backdropOf[noun] === undefined
  );
}

function entries(ground: Ground, words: string): [string, Ground][] {
  return words.split(' ').map((word) => [word, ground]);
}
