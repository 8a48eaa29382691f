/** What kind of picture a description asks for, with all that it leaves open decided: pure, from the text and the seed. */
import { createRandom, type Random } from '../random.ts';
import { readScene, speaksOf, type Mention, type SceneDescription } from './read-scene.ts';
import { type TimeOfDay } from './adjectives.ts';
import { type Kind } from './vocabulary.ts';

export interface Setting {
  frame: 'landscape' | 'still-life' | 'space' | 'paper';
  /** What the land is in a landscape. */
  ground: 'sea' | 'beach' | 'lake' | 'river' | 'desert' | 'snow' | 'field' | 'meadow';
  time: TimeOfDay;
  /** With what was added to a text that names too little. */
  description: SceneDescription;
}

const grounds: readonly (readonly [Setting['ground'], readonly Kind[]])[] = [
  ['beach', ['beach']],
  ['sea', ['sea', 'whale', 'ship', 'island', 'lighthouse']],
  ['lake', ['lake', 'swan']],
  ['river', ['river', 'bridge']],
  ['lake', ['boat', 'sailboat']],
  ['desert', ['desert', 'cactus', 'pyramid']],
  ['snow', ['snow', 'snowman', 'snowfall']],
  ['field', ['field']],
];
const onTables: readonly Kind[] = [
  'ball',
  'cube',
  'apple',
  'fruit',
  'lemon',
  'pear',
  'cherry',
  'cup',
  'glass',
  'book',
  'vase',
  'bottle',
  'bowl',
  'candle',
  'pumpkin',
];
const onPaper: readonly Kind[] = ['circle', 'square', 'triangle', 'heart', 'diamond'];
const inSpace: readonly Kind[] = ['planet', 'rocket', 'space'];
const inSkies: readonly Kind[] = ['sun', 'moon', 'crescent', 'star', 'cloud', 'sky'];

export function settingOf(text: string, random: Random): Setting {
  const read = readScene(text);
  const frame = frameOf(read);
  const fixed = createRandom(text);
  const isBare = frame === 'landscape' && read.mentions.every(({ kind }) => saysNoPlace.has(kind));
  const whole = isBare ? withPlace(read, fixed) : read;
  const description = frame === 'landscape' ? withScenery(whole, fixed) : whole;
  return { frame, description, time: timeOf(description, random), ground: groundOf(description) };
}

function frameOf(description: SceneDescription): Setting['frame'] {
  const { mentions } = description;
  const all = (kinds: readonly Kind[]): boolean =>
    mentions.length > 0 && mentions.every(({ kind }) => kinds.includes(kind));
  if (speaksOf(description, 'table') || all(onTables)) return 'still-life';
  if (speaksOf(description, ...inSpace) && all([...inSpace, ...inSkies, 'person', 'fog', 'balloon']))
    return 'space';
  if (all([...onPaper, ...onTables])) return 'paper';
  return 'landscape';
}

/** What can be anywhere: a text of these alone gets a calm place of its own. */
const saysNoPlace: ReadonlySet<Kind> = new Set([
  ...inSkies,
  'aurora',
  'rainbow',
  'planet',
  'space',
  'rain',
  'fog',
  'storm',
  'lightning',
  'bird',
  'balloon',
  'kite',
  'plane',
]);

const calmPlaces = [
  ['mountain', 'lake', 'pine'],
  ['hill', 'tree', 'path', 'bird'],
  ['sea', 'sailboat', 'cloud'],
  ['desert', 'mountain', 'bird'],
  ['hill', 'meadow', 'flower', 'oak'],
  ['mountain', 'forest', 'fog', 'lake'],
  ['hill', 'river', 'tree', 'cloud'],
] as const satisfies readonly (readonly Kind[])[];
const places: readonly [readonly Kind[], ...(readonly Kind[])[]] = calmPlaces;
const counts: Partial<Record<Kind, number>> = {
  tree: 5,
  pine: 7,
  bird: 6,
  flower: 40,
  cloud: 5,
  mountain: 4,
};

/** Open land gets a few trees or rocks to stand in it, a season its leaves, unless the text fills it or says no. */
function withScenery(read: SceneDescription, fixed: Random): SceneDescription {
  const ground = groundOf(read);
  const isOpenLand = ground === 'meadow' || ground === 'snow' || ground === 'river' || ground === 'field';
  if (!isOpenLand || speaksOf(read, ...growing, 'city')) return read;
  const kind = ground === 'snow' ? 'pine' : fixed.pick<Kind>(['tree', 'tree', 'oak', 'pine']);
  const isSeason = read.season !== 'any';
  if (read.denied.includes(kind) || read.denied.includes('tree')) return read;
  const trees: Mention = {
    kind: isSeason ? 'tree' : kind,
    count: isSeason ? 7 : 4,
    colours: [],
    trim: [],
    size: isSeason ? 1 : 0.68,
  };
  return { ...read, mentions: [...read.mentions, trees] };
}

const growing: readonly Kind[] = ['tree', 'oak', 'forest', 'pine', 'palm', 'bush', 'cactus'];

function withPlace(read: SceneDescription, fixed: Random): SceneDescription {
  const kinds = fixed.pick(places).filter((kind) => read.mentions.length === 0 || kind !== 'bird');
  const added = kinds
    .filter((kind) => !speaksOf(read, kind) && !read.denied.includes(kind))
    .map((kind): Mention => ({ kind, count: counts[kind] ?? 1, colours: [], trim: [], size: 1 }));
  return { ...read, mentions: [...read.mentions, ...added] };
}

function timeOf(description: SceneDescription, random: Random): TimeOfDay {
  if (description.time !== 'any') return description.time;
  if (speaksOf(description, 'moon', 'crescent', 'star', 'aurora')) return 'night';
  if (speaksOf(description, 'storm', 'lightning', 'rain', 'fog', 'snowfall'))
    return random.pick(['morning', 'noon']);
  if (speaksOf(description, 'sun', 'rainbow')) return random.pick(['morning', 'noon', 'afternoon']);
  return random.pick(['dawn', 'morning', 'morning', 'noon', 'noon', 'afternoon', 'afternoon', 'sunset']);
}

function groundOf(description: SceneDescription): Setting['ground'] {
  if (speaksOf(description, 'city') && speaksOf(description, 'river', 'lake', 'bridge')) return 'lake';
  return grounds.find(([, kinds]) => speaksOf(description, ...kinds))?.[0] ?? 'meadow';
}
