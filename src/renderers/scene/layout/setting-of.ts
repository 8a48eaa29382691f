/** Where the things stand and in what light, with what the words leave open decided; pure. */
import type { TimeOfDay } from '../../painter/adjectives.ts';
import { createRandom } from '../../random.ts';
import type { SceneWords, Subject } from '../../language/read-words.ts';
import type { Ground } from '../../language/setting-words.ts';
import { thingOf } from '../things/catalogue.ts';

export interface Setting {
  ground: Ground;
  time: TimeOfDay;
  /** Behind what stands on land. */
  hasWater: boolean;
}

const homes: readonly (readonly [Ground, readonly Subject['noun'][]])[] = [
  ['space', ['planet']],
  ['snow', ['snowman', 'penguin']],
  ['sand', ['cactus', 'pyramid', 'palm', 'turtle']],
  [
    'stone',
    ['car', 'truck', 'bus', 'bicycle', 'streetlight', 'hydrant', 'stopsign', 'rocket', 'skyscraper', 'train'],
  ],
  ['floor', ['bookshelf', 'bed', 'christmastree']],
];
const furniture: ReadonlySet<Subject['noun']> = new Set<Subject['noun']>([
  'table',
  'chair',
  'armchair',
  'sofa',
  'lamp',
  'laptop',
  'guitar',
  'form',
  'statue',
  'robot',
  'mat',
]);

export function settingOf(words: SceneWords, seed: string): Setting {
  const random = createRandom(`setting ${seed}`);
  const isNight = words.sights.includes('moon') || words.sights.includes('stars');
  const usual = random.pick<TimeOfDay>(['morning', 'noon', 'afternoon', 'afternoon']);
  const ground = groundOf(words);
  const hasWater = words.hasWater && ground !== 'water';
  return { ground, time: words.time ?? (isNight ? 'night' : usual), hasWater };
}

function groundOf({ ground, subjects, backdrops, weather, sights, time }: SceneWords): Ground {
  const roots = subjects.filter(({ place }) => place === null);
  const isAfloat =
    roots.length > 0 &&
    roots.every(({ noun }) => thingOf(noun).home !== 'land' && thingOf(noun).home !== 'table');
  if (ground === 'water') return isAfloat || roots.length === 0 ? 'water' : 'sand';
  if (ground !== null) return ground;
  if (weather === 'snowfall') return 'snow';
  const wet = roots.filter(({ noun }) => thingOf(noun).home === 'water');
  if (wet.length > 0 && isAfloat) return 'water';
  const home = homes.find(([, nouns]) => roots.some(({ noun }) => nouns.includes(noun)));
  if (home !== undefined) return home[0];
  const isOutside = backdrops.length > 0 || weather !== 'clear' || sights.length > 0 || time !== null;
  const isInside =
    roots.length > 0 && roots.every(({ noun }) => thingOf(noun).home === 'table' || furniture.has(noun));
  return isInside && !isOutside ? 'studio' : 'grass';
}
