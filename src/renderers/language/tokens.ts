/** Splits a prompt into words; a phrase with a meaning of its own becomes one token. Pure. */
import { nounOf } from './nouns.ts';

export interface Token {
  /** A word in lower case, a punctuation mark, or the word that stands for a phrase. */
  word: string;
  said: string[];
}

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (const [part, isQuoted] of quotedAndNot(text)) {
    const words = wordsOf(part);
    if (isQuoted && words.length > 0) tokens.push({ word: '@quoted', said: words });
    for (let index = isQuoted ? words.length : 0; index < words.length;) {
      const token = tokenAt(words, index);
      tokens.push(token);
      index += token.said.length;
    }
  }
  return tokens;
}

/** Splits a text at quotation marks. Quoted text is written in the picture. */
function quotedAndNot(text: string): (readonly [part: string, isQuoted: boolean])[] {
  const quotes = /["“]([^"“”]{1,80})["”]|(?<![\p{L}\p{N}])['‘]([^'‘’]{2,80})['’](?![\p{L}\p{N}])/u;
  return text.split(quotes).map((part: string | undefined, index) => [part ?? '', index % 3 > 0] as const);
}

export function wordsOf(text: string): string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .replaceAll(/[()[\]{}]/g, ',')
      .match(/\p{Extended_Pictographic}|\p{N}+(?![\p{L}\p{N}])|[\p{L}\p{M}\p{N}]+|[.,;!?]/gu) ?? []
  );
}

/** Phrases and the token that each is read as. Plurals need not be listed. Tokens with @ are not English words. */
const phraseTable = {
  '@front': 'in front of, at the front of',
  '@on': 'on top of, on the top of, top of',
  '@beside': 'next to, close to, on the side of, by the side of',
  '@left': 'to the left of, on the left of, on the left side of, left of',
  '@right': 'to the right of, on the right of, on the right side of, right of',
  '@behind': 'back of',
  '@amid': 'surrounded by',
  '@its-left': 'to its left, on its left, to the left, on the left',
  '@its-right': 'to its right, on its right, to the right, on the right',
  '@its-behind': 'behind it',
  '@its-front': 'in front of it',
  '@its-beside': 'beside it, next to it',
  '@its-on': 'on it, on top of it, on top',
  '@its-in': 'in it, inside it',
  '@its-under': 'under it',
  '@its-around': 'around it',
  '@its-above': 'above it',
  '@row': 'side by side',
  '@back': 'in the background',
  '@fore': 'in the foreground',
  '@near': 'close up',
  '@far': 'wide angle, wide shot',
  '@high': 'from above, bird s eye, aerial view, top view, high angle',
  '@low': 'from below, low angle',
  '@side': 'from the side, side view',
  '@made-of': 'made of, made out of, made from, in the shape of, in the form of',
  '@artist':
    'in the style of, in style of, style of, inspired by, painted by, drawn by, designed by, illustrated by, photographed by, trending on, featured on, shot on',
  tree: 'apple tree, cherry tree, lemon tree, orange tree, fruit tree',
  pine: 'pine tree',
  palm: 'palm tree',
  oak: 'oak tree',
  bridge: 'golden gate bridge',
  comic: 'comic book',
  panda: 'panda bear',
  scissors: 'pair of scissors',
  tshirt: 't shirt',
  yinyang: 'yin yang symbol, yin yang',
  street: 'times square',
  icecream: 'ice cream cone, ice cream',
  eiffeltower: 'eiffel tower',
  sydneyoperahouse: 'sydney opera house, opera house',
  statueofliberty: 'statue of liberty',
  'van gogh': 'vincent van gogh, van gogh',
  several: 'group of, row of, pile of, collection of, bunch of, bundle of, stack of',
  steel: 'stainless steel',
  crystal: 'stained glass',
  night: 'at night',
  goldenhour: 'golden hour',
  autumnland: 'fall landscape',
  autumn: 'fall colors, fall colours, fall leaves, fall foliage',
  moon: 'full moon',
  snowcap: 'snow cap, snow mountain, snow peak',
  snowcapped: 'snow capped, snow topped',
  snowy: 'snow covered',
  snowfall: 'falling snow, snow falling, snow is falling',
  hill: 'rolling hill',
  road: 'race track',
  stilllife: 'still life',
  grandmother: 'old woman, old lady, elderly woman',
  grandmothers: 'old women',
  grandfather: 'old man, elderly man',
  grandfathers: 'old men',
  sailboat: 'sailing boat',
  hotairballoon: 'hot air balloon',
  truck: 'pickup truck',
  car: 'race car, sports car',
  table: 'coffee table, ping pong table',
  bottle: 'wine bottle, beer bottle, bottle of wine, bottle of beer',
  can: 'beer can, soda can, tin can',
  juice: 'glass of orange juice, glass of juice, orange juice',
  wineglass: 'glass of wine, glass of red wine, glass of white wine, glass of water',
  cup: 'coffee cup, cup of coffee, cup of tea',
  vase: 'flower pot',
} as const satisfies Record<string, string>;

const phrases = new Map(
  Object.entries(phraseTable).flatMap(([word, list]) => list.split(', ').map((phrase) => [phrase, word])),
);
const maxPhraseWords = 5;

function tokenAt(words: string[], index: number): Token {
  for (let length = maxPhraseWords; length > 1; length -= 1) {
    const said = words.slice(index, index + length);
    const word = said.length === length ? meaningOf(said.join(' ')) : undefined;
    if (word !== undefined) return { word, said };
  }
  const [word = '', next = ''] = words.slice(index, index + 2);
  // Names written as one word, such as "stopsign", are also read as two words: "a stop sign".
  const isOne = word.length > 1 && next.length > 1 && nounOf(word + next) !== undefined;
  return isOne ? { word: word + next, said: [word, next] } : { word, said: [word] };
}

function meaningOf(phrase: string): string | undefined {
  const one = phrases.get(phrase);
  if (one !== undefined || !phrase.endsWith('s')) return one;
  const several = phrases.get(phrase.slice(0, -1)) ?? phrases.get(phrase.replace(/es$/, ''));
  return several === undefined || several.startsWith('@') ? undefined : `${several}s`;
}
