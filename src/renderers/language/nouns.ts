/** Finds the noun that a word of a prompt names: a thing, a landscape, or something of the sky. */

/** Places that no noun word names, because "a kitchen table" does not show a kitchen. */
type Place = 'floor' | 'studio' | 'pavement' | 'sand' | 'water';
export type ThingNoun = Each<typeof plainThings> | keyof typeof thingWords;
export type Noun = ThingNoun | keyof typeof landWords | keyof typeof skyWords | Place;

export interface KnownNoun {
  noun: Noun;
  isPlural: boolean;
}

/** Returns the noun that a word names, in the singular or plural. */
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

const plainThings =
  'lighthouse windmill pyramid fence wall stopsign trafficlight parkingmeter snowman unicorn zebra pig bear panda tiger lion elephant giraffe owl penguin whale butterfly hotairballoon balloon kite train bed ladder banana pineapple pumpkin cake pizza hotdog sandwich broccoli carrot juice can fork knife spoon toothbrush microwave toaster sink toilet keyboard computermouse tie frisbee snowboard surfboard skateboard baseballbat baseballglove basketball baseball tennisball cone triangle heart raccoon squirrel goat microphone sword piano eiffeltower sydneyoperahouse statueofliberty yinyang tornado bowtie window sloth earth';

const plain = plainThings.split(' ');
/** The words for each thing that has more than its own name, in the singular. */
const thingWords = {
  house: 'house home cottage cabin hut farmhouse building dollhouse village town',
  castle: 'castle palace kremlin',
  tower: 'tower turret',
  skyscraper: 'skyscraper highrise',
  barn: 'barn stable',
  church: 'church chapel cathedral',
  temple: 'temple parthenon',
  bridge: 'bridge',
  statue: 'statue sculpture bust monument',
  hydrant: 'hydrant firehydrant',
  sign: 'sign signpost billboard poster',
  flag: 'flag banner',
  tree: 'tree birch maple willow elm',
  oak: 'oak beech',
  pine: 'pine fir spruce',
  christmastree: 'christmastree',
  palm: 'palm coconut',
  cactus: 'cactus saguaro',
  bush: 'bush shrub hedge',
  flower: 'flower tulip poppy rose wildflower blossom bloom daisy sunflower',
  pottedplant: 'pottedplant plant houseplant',
  rock: 'rock boulder stone cliff',
  person:
    'person man boy child kid baby guy father son knight soldier scientist politician chef fisherman farmer hiker king wizard cowboy student',
  woman: 'woman girl lady queen mother daughter sister princess witch bride',
  grandmother: 'grandmother grandma',
  grandfather: 'grandfather grandpa',
  teddybear: 'teddybear teddy',
  robot: 'robot android',
  cat: 'cat kitten tabby',
  dog: 'dog puppy corgi husky labradoodle poodle labrador shiba inu',
  fox: 'fox',
  horse: 'horse pony foal',
  cow: 'cow cattle bull',
  sheep: 'sheep lamb',
  rabbit: 'rabbit bunny hare',
  rat: 'rat hamster mouse',
  turtle: 'turtle tortoise',
  gecko: 'gecko lizard',
  bird: 'bird gull seagull swallow crow raven eagle dove pigeon',
  swan: 'swan duck goose',
  fish: 'fish goldfish salmon trout koi',
  shark: 'shark dolphin',
  car: 'car taxi porsche ferrari corvette',
  truck: 'truck lorry pickup',
  bus: 'bus van minivan',
  bicycle: 'bicycle bike',
  motorcycle: 'motorcycle motorbike',
  sailboat: 'sailboat sailship yacht',
  boat: 'boat rowboat canoe gondola raft dinghy',
  ship: 'ship steamer ferry steamship',
  plane: 'airplane plane aeroplane jet',
  rocket: 'rocket spaceship shuttle',
  planet: 'planet saturn jupiter mars',
  table: 'table diningtable desk shelf windowsill countertop',
  chair: 'chair stool',
  armchair: 'armchair throne',
  sofa: 'sofa couch',
  bench: 'bench pew',
  lamp: 'lamp lantern',
  bookshelf: 'bookshelf bookcase',
  mat: 'mat rug carpet towel',
  apple: 'apple',
  fruit: 'orange tangerine peach',
  lemon: 'lemon lime',
  donut: 'donut doughnut',
  cup: 'cup mug teacup coffee tea latte espresso',
  glass: 'glass wine cocktail goblet wineglass margarita martini',
  bottle: 'bottle beer',
  bowl: 'bowl soup',
  plate: 'plate saucer platter dish',
  teapot: 'teapot kettle',
  vase: 'vase pot jug pitcher',
  candle: 'candle candlelight',
  book: 'book dictionary novel',
  map: 'map',
  scissors: 'scissors scissor',
  hairdrier: 'hairdrier hairdryer',
  clock: 'clock alarmclock',
  fridge: 'fridge refrigerator',
  oven: 'oven stove',
  tv: 'tv television screen monitor',
  remote: 'tvremote remotecontrol',
  phone: 'phone cellphone smartphone telephone iphone',
  laptop: 'laptop notebook computer',
  guitar: 'guitar ukulele',
  hat: 'hat tophat',
  shoe: 'shoe sneaker boot',
  shirt: 'shirt tshirt jacket sweatshirt hoodie sweater suit tuxedo coat vest clothes',
  sunglasses: 'sunglasses goggles spectacles',
  cane: 'cane quarterstaff stick',
  umbrella: 'umbrella parasol',
  present: 'present gift',
  backpack: 'backpack rucksack',
  handbag: 'handbag bag purse',
  suitcase: 'suitcase',
  skis: 'skis ski',
  racket: 'racket racquet tennisracket tennisracquet',
  bucket: 'bucket pail bin',
  /** A thing without a shape of its own; drawn as a box with its name. */
  label: '🏷',
  ball: 'ball sportsball sphere marble orb',
  football: 'football soccerball',
  cube: 'cube box block crate chest square rectangle',
  /** A pyramid among other solids, which is not of stone. */
  solidpyramid: 'solidpyramid',
  ring: 'torus ring hoop',
  circle: 'circle disc dot',
} as const satisfies Record<string, string>;

