/** Decides on ground, surroundings, weather and time, including everything that the prompt leaves open; pure. */
import type { ColourName } from '../../colour.ts';
import { nounSet, type Noun, type ThingNoun } from '../../language/nouns.ts';
import { wordMap, type TimeOfDay } from '../../language/other-words.ts';
import type { Prompt } from '../../language/read-prompt.ts';
import { createRandom } from '../../random.ts';
import { thingOf } from '../things/catalogue.ts';

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
