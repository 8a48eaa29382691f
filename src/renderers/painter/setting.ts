/** What kind of picture a description asks for, with all that it leaves open decided: pure, from the prompt and the seed. */
import { createRandom, type Random } from '../random.ts';
import { describe, newMention, onPaper, speaksOf, type SceneDescription } from './mentions.ts';
import { numberMap, type TimeOfDay } from '../language/other-words.ts';
import { nounSet, type Noun } from '../language/nouns.ts';

export interface Setting {
  frame: 'landscape' | 'still-life' | 'space' | 'paper';
  /** What the land is in a landscape. */
  ground: 'sea' | 'beach' | 'lake' | 'river' | 'desert' | 'snow' | 'field' | 'meadow';
  time: TimeOfDay;
  /** With what was added to a prompt that names too little. */
  description: SceneDescription;
}

const grounds: readonly (readonly [Setting['ground'], readonly Noun[]])[] = [
  ['beach', ['beach']],
  ['sea', ['sea', 'whale', 'ship', 'island', 'lighthouse']],
  ['lake', ['lake', 'swan']],
  ['river', ['river', 'bridge']],
  ['lake', ['boat', 'sailboat']],
  ['desert', ['desert', 'cactus', 'pyramid']],
  ['beach', ['sand']],
  ['snow', ['snow', 'snowman', 'snowfall']],
  ['field', ['field']],
];
/** Places that say nothing of a landscape. */
const indoors = nounSet('floor studio pavement water');
const onTables = nounSet(
  'ball cube apple fruit lemon pear cherry cup glass book vase bottle bowl candle pumpkin',
);
const atHome = nounSet('cat dog rabbit owl flower');
const inSpace = nounSet('planet rocket space');
const inSkies = nounSet('sun moon crescent star cloud sky');

export function settingOf(text: string, random: Random): Setting {
  const read = describe(text);
  const frame = frameOf(read);
  const fixed = createRandom(text);
  const isBare = frame === 'landscape' && read.mentions.every(({ noun }) => saysNoPlace.has(noun));
  const whole = isBare ? withPlace(read, fixed) : read;
  const description = frame === 'landscape' ? withScenery(whole, fixed) : whole;
  return { frame, description, time: timeOf(description, random), ground: groundOf(description) };
}

function frameOf(description: SceneDescription): Setting['frame'] {
  const things = description.mentions.filter(({ noun }) => !indoors.has(noun));
  const all = (...sets: readonly ReadonlySet<Noun>[]): boolean =>
    things.length > 0 && things.every(({ noun }) => sets.some((set) => set.has(noun)));
  const isRoom = speaksOf(description, 'floor', 'studio');
  const isHomely = (isRoom || speaksOf(description, 'vase')) && all(onTables, atHome);
  const isTabletop = speaksOf(description, 'table') || all(onTables) || isHomely;
  if (isTabletop || (isRoom && things.length === 0)) return 'still-life';
  if (speaksOf(description, ...inSpace) && all(inSpace, inSkies, nounSet('person fog balloon')))
    return 'space';
  return all(onPaper, onTables) ? 'paper' : 'landscape';
}

/** What can be anywhere: a prompt of these alone gets a calm place of its own. */
const saysNoPlace: ReadonlySet<Noun> = new Set([
  ...inSkies,
  ...indoors,
  ...nounSet('aurora rainbow planet space rain fog storm lightning bird balloon kite plane'),
]);

const places: readonly [readonly Noun[], ...(readonly Noun[])[]] = [
  ['mountain', 'lake', 'pine'],
  ['hill', 'tree', 'path', 'bird'],
  ['sea', 'sailboat', 'cloud'],
  ['desert', 'mountain', 'bird'],
  ['hill', 'meadow', 'flower', 'oak'],
  ['mountain', 'forest', 'fog', 'lake'],
  ['hill', 'river', 'tree', 'cloud'],
];
const counts = numberMap({ 4: 'mountain', 5: 'tree cloud', 6: 'bird', 7: 'pine', 40: 'flower' });

/** Open land gets a few trees, and a season its leaves, unless the prompt fills it or says no. */
function withScenery(read: SceneDescription, fixed: Random): SceneDescription {
  const ground = groundOf(read);
  const isOpenLand = ground === 'meadow' || ground === 'snow' || ground === 'river' || ground === 'field';
  if (!isOpenLand || speaksOf(read, ...growing, 'city')) return read;
  const noun = ground === 'snow' ? 'pine' : fixed.pick<Noun>(['tree', 'tree', 'oak', 'pine']);
  if (read.denied.includes(noun) || read.denied.includes('tree')) return read;
  const trees = read.season === null ? newMention(noun, 4, 0.68) : newMention('tree', 7);
  return { ...read, mentions: [...read.mentions, trees] };
}

const growing = nounSet('tree oak forest pine palm bush cactus');

function withPlace(read: SceneDescription, fixed: Random): SceneDescription {
  const nouns = fixed.pick(places).filter((noun) => read.mentions.length === 0 || noun !== 'bird');
  const added = nouns
    .filter((noun) => !speaksOf(read, noun) && !read.denied.includes(noun))
    .map((noun) => newMention(noun, counts.get(noun)));
  return { ...read, mentions: [...read.mentions, ...added] };
}

function timeOf(description: SceneDescription, random: Random): TimeOfDay {
  if (description.time !== null) return description.time;
  if (speaksOf(description, 'moon', 'crescent', 'star', 'aurora')) return 'night';
  if (speaksOf(description, 'storm', 'lightning', 'rain', 'fog', 'snowfall'))
    return random.pick(['morning', 'noon']);
  if (speaksOf(description, 'sun', 'rainbow')) return random.pick(['morning', 'noon', 'afternoon']);
  return random.pick(['dawn', 'morning', 'morning', 'noon', 'noon', 'afternoon', 'afternoon', 'sunset']);
}

function groundOf(description: SceneDescription): Setting['ground'] {
  if (speaksOf(description, 'city') && speaksOf(description, 'river', 'lake', 'bridge')) return 'lake';
  return grounds.find(([, nouns]) => speaksOf(description, ...nouns))?.[0] ?? 'meadow';
}