const things: ReadonlySet<string> = new Set([...plain, ...Object.keys(thingWords)]);
const landWords = {
  sea: 'sea ocean seaside coast coastal shore bay harbor harbour wave surf marina',
  beach: 'beach',
  island: 'island isle',
  lake: 'lake lakeside pond fjord',
  river: 'river stream creek canal',
  mountain: 'mountain peak summit mount volcano everest mountainside',
  snowcap: 'snowcap snowcapped',
  hill: 'hill hillside valley countryside',
  desert: 'desert dune',
  meadow: 'meadow pasture grass grassy grassland lawn garden park landscape autumnland savanna',
  field: 'field farmland vineyard farm',
  forest: 'forest wood woodland grove jungle rainforest',
  snow: 'snow snowy winter wintry icy frozen arctic ice',
  path: 'path road trail track footpath highway runway',
  street: 'street avenue boulevard alley intersection',
  city: 'city skyline cityscape downtown metropolis manhattan newyork nyc london tokyo paris',
  space: 'space galaxy nebula universe cosmos outerspace milkyway',
} as const satisfies Record<string, string>;

const skyWords = {
  sky: 'sky heaven',
  sun: 'sun sunlight sunshine',
  moon: 'moon moonlight moonlit moonrise crescent',
  star: 'star starry starlit starlight constellation',
  aurora: 'aurora borealis northernlights',
  rainbow: 'rainbow',
  cloud: 'cloud cloudy overcast',
  rain: 'rain rainy raining drizzle downpour',
  snowfall: 'snowfall snowing blizzard snowstorm',
  fog: 'fog foggy mist misty haze hazy',
  storm: 'storm stormy thunderstorm hurricane',
  lightning: 'lightning thunder',
} as const satisfies Record<string, string>;

const listed = [thingWords, landWords, skyWords].flatMap((table) => Object.entries<string>(table));
const pictureSigns =
  '🏠 house, 🏰 castle, 🌳 tree, 🌲 pine, 🎄 christmastree, 🌴 palm, 🌵 cactus, 🌸 flower, 🌷 flower, 🌹 flower, 🌻 flower, ☃ snowman, 🧸 teddybear, 🤖 robot, 🐈 cat, 🐱 cat, 🐕 dog, 🐶 dog, 🦊 fox, 🐎 horse, 🐴 horse, 🦄 unicorn, 🐄 cow, 🐑 sheep, 🐻 bear, 🐼 panda, 🐘 elephant, 🐇 rabbit, 🐢 turtle, 🐦 bird, 🦉 owl, 🐧 penguin, 🦢 swan, 🐟 fish, 🐋 whale, 🦋 butterfly, 🚗 car, 🚚 truck, 🚌 bus, 🚂 train, 🚲 bicycle, 🏍 motorcycle, ⛵ sailboat, 🚢 ship, ✈ plane, 🚀 rocket, 🪐 planet, 🎈 balloon, 💡 lamp, 🍎 apple, 🍌 banana, 🍍 pineapple, 🎃 pumpkin, 🎂 cake, 🍕 pizza, 🍩 donut, ☕ cup, 🍷 glass, 🍾 bottle, 📖 book, 📚 book, 🎸 guitar, 🎩 hat, ☂ umbrella, 🎁 present, ⚽ football, 🏀 basketball, ❤ heart, 🌊 sea, 🏖 beach, 🏝 island, 🏞 river, ⛰ mountain, 🏔 snowcap, 🏜 desert, 🌾 field, ⛄ snowman, 🏙 city, 🌆 city, 🌃 city, 🌇 city, 🌌 space, ☀ sun, 🌞 sun, 🌅 sun, 🌄 sun, 🌙 moon, 🌕 moon, 🌝 moon, ⭐ star, 🌟 star, ✨ star, 🌈 rainbow, ☁ cloud, 🌧 rain, ☔ rain, ❄ snowfall, 🌨 snowfall, 🌫 fog, ⛈ storm, ⚡ lightning';

const nouns = new Map([
  ...plain.map((word) => [word, word] as const),
  ...listed.flatMap(([noun, words]) => words.split(' ').map((word) => [word, noun] as const)),
  ...pictureSigns.split(', ').map((pair) => pair.split(' ') as [string, string]),
]) as ReadonlyMap<string, Noun>;

const irregularPlurals = new Map(
  'geese goose, cacti cactus, people person, men man, women woman, children child, bookshelves bookshelf, knives knife, mice mouse, computermice computermouse'
    .split(', ')
    .map((pair) => pair.split(' ') as [string, string]),
);
const settlements: ReadonlySet<string> = new Set(['village', 'town']);

export function isThing(noun: Noun): noun is ThingNoun {
  return things.has(noun);
}

export function isSky(noun: Noun): boolean {
  return Object.hasOwn(skyWords, noun);
}

type Each<Words extends string, Before = never> = Words extends `${infer First} ${infer Rest}`
  ? Each<Rest, Before | First>
  : Before | Words;

/** A set of nouns from a list with spaces. An unknown noun does not compile. */
export function nounSet<Words extends string>(
  list: Each<Words> extends Noun ? Words : never,
): ReadonlySet<Noun> {
  return new Set(list.split(' ') as Noun[]);
}
