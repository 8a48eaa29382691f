/** What the renderer has a shape for, and the words for it that the painter does not know or means otherwise. */
import { nounOf as paintedNounOf, type Kind } from '../painter/vocabulary.ts';

/** In the singular. */
const ownWords = {
  chair: 'chair stool',
  armchair: 'armchair throne',
  sofa: 'sofa couch settee',
  bench: 'bench pew',
  bed: 'bed',
  lamp: 'lamp lantern 💡',
  streetlight: 'streetlight lamppost streetlamp',
  bookshelf: 'bookshelf bookcase',
  ladder: 'ladder',
  robot: 'robot android droid 🤖',
  bicycle: 'bicycle bike 🚲',
  truck: 'truck lorry pickup 🚚',
  bus: 'bus van minivan minibus 🚌 🚐',
  penguin: 'penguin 🐧',
  pig: 'pig piglet 🐖 🐷',
  elephant: 'elephant 🐘',
  bear: 'bear teddy panda 🐻 🐼 🧸',
  fox: 'fox 🦊',
  tiger: 'tiger 🐅 🐯',
  lion: 'lion 🦁',
  giraffe: 'giraffe 🦒',
  fish: 'fish goldfish salmon trout dolphin shark 🐟 🐠 🐬',
  turtle: 'turtle tortoise 🐢',
  pineapple: 'pineapple 🍍',
  banana: 'banana 🍌',
  watermelon: 'watermelon melon 🍉',
  cake: 'cake 🍰 🎂',
  hat: 'hat tophat 🎩',
  umbrella: 'umbrella parasol ☂ 🌂',
  sign: 'sign signpost signboard',
  stopsign: 'stopsign 🛑',
  present: 'present gift parcel 🎁',
  guitar: 'guitar ukulele 🎸',
  basketball: 'basketball 🏀',
  football: 'football soccerball ⚽',
  baseball: 'baseball',
  tennisball: 'tennisball',
  can: 'can',
  juice: 'juice',
  zebra: 'zebra 🦓',
  /** Among other solids: not one of stone. */
  solidpyramid: 'solidpyramid',
  glass: 'glass',
  fruit: 'orange',
  cone: 'cone',
  cylinder: 'cylinder pillar column',
  ring: 'torus ring donut doughnut hoop 🍩',
  laptop: 'laptop notebook computer 💻',
  plate: 'plate saucer platter dish 🍽',
  teapot: 'teapot kettle',
  hydrant: 'hydrant',
  barrel: 'barrel cask keg',
  bucket: 'bucket pail',
  wall: 'wall',
  mat: 'mat rug carpet towel',
  statue: 'statue sculpture bust monument 🗿',
  christmastree: 'christmastree',
  hotairballoon: 'hotairballoon',
  skyscraper: 'skyscraper highrise',
  sunflower: 'sunflower daisy 🌻 🌼',
} as const satisfies Record<string, string>;

export type Noun = Kind | keyof typeof ownWords;

const own = new Map<string, Noun>();
for (const [noun, words] of Object.entries(ownWords)) {
  for (const word of words.split(' ')) own.set(word, noun as Noun);
}

const irregularPlurals = new Map(
  Object.entries({
    benches: 'bench',
    glasses: 'glass',
    buses: 'bus',
    foxes: 'fox',
    fishes: 'fish',
    knives: 'knife',
  }),
);

/** What a word names, and whether it speaks of several. */
export function nounOf(word: string): { noun: Noun; isPlural: boolean } | undefined {
  const same = own.get(word);
  if (same !== undefined) return { noun: same, isPlural: false };
  const singular = irregularPlurals.get(word) ?? (word.endsWith('s') ? word.slice(0, -1) : word);
  const one = own.get(singular);
  if (one !== undefined) return { noun: one, isPlural: true };
  const painted = paintedNounOf(word);
  return painted === undefined ? undefined : { noun: painted.kind, isPlural: painted.isPlural };
}
