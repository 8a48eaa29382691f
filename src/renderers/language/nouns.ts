/** The nouns that a prompt can name, each with its words in the singular: things, land, and what is of the sky. */

/** They have a shape, and stand in the picture as often as the prompt says. */
const thingWords = {
  house:
    'house home cottage cabin hut farmhouse villa bungalow chalet shack building dollhouse village town hamlet 🏠 🏡 🏘',
  castle: 'castle palace fortress 🏰 🏯',
  tower: 'tower turret',
  skyscraper: 'skyscraper highrise',
  lighthouse: 'lighthouse',
  barn: 'barn stable',
  windmill: 'windmill mill',
  church: 'church chapel cathedral ⛪',
  tent: 'tent tipi camp ⛺ 🏕',
  pyramid: 'pyramid',
  bridge: 'bridge 🌉',
  fence: 'fence',
  wall: 'wall',
  statue: 'statue sculpture bust monument 🗿',
  hydrant: 'hydrant firehydrant',
  streetlight: 'streetlight lamppost streetlamp',
  sign: 'sign signpost signboard',
  stopsign: 'stopsign 🛑',
  trafficlight: 'trafficlight stoplight 🚦 🚥',
  parkingmeter: 'parkingmeter',
  // plants
  tree: 'tree birch maple willow elm orchard 🌳',
  oak: 'oak beech',
  pine: 'pine fir spruce evergreen conifer 🌲',
  christmastree: 'christmastree 🎄',
  palm: 'palm coconut 🌴',
  cactus: 'cactus saguaro 🌵',
  bush: 'bush shrub hedge',
  flower: 'flower tulip poppy rose wildflower blossom bloom 🌸 🌷 🌹 🌺 💐',
  sunflower: 'sunflower daisy 🌻 🌼',
  mushroom: 'mushroom toadstool 🍄',
  pottedplant: 'pottedplant plant houseplant 🪴',
  rock: 'rock boulder stone cliff',
  // people and animals
  person:
    'person man boy child father son knight soldier scientist politician chef fisherman farmer hiker traveler traveller king wizard 🧍 🚶',
  woman: 'woman girl lady queen mother daughter sister princess witch',
  grandmother: 'grandmother grandma granny',
  grandfather: 'grandfather grandpa granddad',
  snowman: 'snowman ☃',
  teddybear: 'teddybear teddy 🧸',
  robot: 'robot android droid 🤖',
  cat: 'cat kitten kitty tabby 🐈 🐱',
  dog: 'dog puppy corgi hound labrador 🐕 🐶',
  fox: 'fox 🦊',
  horse: 'horse pony foal stallion mare 🐎 🐴',
  unicorn: 'unicorn 🦄',
  zebra: 'zebra 🦓',
  cow: 'cow cattle bull 🐄 🐮',
  pig: 'pig piglet 🐖 🐷',
  sheep: 'sheep lamb ewe 🐑',
  bear: 'bear 🐻',
  panda: 'panda 🐼',
  tiger: 'tiger 🐅 🐯',
  lion: 'lion 🦁',
  elephant: 'elephant 🐘',
  giraffe: 'giraffe 🦒',
  rabbit: 'rabbit bunny hare 🐇 🐰',
  turtle: 'turtle tortoise 🐢',
  bird: 'bird gull seagull swallow crow raven eagle dove 🐦 🕊 🦅',
  owl: 'owl 🦉',
  penguin: 'penguin 🐧',
  swan: 'swan duck goose 🦢 🦆',
  fish: 'fish goldfish salmon trout dolphin shark 🐟 🐠 🐬',
  whale: 'whale 🐋 🐳',
  butterfly: 'butterfly 🦋',
  // what moves
  car: 'car taxi porsche ferrari corvette 🚗 🚕',
  truck: 'truck lorry pickup 🚚',
  bus: 'bus van minivan minibus 🚌 🚐',
  train: 'train locomotive 🚂 🚆',
  bicycle: 'bicycle bike 🚲',
  motorcycle: 'motorcycle motorbike 🏍',
  sailboat: 'sailboat sailship yacht ⛵',
  boat: 'boat rowboat canoe gondola raft dinghy 🚣',
  ship: 'ship steamer ferry steamship 🚢 🛳',
  plane: 'airplane plane aeroplane jet ✈ 🛩',
  rocket: 'rocket spaceship shuttle 🚀',
  planet: 'planet saturn jupiter mars 🪐',
  balloon: 'balloon 🎈',
  hotairballoon: 'hotairballoon',
  kite: 'kite 🪁',
  // furniture
  table: 'table diningtable desk shelf windowsill countertop',
  chair: 'chair stool',
  armchair: 'armchair throne',
  sofa: 'sofa couch settee',
  bench: 'bench pew',
  bed: 'bed',
  lamp: 'lamp lantern 💡',
  bookshelf: 'bookshelf bookcase',
  ladder: 'ladder',
  mat: 'mat rug carpet towel',
  // food
  apple: 'apple 🍎 🍏',
  fruit: 'orange tangerine peach plum apricot 🍊 🍑',
  lemon: 'lemon lime 🍋',
  pear: 'pear 🍐',
  cherry: 'cherry 🍒',
  banana: 'banana 🍌',
  pineapple: 'pineapple 🍍',
  watermelon: 'watermelon melon 🍉',
  pumpkin: 'pumpkin 🎃',
  cake: 'cake 🍰 🎂',
  pizza: 'pizza 🍕',
  donut: 'donut doughnut 🍩',
  hotdog: 'hotdog 🌭',
  sandwich: 'sandwich 🥪',
  broccoli: 'broccoli 🥦',
  carrot: 'carrot 🥕',
  // goods
  cup: 'cup mug teacup coffee tea latte espresso ☕ 🍵',
  glass: 'glass wine cocktail goblet wineglass 🍷',
  juice: 'juice',
  can: 'can',
  bottle: 'bottle beer 🍾',
  bowl: 'bowl soup 🥣',
  plate: 'plate saucer platter dish 🍽',
  teapot: 'teapot kettle',
  vase: 'vase pot jug pitcher 🏺',
  candle: 'candle candlelight 🕯',
  book: 'book dictionary novel 📖 📚 📕',
  fork: 'fork',
  knife: 'knife',
  spoon: 'spoon 🥄',
  scissors: 'scissors scissor ✂',
  toothbrush: 'toothbrush 🪥',
  hairdrier: 'hairdrier hairdryer',
  clock: 'clock alarmclock ⏰ 🕰',
  fridge: 'fridge refrigerator',
  oven: 'oven stove',
  microwave: 'microwave',
  toaster: 'toaster',
  sink: 'sink',
  toilet: 'toilet 🚽',
  tv: 'tv television 📺',
  keyboard: 'keyboard computerkeyboard ⌨',
  computermouse: 'computermouse 🖱',
  remote: 'tvremote remotecontrol',
  phone: 'phone cellphone smartphone telephone 📱',
  laptop: 'laptop notebook computer 💻',
  guitar: 'guitar ukulele 🎸',
  hat: 'hat tophat 🎩',
  umbrella: 'umbrella parasol ☂ 🌂',
  present: 'present gift parcel 🎁',
  backpack: 'backpack rucksack 🎒',
  handbag: 'handbag bag purse 👜',
  suitcase: 'suitcase 🧳',
  tie: 'tie necktie 👔',
  frisbee: 'frisbee 🥏',
  skis: 'skis ski 🎿',
  snowboard: 'snowboard 🏂',
  surfboard: 'surfboard 🏄',
  skateboard: 'skateboard 🛹',
  racket: 'racket racquet tennisracket tennisracquet 🎾',
  baseballbat: 'baseballbat',
  baseballglove: 'baseballglove',
  barrel: 'barrel cask keg',
  bucket: 'bucket pail',
  /** What has no shape here stands as a box with its name. */
  label: '🏷',
  // plain forms
  ball: 'ball sportsball sphere marble orb',
  basketball: 'basketball 🏀',
  football: 'football soccerball ⚽',
  baseball: 'baseball',
  tennisball: 'tennisball',
  cube: 'cube box block crate',
  /** Among other solids: not one of stone. */
  solidpyramid: 'solidpyramid',
  cone: 'cone',
  cylinder: 'cylinder pillar column',
  ring: 'torus ring hoop',
  circle: 'circle disc dot',
  square: 'square rectangle',
  triangle: 'triangle',
  heart: 'heart ❤ 💙 💚 💛 🧡 💜',
  diamond: 'diamond rhombus',
} as const satisfies Record<string, string>;

