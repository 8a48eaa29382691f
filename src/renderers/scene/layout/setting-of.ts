/** Decides on ground, surroundings, weather and time, including everything that the prompt leaves open; pure. */
import { type ColourName, rgb, namedColours, mix, type Colour } from '../../colour.ts';
import { nounSet, type Noun, type ThingNoun } from '../../language/nouns.ts';
import { wordMap, type TimeOfDay } from '../../language/other-words.ts';
import type { Prompt } from '../../language/read-prompt.ts';
import { createRandom } from '../../random.ts';
import { thingOf } from '../things/catalogue.ts';
import { type Vector, toward, times } from '../vector.ts';

export type Ground =
  'studio' | 'grass' | 'sand' | 'snow' | 'water' | 'floor' | 'road' | 'stone' | 'field' | 'space';
export type Weather = 'clear' | 'cloudy' | 'rain' | 'snowfall' | 'fog' | 'storm';
export type Backdrop = 'mountains' | 'hills' | 'forest' | 'city' | 'shore' | 'street';
export type SkySight = 'moon' | 'stars' | 'aurora' | 'rainbow' | 'sun';

export interface Setting {
  ground: Ground;
  groundColour: ColourName | null;
  /** True if there is water behind the things on land. */
  hasWater: boolean;
  /** Surroundings in the distance. */
  backdrops: Backdrop[];
  weather: Weather;
  sights: SkySight[];
  skyColour: ColourName | null;
  time: TimeOfDay;
}

const grounds = wordMap<Ground>({
  water: 'sea lake river water',
  sand: 'beach desert sand',
  grass: 'meadow forest',
  field: 'field',
  snow: 'snow',
  road: 'path city street',
  space: 'space',
  floor: 'floor',
  studio: 'studio',
  stone: 'pavement',
});
const backdropsOf = wordMap<Backdrop>({
  mountains: 'mountain snowcap',
  hills: 'hill',
  forest: 'forest',
  city: 'city',
  shore: 'island',
  street: 'street',
});
const weathers = wordMap<Weather>({
  cloudy: 'cloud',
  rain: 'rain',
  snowfall: 'snowfall',
  fog: 'fog',
  storm: 'storm lightning',
});
const skySights = wordMap<SkySight>({
  moon: 'moon',
  stars: 'star',
  aurora: 'aurora',
  rainbow: 'rainbow',
  sun: 'sun',
});

export function settingOf(prompt: Prompt, seed: string): Setting {
  const { mentions } = prompt;
  const all = <Meaning>(table: ReadonlyMap<string, Meaning>): Meaning[] => [
    ...new Set(mentions.flatMap(({ noun }) => table.get(noun) ?? [])),
  ];
  const [backdrops, sights, weather] = [all(backdropsOf), all(skySights), all(weathers)[0] ?? 'clear'];
  const random = createRandom(`setting ${seed}`);
  const usual = random.pick<TimeOfDay>(['morning', 'noon', 'afternoon', 'afternoon']);
  const isNight = (['moon', 'stars', 'aurora'] as const).some((sight) => sights.includes(sight));
  const isOutside = backdrops.length > 0 || weather !== 'clear' || sights.length > 0 || prompt.time !== null;
  const ground = groundOf(prompt, all(grounds)[0], weather, isOutside);
  const isInland = mentions.some(({ noun }) => noun === 'lake' || noun === 'river');
  const isWet = isInland || mentions.some(({ noun }) => noun === 'sea' || noun === 'beach');
  return {
    ground,
    groundColour: colourOf(mentions.filter(({ noun }) => grounds.has(noun))),
    hasWater: isWet && ground !== 'water',
    // Unless the prompt says more, open land ends at hills, and so does a lake.
    backdrops:
      backdrops.length === 0 &&
      (openLand.has(ground) || (ground === 'sand' && !isWet) || (isInland && ground === 'water'))
        ? ['hills']
        : backdrops,
    weather,
    sights,
    skyColour: colourOf(mentions.filter(({ noun }) => noun === 'sky')),
    time: prompt.time ?? (isNight ? 'night' : usual),
  };
}

const openLand: ReadonlySet<Ground> = new Set<Ground>(['grass', 'field', 'snow', 'road', 'stone']);

