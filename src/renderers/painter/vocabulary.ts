/** The things the painter knows, and the words for them. */

/** What can be painted, with the words for it in the singular. */
const kindWords = {
  // the sky
  sun: 'sun sunlight sunshine ☀ 🌞 🌅 🌄',
  moon: 'moon moonlight moonlit moonrise 🌙 🌕 🌝',
  crescent: 'crescent 🌛 🌜',
  star: 'star starry starlit starlight constellation ⭐ 🌟 ✨',
  aurora: 'aurora borealis northernlights',
  cloud: 'cloud cloudy overcast ☁ ⛅',
  rainbow: 'rainbow 🌈',
  planet: 'planet saturn jupiter mars 🪐',
  space: 'space galaxy nebula universe cosmos outerspace milkyway 🌌',
  sky: 'sky skies heaven',
  // the weather
  rain: 'rain rainy raining drizzle downpour shower monsoon 🌧 ☔',
  snowfall: 'snowfall snowing blizzard snowstorm snowflake ❄ 🌨',
  fog: 'fog foggy mist misty haze hazy 🌫',
  storm: 'storm stormy thunderstorm thunder tempest hurricane ⛈',
  lightning: 'lightning ⚡ 🌩',
  // the land
  sea: 'sea ocean seaside coast coastal shore bay harbor harbour wave surf seascape atlantic pacific 🌊',
  beach: 'beach 🏖',
  island: 'island isle 🏝',
  lake: 'lake lakeside pond lagoon fjord',
  river: 'river stream creek canal brook riverside 🏞',
  mountain: 'mountain peak alp summit mount volcano everest mountainside ⛰ 🗻 🌋',
  snowcap: 'snowcap snowcapped 🏔',
  hill: 'hill hillside valley countryside highland moor',
  desert: 'desert dune sahara 🏜',
  meadow: 'meadow pasture grass grassy grassland lawn garden park prairie landscape savanna',
  field: 'field farmland vineyard farm plantation crop 🌾',
  forest: 'forest wood woodland grove jungle rainforest',
  snow: 'snow snowy winter wintry icy frozen arctic ice ⛄',
  path: 'path road trail lane street track footpath highway 🛤 🛣',
  city: 'city skyline cityscape downtown skyscraper metropolis manhattan newyork nyc london tokyo 🏙 🌆 🌃 🌇',
  // what stands on it
  house:
    'house home cottage cabin hut farmhouse villa bungalow chalet shack building dollhouse village town hamlet 🏠 🏡 🏘',
  castle: 'castle palace fortress 🏰 🏯',
  tower: 'tower turret',
  lighthouse: 'lighthouse',
  barn: 'barn stable',
  windmill: 'windmill mill',
  church: 'church chapel cathedral ⛪',
  tent: 'tent tipi camp ⛺ 🏕',
  pyramid: 'pyramid',
  bridge: 'bridge 🌉',
  fence: 'fence',
  tree: 'tree birch maple willow elm orchard 🌳',
  oak: 'oak beech',
  pine: 'pine fir spruce evergreen conifer 🌲 🎄',
  palm: 'palm coconut 🌴',
  cactus: 'cactus cacti saguaro 🌵',
  bush: 'bush shrub hedge',
  flower: 'flower tulip poppy rose daisy wildflower blossom sunflower bloom 🌸 🌷 🌹 🌻 🌼 🌺 💐',
  rock: 'rock boulder stone cliff',
  mushroom: 'mushroom toadstool 🍄',
  snowman: 'snowman ☃',
  cat: 'cat kitten kitty tabby 🐈 🐱',
  dog: 'dog puppy corgi hound labrador 🐕 🐶',
  horse: 'horse pony foal stallion mare unicorn 🐎 🐴 🦄',
  cow: 'cow cattle bull 🐄 🐮',
  sheep: 'sheep lamb ewe 🐑',
  rabbit: 'rabbit bunny hare 🐇 🐰',
  owl: 'owl 🦉',
  person:
    'person man woman people boy girl child children men women fisherman farmer hiker traveler traveller king queen wizard 🧍 🚶',
  car: 'car taxi truck van bus 🚗 🚕',
  train: 'train locomotive 🚂 🚆',
  // on the water
  sailboat: 'sailboat sailship yacht ⛵',
  boat: 'boat rowboat canoe gondola raft dinghy 🚣',
  ship: 'ship steamer ferry steamship 🚢 🛳',
  swan: 'swan duck goose 🦢 🦆',
  whale: 'whale 🐋 🐳',
  // in the air
  bird: 'bird gull seagull swallow crow raven eagle dove 🐦 🕊 🦅',
  balloon: 'balloon 🎈',
  kite: 'kite 🪁',
  plane: 'airplane plane aeroplane jet ✈ 🛩',
  butterfly: 'butterfly 🦋',
  rocket: 'rocket spaceship shuttle 🚀',
  // on a table
  table: 'table desk stilllife shelf windowsill countertop',
  ball: 'ball sphere marble orb basketball ⚽ 🏀',
  cube: 'cube box block crate',
  apple: 'apple 🍎 🍏',
  fruit: 'tangerine peach plum apricot 🍊 🍑',
  lemon: 'lemon lime 🍋',
  pear: 'pear 🍐',
  cherry: 'cherry 🍒',
  cup: 'cup mug teacup coffee tea latte espresso ☕ 🍵',
  glass: 'wine cocktail goblet wineglass 🍷',
  book: 'book dictionary novel 📖 📚 📕',
  vase: 'vase pot jug pitcher 🏺',
  bottle: 'bottle beer 🍾',
  bowl: 'bowl soup 🥣',
  candle: 'candle candlelight 🕯',
  pumpkin: 'pumpkin 🎃',
  // on paper
  circle: 'circle disc dot ring',
  square: 'square rectangle',
  triangle: 'triangle',
  heart: 'heart ❤ 💙 💚 💛 🧡 💜',
  diamond: 'diamond rhombus',
} as const satisfies Record<string, string>;