/** Where the things are. */
const landWords = {
  sea: 'sea ocean seaside coast coastal shore bay harbor harbour wave surf seascape atlantic pacific 🌊',
  beach: 'beach 🏖',
  island: 'island isle 🏝',
  lake: 'lake lakeside pond lagoon fjord',
  river: 'river stream creek canal brook riverside 🏞',
  mountain: 'mountain peak alp summit mount volcano everest mountainside ⛰ 🗻 🌋',
  snowcap: 'snowcap snowcapped 🏔',
  hill: 'hill hillside valley countryside highland moor',
  desert: 'desert dune sahara 🏜',
  meadow: 'meadow pasture grass grassy grassland lawn garden park prairie landscape autumnland savanna',
  field: 'field farmland vineyard farm plantation crop 🌾',
  forest: 'forest wood woodland grove jungle rainforest',
  snow: 'snow snowy winter wintry icy frozen arctic ice ⛄',
  path: 'path road trail lane track footpath highway 🛤 🛣',
  street: 'street avenue boulevard alley',
  city: 'city skyline cityscape downtown metropolis manhattan newyork nyc london tokyo 🏙 🌆 🌃 🌇',
  space: 'space galaxy nebula universe cosmos outerspace milkyway 🌌',
} as const satisfies Record<string, string>;