function colourOf(mentions: Prompt['mentions']): ColourName | null {
  return mentions.find(({ colours }) => colours.length > 0)?.colours[0] ?? null;
}

const homes: readonly (readonly [Ground, ReadonlySet<Noun>])[] = [
  ['space', nounSet('planet')],
  ['snow', nounSet('snowman penguin skis snowboard')],
  ['sand', nounSet('cactus pyramid palm turtle surfboard')],
  ['road', nounSet('car truck bus bicycle motorcycle hydrant stopsign trafficlight parkingmeter')],
  ['stone', nounSet('rocket skyscraper')],
  ['floor', nounSet('bookshelf bed christmastree')],
];
const furniture = nounSet(
  'label table chair armchair sofa lamp laptop guitar statue robot mat fridge oven sink toilet pottedplant teddybear suitcase backpack',
);

function groundOf(
  { mentions, subjects }: Prompt,
  said: Ground | undefined,
  weather: Weather,
  isOutside: boolean,
): Ground {
  const roots = subjects.filter(({ place }) => place === null);
  const homesOfRoots = roots.map(({ noun }) => thingOf(noun).home);
  const floats = roots.filter(({ noun }) => noun !== 'bridge').map(({ noun }) => thingOf(noun).home);
  const isAfloat = floats.length > 0 && floats.every((home) => home === 'water' || home === 'air');
  const isInland = mentions.some(({ noun }) => noun === 'lake' || noun === 'river');
  if (said === 'water') return isAfloat || roots.length === 0 ? 'water' : isInland ? 'grass' : 'sand';
  if (said !== undefined) return said;
  if (weather === 'snowfall') return 'snow';
  if (isAfloat && homesOfRoots.includes('water')) return 'water';
  const home = homes.find(([, nouns]) => roots.some(({ noun }) => nouns.has(noun)));
  if (home !== undefined) return home[0];
  const isIndoors = ({ noun }: { noun: ThingNoun }): boolean =>
    thingOf(noun).home === 'table' || furniture.has(noun);
  // A label stands on the same ground as the other things.
  const isInside =
    roots.length > 0 && (roots.some(({ noun }) => noun === 'label') ? subjects : roots).every(isIndoors);
  return isInside && !isOutside ? 'studio' : 'grass';
}

/** Linear red, green and blue. 1 is the white of the finished picture; lamps are brighter. */
export type Light = Vector;

export interface Daylight {
  /** Direction to the sun or the moon. */
  sunAt: Vector;
  sun: Light;
  /** Light from all of the sky on white ground. */
  sky: Light;
  /** Colours of the sky from top to bottom. */
  zenith: Light;
  middle: Light;
  horizon: Light;
  /** Colour around the sun. */
  glow: Light;
  /** Share of the sky, from 0 to 1. */
  clouds: number;
  stars: number;
  /** Strength of haze in the distance; 1 is a clear day. */
  haze: number;
  hasMoon: boolean;
  hasRainbow: boolean;
  hasAurora: boolean;
  isStudio: boolean;
  isSpace: boolean;
}

/** `elevation` in degrees. */
const hours = {
  dawn: { elevation: 14, sun: '#ffd0b0', power: 2.6, sky: 1.05, colours: '#5a6db0 #e3a3ab #ffdcab' },
  morning: { elevation: 34, sun: '#fff3e0', power: 3.5, sky: 0.95, colours: '#4b97d6 #a4d3ee #f4f0e2' },
  noon: { elevation: 50, sun: '#fffaf2', power: 3.7, sky: 1, colours: '#1f7ad0 #6fbcee #d5effa' },
  afternoon: { elevation: 36, sun: '#ffefd2', power: 3.6, sky: 0.92, colours: '#4690cc #a3d0e2 #f6e8cc' },
  sunset: { elevation: 12, sun: '#ffb07c', power: 2.9, sky: 0.85, colours: '#3f3f86 #d9667a #ffb65c' },
  dusk: { elevation: 22, sun: '#c8a4d0', power: 1.7, sky: 1.15, colours: '#1d2357 #6d4b8c #ec938a' },
  night: { elevation: 40, sun: '#b4c8ff', power: 1.8, sky: 1.5, colours: '#0a1230 #142452 #294370' },
} satisfies Record<TimeOfDay, object>;

