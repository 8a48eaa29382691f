/** The words that say when, what colour, how large and how many. */
import { type ColourName } from '../colour.ts';
import { type Kind } from './vocabulary.ts';

export type TimeOfDay = 'dawn' | 'morning' | 'noon' | 'afternoon' | 'sunset' | 'dusk' | 'night';

export const timeWords: ReadonlyMap<string, TimeOfDay> = wordMap<TimeOfDay>({
  dawn: 'dawn sunrise daybreak daybreaks',
  morning: 'morning',
  noon: 'noon midday day daytime sunny sunlit',
  afternoon: 'afternoon goldenhour',
  sunset: 'sunset sundown 🌇 🌅',
  dusk: 'dusk evening twilight bluehour gloaming nightfall',
  night: 'night midnight nighttime nocturnal',
});

export const seasonWords: ReadonlyMap<string, 'autumn' | 'spring'> = wordMap<'autumn' | 'spring'>({
  autumn: 'autumn autumnal october november 🍂 🍁',
  spring: 'spring springtime april',
});

export const colourWords: ReadonlyMap<string, ColourName> = wordMap<ColourName>({
  red: 'red scarlet ruby brick rusty',
  orange: 'orange amber',
  yellow: 'yellow',
  green: 'green emerald olive mossy',
  blue: 'blue azure cobalt sapphire',
  purple: 'purple violet magenta',
  pink: 'pink rosy salmon',
  brown: 'brown chestnut',
  black: 'black ebony',
  white: 'white whitewashed ivory',
  grey: 'grey gray',
  turquoise: 'turquoise teal cyan aquamarine',
  gold: 'gold golden',
  silver: 'silver silvery',
  cream: 'cream beige',
  crimson: 'crimson maroon burgundy',
  navy: 'navy indigo',
  lavender: 'lavender lilac',
});

/** How much larger than usual. */
export const sizeWords: ReadonlyMap<string, number> = new Map(
  Object.entries({
    tiny: 0.55,
    little: 0.7,
    small: 0.7,
    big: 1.35,
    large: 1.35,
    tall: 1.3,
    great: 1.35,
    huge: 1.65,
    giant: 1.8,
    gigantic: 1.8,
    enormous: 1.8,
    massive: 1.7,
  }),
);

export const countWords: ReadonlyMap<string, number> = new Map(
  Object.entries({
    zero: 0,
    one: 1,
    lone: 1,
    single: 1,
    solitary: 1,
    two: 2,
    pair: 2,
    couple: 2,
    both: 2,
    three: 3,
    trio: 3,
    four: 4,
    five: 5,
    six: 6,
    seven: 7,
    eight: 8,
    nine: 9,
    ten: 10,
    eleven: 11,
    twelve: 12,
    dozen: 12,
    fifteen: 15,
    twenty: 20,
    thirty: 30,
    few: 4,
    some: 4,
    several: 5,
    many: 12,
    flock: 9,
    herd: 7,
    fleet: 6,
    dozens: 36,
    hundred: 60,
    hundreds: 60,
    thousand: 60,
    thousands: 60,
    countless: 60,
  }),
);

/** How many a plural without a number means. */
export const several: Partial<Record<Kind, number>> = {
  star: 1,
  cloud: 6,
  tree: 8,
  oak: 5,
  pine: 11,
  palm: 5,
  bird: 9,
  flower: 54,
  house: 7,
  balloon: 6,
  sailboat: 4,
  mountain: 4,
  sheep: 6,
  rock: 6,
  candle: 3,
  cherry: 5,
  butterfly: 5,
  mushroom: 5,
};

/** Words after which a colour, a size or a count no longer waits for its noun. */
export const breakWords: ReadonlySet<string> = new Set(
  'the on in under over with at by beside behind near above below from to into through while is are was were that which between against around across along'.split(
    ' ',
  ),
);

/** Parts of things: their colour goes to the thing spoken of before. */
export const partWords: ReadonlySet<string> = new Set(
  'roof roofs sail sails door doors stripe stripes striped flag flags hull trim wings'.split(' '),
);

function wordMap<Meaning extends string>(table: Partial<Record<Meaning, string>>): Map<string, Meaning> {
  const map = new Map<string, Meaning>();
  for (const [meaning, words] of Object.entries(table) as [Meaning, string][]) {
    for (const word of words.split(' ')) map.set(word, meaning);
  }
  return map;
}
