/** Finds the noun that a word of a prompt names: a thing, a landscape, or something of the sky. */
import { landWords, pictureSigns, plainThings, skyWords, thingWords } from './noun-words.ts';

/** Places that no noun word names, because "a kitchen table" does not show a kitchen. */
export type Place = 'floor' | 'studio' | 'pavement' | 'sand' | 'water';
export type ThingNoun = Each<typeof plainThings> | keyof typeof thingWords;
export type Noun = ThingNoun | keyof typeof landWords | keyof typeof skyWords | Place;

const plain = plainThings.split(' ');
const things: ReadonlySet<string> = new Set([...plain, ...Object.keys(thingWords)]);
const listed = [thingWords, landWords, skyWords].flatMap((table) => Object.entries<string>(table));
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

export interface KnownNoun {
  noun: Noun;
  /** True if the word is a plural. */
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

export function isThing(noun: Noun): noun is ThingNoun {
  return things.has(noun);
}

const windowed = new Set(
  'house castle tower skyscraper barn church temple lighthouse windmill car bus train truck'.split(' '),
);

export function isWindowed(noun: Noun | null | undefined): boolean {
  return noun !== undefined && noun !== null && windowed.has(noun);
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
