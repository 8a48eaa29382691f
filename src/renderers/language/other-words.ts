/** All words that are not nouns: times, colours, numbers, relations, grammar; and nouns that cannot stand in a scene. */
import type { ColourName } from '../colour.ts';
import type { Noun } from './nouns.ts';

export type TimeOfDay = 'dawn' | 'morning' | 'noon' | 'afternoon' | 'sunset' | 'dusk' | 'night';

export const timeWords = wordMap<TimeOfDay>({
  dawn: 'dawn sunrise daybreak daybreaks',
  morning: 'morning',
  noon: 'noon midday day daytime sunny sunlit',
  afternoon: 'afternoon goldenhour',
  sunset: 'sunset sundown 🌇 🌅',
  dusk: 'dusk evening twilight gloaming nightfall',
  night: 'night midnight nighttime nocturnal',
});

export type Season = 'autumn' | 'spring';

export const seasonWords = wordMap<Season>({
  autumn: 'autumn autumnal autumnland october november 🍂 🍁',
  spring: 'spring springtime april',
});

export const colourWords = wordMap<ColourName>({
  red: 'red scarlet ruby brick rusty',
  orange: 'orange amber',
  yellow: 'yellow',
  green: 'green emerald olive mossy',
  blue: 'blue azure cobalt sapphire',
  purple: 'purple violet magenta',
  pink: 'pink rosy',
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

/** Size relative to the usual one. Toys are as small as models. */
export const sizeWords = numberMap({
  0.5: 'toy miniature',
  0.55: 'tiny',
  0.6: 'mini',
  0.7: 'little small',
  1.3: 'tall',
  1.35: 'big large great',
  1.65: 'huge',
  1.7: 'massive',
  1.8: 'giant gigantic enormous',
});

export const countWords = numberMap({
  0: 'zero',
  1: 'one lone single solitary',
  2: 'two pair couple both',
  3: 'three trio',
  4: 'four few some',
  5: 'five several',
  6: 'six fleet',
  7: 'seven herd',
  8: 'eight',
  9: 'nine flock',
  10: 'ten',
  11: 'eleven',
  12: 'twelve dozen many',
  15: 'fifteen',
  20: 'twenty',
  30: 'thirty',
  36: 'dozens',
  40: 'forty',
  50: 'fifty hundreds thousands countless',
  100: 'hundred',
  1000: 'thousand',
});

const materials = {
  plastic: 'plastic rubber inflatable',
  metal: 'metal metallic steel iron chrome aluminium aluminum tin copper bronze brass',
  gold: 'gold',
  silver: 'silver',
  glass: 'glass crystal ice transparent',
  wood: 'wooden wood mahogany bamboo timber',
  stone: 'stone marble concrete granite rocky',
  brick: 'brick',
  cloth: 'cloth woolen knitted velvet leather fluffy furry plush fabric',
  glossy: 'shiny glossy polished porcelain ceramic wet lacquered',
  matt: 'matte matt clay paper cardboard',
  glow: 'glowing neon luminous lit',
} as const;

export type Material = keyof typeof materials;
export const materialWords = wordMap<Material>(materials);

/** Words for parts. A colour before them belongs to that part of the previous thing. */
export const partWords = wordSet(
  'roof roofs sail sails door doors stripe stripes striped flag flags hull trim wings ribbon cushion cushions leaves petals cover top lid wheels label shade windows',
);

export type Relation =
  'on' | 'in' | 'under' | 'above' | 'beside' | 'left' | 'right' | 'behind' | 'front' | 'around' | 'amid';

/** "A with B" places B relative to A; all others place A relative to B. */
export type SaidRelation = Relation | 'with';

export const relationWords = wordMap<SaidRelation>({
  with: 'with holding wearing carrying',
  on: '@on on atop onto upon riding surfing',
  in: 'in inside',
  under: 'under below beneath underneath',
  above: 'above over',
  beside: '@beside beside into near by alongside adjacent against',
  left: '@left',
  right: '@right',
  behind: '@behind behind',
  front: '@front before',
  around: 'around encircling surrounding surounding circling',
  amid: '@amid amid among amidst between',
});

/** Relations of the last thing to the one before it: "a truck with a horse on its left". */
export const backRelationWords = wordMap<Relation>({
  left: '@its-left',
  right: '@its-right',
  behind: '@its-behind @back',
  front: '@its-front @fore',
  beside: '@its-beside @row',
  on: '@its-on',
  under: '@its-under',
  around: '@its-around',
  above: '@its-above',
  in: '@its-in',
});

export type Camera = 'usual' | 'portrait' | 'near' | 'far' | 'high' | 'low' | 'side';

export const cameraWords = wordMap<Camera>({
  portrait: 'portrait headshot selfie',
  near: '@near closeup macro',
  far: '@far panorama panoramic distant wide',
  high: '@high aerial overhead birdseye isometric',
  low: '@low',
  side: '@side profile',
});

/** Words that name a place without ending the phrase: the words before them still describe the next noun. */
export const placeWords = wordMap<Noun>({
  floor: 'floor room kitchen indoors indoor inside library hall office bedroom deck',
  studio: 'studio backdrop stilllife',
  pavement: 'pavement sidewalk plaza gravel concrete driveway courtyard terrace',
  sand: 'sand sandy',
  water: 'water underwater',
  field: 'cornfield',
  meadow: 'outdoors outdoor backyard yard summer',
});

/** Words without a meaning of their own that are not reported as ignored. */
export const grammarWords = wordSet(
  'a an the each every and or of for is are was were be being been that which who with at to from through across along while there it its his her their this these those very standing sitting lying stands sits lies sit stand resting placed parked next back',
);

export const articles = wordSet('a an the each every');

/** Drinks are the content of a cup, not things beside it. */
export const drinkWords = wordSet('coffee tea latte espresso wine beer juice soup');

export const mediumWords = wordSet(
  'painting photo photograph picture image drawing illustration sketch view style render rendering scene portrait shot cartoon comic art print poster cover reflection logo background',
);

export function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '));
}

export function wordMap<Meaning extends string>(
  table: Partial<Record<Meaning, string>>,
): ReadonlyMap<string, Meaning> {
  const entries = Object.entries(table) as [Meaning, string][];
  return new Map(entries.flatMap(([meaning, words]) => words.split(' ').map((word) => [word, meaning])));
}

export function numberMap(table: Record<number, string>): ReadonlyMap<string, number> {
  return new Map([...wordMap(table)].map(([word, meaning]) => [word, Number(meaning)]));
}

/** Words that cannot stand in a scene although they are nouns: style, quality, feelings, parts and measures. */
const noThings = wordSet(
  'artwork artist artstation aesthetic anime atmosphere blur bokeh canvas caption closeup collage colour color colours colors composition concept contrast depth design detail details diagram dslr engine fantasy film flare grain focus font frame gouache graphic hdr highlight highlights image ink layout lens letter letters light lighting lights line lines masterpiece medium mode mood motion motif octane oil palette pastel pattern pencil perspective photography pixar pixel quality realism resolution scan scale shading shape shapes sharpness still symbol technique text texture theme tone unreal vibe vignette watercolor watercolour wallpaper word words writing ' +
    'best beautiful cinematic detailed dramatic epic hyperrealistic photorealistic realistic stunning surreal vivid ultra high low full imagine generate create draw make show please ' +
    'about after again all alone also asleep away awake because deep down fast nearby opaque outside sat stood thick another any around as but can could day did do does drawn few from get gets give gives go goes going got had has have he him how i if just like look looks looms lots me made make makes many may might more most my no not off only other others our out painted saying shaped she shines shown so some stuck such take takes than them then they this together too up upside us very was we what when where which who why will without would writes written une you your ' +
    'anger art beauty chaos comfort courage death despair dream dreams emotion emotions energy entropy eternity faith fear feeling feelings freedom friendship fun future grief harmony hope humor idea ideas infinity intelligence joy justice kindness knowledge life loneliness love luck magic memory mind mystery nature nostalgia past peace power present pride progress reality sadness sense serenity silence sorrow soul spirit strength success time truth victory war wisdom wonder world happy sad angry calm ' +
    'act action air amount angle area back base beginning bend body bottom bunch case center centre century color corner couple crowd curve dark darkness day days direction distance edge end example expression foreground form front game group ground half horizon heat height hour kind left length lot middle minute moment month name number order outline pair part parts past piece pieces place point pose position race right row second section series set shadow shadows shot side sides silhouette size slice sort source space species speed surface team top type use variety version way week weight whole width wild year years',
);

/** Parts of the thing that they are said of. They only count as things if nothing else is named. */
const bodyParts = wordSet(
  'arm arms beard beak belly claw claws ear ears eye eyes eyebrows face faces feather feathers finger fingers feet foot fur hair hand hands head heads leg legs lips mane mouth mustache moustache muscle muscles nail neck nose paw paws shoulder shoulders skin smile tail teeth tongue tooth wing',
);

const predicates = wordSet(
  'ablaze abandoned adrift afloat afraid aged aglow alight alive alone aloft amused ashore asleep astray awake away awry beaten bent bitten blown bored born bought bound bred broken brought built burnt bust caught chosen clad cut dead done drawn drenched driven drunk dug eaten fallen fed felt flown forgotten forlorn found frozen full given gone grown held hewn hidden hung hurt kept known laid left lit lost made met mown overboard overgrown overrun overthrown paid rapt read ridden risen run seen sent set shaken shattered shorn shot shown shut slain sold spent split spread spun steeped stolen strewn struck stuck sung sunk swept sworn swung taken taught thrown told torn turned undone unseen upset wed woven worn won wound written far near high low',
);

const adjective =
  /.(?:ful|ous|ive|ish|less|able|ible|ed|ing|ic|onal|icial|ical|ental|oyal|tural|ly|esque|like)$/;

/** True if a noun without a shape of its own could stand in a scene. `isFirst`: nothing is named before it. */
export function couldStand(word: string, isFirst: boolean): boolean {
  const isIdea = noThings.has(word) || predicates.has(word) || /(?:ness|ism|.{4}ed)$/.test(word);
  const isLetter = /^\p{N}|^[a-z]$/u.test(word);
  return !isIdea && !isLetter && (isFirst || !bodyParts.has(word));
}

/** True if a word without an article or a number before it can still be a noun. */
export function isBareNoun(word: string): boolean {
  return !adjective.test(word) && !predicates.has(word);
}

export function isPluralForm(word: string): boolean {
  return word.length > 3 && /[^su]s$|sses$/.test(word) && !/(?:is|lens)$/.test(word);
}

const pairs = /(?:glasses|goggles|scissors|pants|trousers|jeans|shorts|binoculars|clothes|headphones)$/;

/** Guesses the singular from the letters. Pairs, such as scissors, stay as they are. */
export function singularOf(word: string): string {
  if (!isPluralForm(word) || pairs.test(word)) return word;
  if (/(?:ss|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('ies') && word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}
