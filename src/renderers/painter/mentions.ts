/** What the painter can paint of a prompt: things and places, each with its count, colours and size; pure. */
import { namedColours, type Colour } from '../colour.ts';
import { isThing, nounSet, type Noun } from '../language/nouns.ts';
import { numberMap, wordMap, type Season, type TimeOfDay } from '../language/other-words.ts';
import type { Mention as PromptMention } from '../language/phrase.ts';
import { readPrompt } from '../language/read-prompt.ts';
import { entryOf } from './things/catalogue.ts';

export type Mention = Pick<PromptMention, 'noun' | 'count' | 'colours' | 'trim' | 'size'>;

export interface SceneDescription {
  time: TimeOfDay | null;
  season: Season | null;
  mentions: Mention[];
  /** What the prompt says is not there: "without trees". */
  denied: Noun[];
  /** Words that nothing in the picture stands for. */
  ignoredWords: string[];
}

/** Shapes that make a poster by themselves. */
export const onPaper = nounSet('circle square triangle heart diamond');

export function describe(text: string): SceneDescription {
  const { mentions: all, denied, time, season, ignoredWords } = readPrompt(text);
  const ignored = new Set(ignoredWords);
  const mentions: Mention[] = [];
  for (const said of all) {
    const noun = standIns.get(said.noun) ?? said.noun;
    const isPainted = !isThing(noun) || entryOf(noun) !== undefined || others.has(noun);
    if (isPainted) add(mentions, { ...said, noun, count: countOf(said, noun) });
    else ignored.add(said.word);
  }
  const denials = denied.map((noun) => standIns.get(noun) ?? noun);
  return { time, season, mentions, denied: denials, ignoredWords: [...ignored] };
}

/** The first mention of a noun. */
export function mentionOf(description: SceneDescription, noun: Noun): Mention | undefined {
  return description.mentions.find((mention) => mention.noun === noun);
}

export function speaksOf(description: SceneDescription, ...nouns: readonly Noun[]): boolean {
  return description.mentions.some((mention) => nouns.includes(mention.noun));
}

/** The colour that was said of the first of these nouns that has one. */
export function saidColour(description: SceneDescription, ...nouns: readonly Noun[]): Colour | undefined {
  const name = nouns.flatMap((noun) => mentionOf(description, noun)?.colours[0] ?? [])[0];
  return name === undefined ? undefined : namedColours[name];
}

/** One that the prompt does not make. */
export function newMention(noun: Noun, count = 1, size = 1): Mention {
  return { noun, count, colours: [], trim: [], size };
}

/** Things that are painted, and are not in the catalogue. */
const others: ReadonlySet<Noun> = new Set<Noun>(['table', 'planet', ...onPaper]);

/** What is painted in place of things that are not in the catalogue. */
const standIns = wordMap<Noun>({
  person: 'woman grandmother grandfather',
  path: 'street',
  car: 'truck bus',
  flower: 'sunflower',
  pine: 'christmastree',
  balloon: 'hotairballoon',
  city: 'skyscraper',
  ball: 'basketball football tennisball',
  cube: 'present',
  glass: 'juice',
  circle: 'ring',
  square: 'sign',
});

/** How many a plural without a number means, where it is not four. */
const several = numberMap({
  1: 'star',
  3: 'candle',
  5: 'oak palm cherry butterfly mushroom',
  6: 'cloud balloon sheep rock',
  7: 'house',
  8: 'tree',
  9: 'bird',
  11: 'pine',
  54: 'flower',
});

function countOf({ count, isCounted }: PromptMention, noun: Noun): number {
  return isCounted || count === 1 ? count : (several.get(noun) ?? 4);
}

/** The same thing said again is the same thing. */
function add(mentions: Mention[], said: Mention): void {
  const same = mentions.find(
    ({ noun, colours }) =>
      noun === said.noun && (said.colours.length === 0 || colours.join() === said.colours.join()),
  );
  if (same === undefined) mentions.push(said);
  else same.count = Math.max(same.count, said.count);
}