/** `facing`: the camera's rotation around y. The sun is beside and behind the camera. */
export function daylightOf(setting: Setting, isHourSaid: boolean, facing: number, seed: string): Daylight {
  const { ground, time, weather, sights, skyColour } = setting;
  const random = createRandom(`daylight ${seed}`);
  const isStudio = ground === 'studio' || ground === 'floor';
  const hour = hours[time];
  const side = random.chance(0.5) ? 1 : -1;
  const around = facing + side * random.between(0.6, 0.95);
  const up = ((isStudio && !isHourSaid ? 48 : hour.elevation) * Math.PI) / 180;
  const isNight = time === 'night' || ground === 'space';
  const hasAurora = sights.includes('aurora');
  const [zenith, middle, horizon] = hour.colours.split(' ').map((colour) => linear(rgb(colour))) as [
    Light,
    Light,
    Light,
  ];
  const said = skyColour === null ? undefined : linear(namedColours[skyColour]);
  const clear: Daylight = {
    sunAt: toward(around, up),
    sun: times(linear(rgb(hour.sun)), isStudio ? hour.power * 0.72 : hour.power),
    sky: times(balanced(mix(horizon, zenith, 0.35)), hour.sky),
    zenith: said ?? zenith,
    middle: said === undefined ? middle : mix(said, [1, 1, 1], 0.15),
    horizon: said === undefined ? horizon : mix(said, [1, 1, 1], 0.35),
    glow: linear(rgb(hour.sun)),
    clouds: hasAurora ? 0 : isNight ? 0.12 : 0.34,
    stars: isStudio ? 0 : isNight ? 1 : time === 'dusk' ? 0.3 : 0,
    haze: time === 'dawn' || time === 'sunset' ? 1.5 : isNight ? 0.5 : 1,
    hasMoon:
      !isStudio && (sights.includes('moon') || (time === 'night' && weather === 'clear' && !hasAurora)),
    hasRainbow: sights.includes('rainbow'),
    hasAurora,
    isStudio,
    isSpace: ground === 'space',
  };
  if (ground === 'space')
    return {
      ...clear,
      zenith: [0.003, 0.004, 0.012],
      middle: [0.006, 0.006, 0.02],
      horizon: [0.012, 0.008, 0.03],
      clouds: 0,
      stars: 1,
      sun: [3.4, 3.2, 3],
      hasMoon: false,
    };
  return underWeather(clear, weather);
}

/** Applies a white balance for the hour, so that white looks nearly white. */
function balanced(light: Light): Light {
  const grey = Math.max(...light) * 1.15;
  return mix(light, [grey, grey, grey], 0.55);
}

/** For each weather: brightness of the clouds, remaining sun, share of the sky, haze and clouds. */
const covers: Record<Exclude<Weather, 'clear'>, readonly [number, number, number, number, number]> = {
  cloudy: [0.85, 0.6, 0.3, 1.3, 0.62],
  rain: [0.62, 0.28, 0.8, 2.2, 0.85],
  snowfall: [0.8, 0.4, 0.85, 3, 0.7],
  fog: [0.8, 0.45, 0.8, 6, 0.2],
  storm: [0.24, 0.3, 0.85, 2.6, 0.95],
};

function underWeather(clear: Daylight, weather: Weather): Daylight {
  if (weather === 'clear') return clear;
  const [grey, sun, share, haze, clouds] = covers[weather];
  const brightness = Math.max(...clear.horizon) * grey;
  const cover: Light = [brightness * 0.92, brightness * 0.97, brightness];
  return {
    ...clear,
    sun: times(clear.sun, sun),
    sky: mix(clear.sky, times(cover, 1.2), share),
    zenith: mix(clear.zenith, times(cover, 0.8), share),
    middle: mix(clear.middle, times(cover, 0.9), share),
    horizon: mix(clear.horizon, cover, share),
    haze,
    clouds,
    stars: 0,
    hasMoon: clear.hasMoon && weather === 'cloudy',
  };
}

export function linear(colour: Colour): Light {
  const of = (value: number): number => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return [of(colour[0]), of(colour[1]), of(colour[2])];
}