export type Kind = keyof typeof kindWords;

/** Pairs of words that mean one thing. */
export const pairs: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'northern lights': 'northernlights',
    'polar lights': 'northernlights',
    'new york': 'newyork',
    'hot air': 'hotair',
    'milky way': 'milkyway',
    'outer space': 'outerspace',
    'still life': 'stilllife',
    'sail boat': 'sailboat',
    'sailing boat': 'sailboat',
    'sailing ship': 'sailship',
    'sailing boats': 'sailboats',
    'snow capped': 'snowcapped',
    'snow topped': 'snowcapped',
    'snow covered': 'snowy',
    'golden hour': 'goldenhour',
    'blue hour': 'bluehour',
    'coffee table': 'table',
    'light house': 'lighthouse',
    'rolling hills': 'hills',
    'race track': 'road',
    'fall landscape': 'autumn',
    'fall colors': 'autumn',
    'fall colours': 'autumn',
    'fall leaves': 'autumn',
    'fall foliage': 'autumn',
    'falling snow': 'snowfall',
    'snow falling': 'snowfall',
    'living room': 'table',
    'wine bottle': 'bottle',
    'beer bottle': 'bottle',
    'ping pong': 'pingpong',
    'of course': 'ofcourse',
  }),
);

const irregularPlurals = {
  geese: 'goose',
  wolves: 'wolf',
  cacti: 'cactus',
  skies: 'sky',
  people: 'person',
  men: 'man',
  women: 'woman',
  children: 'child',
  cherries: 'cherry',
  bunnies: 'bunny',
  puppies: 'puppy',
  daisies: 'daisy',
  poppies: 'poppy',
  ponies: 'pony',
  butterflies: 'butterfly',
  cities: 'city',
  bushes: 'bush',
  churches: 'church',
  torches: 'torch',
  boxes: 'box',
  woods: 'wood',
} as const;

const kinds = new Map<string, Kind>();
for (const [kind, words] of Object.entries(kindWords)) {
  for (const word of words.split(' ')) kinds.set(word, kind as Kind);
}
const singulars = new Map<string, string>(Object.entries(irregularPlurals));

const settlements = new Set(['village', 'town', 'hamlet']);

/** What a word names, and whether it speaks of several. */
export function nounOf(word: string): { kind: Kind; isPlural: boolean } | undefined {
  const same = kinds.get(word);
  if (same !== undefined && !singulars.has(word)) return { kind: same, isPlural: settlements.has(word) };
  const singular = singulars.get(word) ?? (word.endsWith('s') ? word.slice(0, -1) : undefined);
  const kind = singular === undefined ? undefined : kinds.get(singular);
  return kind === undefined ? undefined : { kind, isPlural: true };
}