/** Sun, moon and stars, and the weather. */
const skyWords = {
  sky: 'sky heaven',
  sun: 'sun sunlight sunshine ☀ 🌞 🌅 🌄',
  moon: 'moon moonlight moonlit moonrise 🌙 🌕 🌝',
  crescent: 'crescent 🌛 🌜',
  star: 'star starry starlit starlight constellation ⭐ 🌟 ✨',
  aurora: 'aurora borealis northernlights',
  rainbow: 'rainbow 🌈',
  cloud: 'cloud cloudy overcast ☁ ⛅',
  rain: 'rain rainy raining drizzle downpour shower monsoon 🌧 ☔',
  snowfall: 'snowfall snowing blizzard snowstorm snowflake ❄ 🌨',
  fog: 'fog foggy mist misty haze hazy 🌫',
  storm: 'storm stormy thunderstorm thunder tempest hurricane ⛈',
  lightning: 'lightning ⚡ 🌩',
} as const satisfies Record<string, string>;

/** Places that words name without being their nouns: "a kitchen table" is no kitchen. */
export type Place = 'floor' | 'studio' | 'pavement' | 'sand' | 'water';
export type ThingNoun = keyof typeof thingWords;
export type Noun = ThingNoun | keyof typeof landWords | keyof typeof skyWords | Place;

const nouns = new Map<string, Noun>();
for (const table of [thingWords, landWords, skyWords]) {
  for (const [noun, words] of Object.entries(table)) {
    for (const word of words.split(' ')) nouns.set(word, noun as Noun);
  }
}

const irregularPlurals = new Map(
  Object.entries({
    geese: 'goose',
    cacti: 'cactus',
    people: 'person',
    men: 'man',
    women: 'woman',
    children: 'child',
    bookshelves: 'bookshelf',
    knives: 'knife',
    computermice: 'computermouse',
  }),
);
const settlements: ReadonlySet<string> = new Set(['village', 'town', 'hamlet']);

export interface KnownNoun {
  noun: Noun;
  /** The word speaks of several. */
  isPlural: boolean;
}

/** What a word names. */
export function nounOf(word: string): KnownNoun | undefined {
  const same = nouns.get(word);
  if (same !== undefined) return { noun: same, isPlural: settlements.has(word) };
  for (const singular of singularsOf(word)) {
    const noun = nouns.get(singular);
    if (noun !== undefined) return { noun, isPlural: true };
  }
  return undefined;
}

function singularsOf(word: string): string[] {
  const irregular = irregularPlurals.get(word);
  if (irregular !== undefined) return [irregular];
  if (!word.endsWith('s')) return [];
  const isSibilant = /(?:s|x|z|ch|sh)es$/.test(word);
  return [word.slice(0, -1), ...(isSibilant ? [word.slice(0, -2)] : []), word.replace(/ies$/, 'y')];
}

export function isThing(noun: Noun): noun is ThingNoun {
  return Object.hasOwn(thingWords, noun);
}

export function isSky(noun: Noun): boolean {
  return Object.hasOwn(skyWords, noun);
}

type Each<Words extends string> = Words extends `${infer First} ${infer Rest}` ? First | Each<Rest> : Words;

/** A set of nouns with a space between them; a word that is none does not compile. */
export function nounSet<Words extends string>(
  list: Each<Words> extends Noun ? Words : never,
): ReadonlySet<Noun> {
  return new Set(list.split(' ') as Noun[]);
}
