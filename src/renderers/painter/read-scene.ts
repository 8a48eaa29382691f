/** A scene's words → what is in the picture: time, season, and every thing with its count, colours and size; pure. */
import { type ColourName } from '../colour.ts';
import {
  breakWords,
  colourWords,
  countWords,
  partWords,
  seasonWords,
  several,
  sizeWords,
  timeWords,
  type TimeOfDay,
} from './adjectives.ts';
import { nounOf, pairs, type Kind } from './vocabulary.ts';

/** Something that the text speaks of. */
export interface Mention {
  kind: Kind;
  /** From 1 to `mostOfAThing`. */
  count: number;
  /** In the order they were said: the main colour first. */
  colours: ColourName[];
  /** Of its parts: "with a red roof". */
  trim: ColourName[];
  /** 1 is the usual size. */
  size: number;
}

export interface SceneDescription {
  time: TimeOfDay | 'any';
  season: 'autumn' | 'spring' | 'any';
  /** In the order they were first said. */
  mentions: Mention[];
  /** What the text says is not there: "without trees". */
  denied: Kind[];
  /** Every colour that was said, each once. */
  colours: ColourName[];
}

export const mostOfAThing = 60;
const mostMentions = 30;

export function readScene(text: string): SceneDescription {
  const reader = new Reader();
  const words = wordsOf(text);
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    const pair = pairs.get(`${word} ${words[index + 1] ?? ''}`);
    if (pair !== undefined) index += 1;
    reader.read(pair ?? word, words[index + 1] ?? '');
  }
  return reader.description;
}

/** The first mention of a kind. */
export function mentionOf(description: SceneDescription, kind: Kind): Mention | undefined {
  return description.mentions.find((mention) => mention.kind === kind);
}

export function speaksOf(description: SceneDescription, ...kinds: readonly Kind[]): boolean {
  return description.mentions.some((mention) => kinds.includes(mention.kind));
}

function wordsOf(text: string): string[] {
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .match(/\p{Extended_Pictographic}|[\p{L}\p{M}]+|\p{N}+|[.;!?]/gu);
  return words ?? [];
}

const treeKinds: ReadonlySet<Kind> = new Set([
  'pine',
  'palm',
  'oak',
  'apple',
  'cherry',
  'pear',
  'lemon',
  'fruit',
]);

/** Reads word by word; what is said before a noun waits for it. */
class Reader {
  readonly description: SceneDescription = {
    time: 'any',
    season: 'any',
    mentions: [],
    denied: [],
    colours: [],
  };
  #count: number | undefined;
  #colours: ColourName[] = [];
  #size = 1;
  #isDenied = false;
  #last: Mention | undefined;
  #wasNoun = false;

  read(word: string, next: string): void {
    const wasNoun = this.#wasNoun;
    this.#wasNoun = false;
    const noun = nounOf(word);
    if (this.#readTime(word, noun !== undefined)) return;
    if (noun !== undefined) this.#readNoun(noun.kind, noun.isPlural, wasNoun, next);
    else if (partWords.has(word)) this.#readPart();
    else this.#readAdjective(word, next);
  }

  #readTime(word: string, isNoun: boolean): boolean {
    const time = timeWords.get(word);
    if (time !== undefined && this.description.time === 'any') this.description.time = time;
    const season = seasonWords.get(word);
    if (season !== undefined && this.description.season === 'any') this.description.season = season;
    return (time !== undefined || season !== undefined) && !isNoun;
  }

  #readNoun(kind: Kind, isPlural: boolean, wasNoun: boolean, next: string): void {
    if (this.#isDenied) {
      this.description.denied.push(kind);
      return this.#forget();
    }
    if (kind === 'snow' && (nounOf(next)?.kind === 'mountain' || next === 'cap')) kind = 'snowcap';
    const owner = this.#last;
    if (wasNoun && owner !== undefined && (kind === 'tree' || kind === 'forest')) {
      if (treeKinds.has(owner.kind)) return this.#readTreesOf(owner, kind, isPlural);
    }
    const asked = isPlural && this.#count === 1 ? undefined : this.#count;
    const count = asked ?? (isPlural ? (several[kind] ?? 4) : 1);
    this.#add({
      kind,
      count: Math.min(count, mostOfAThing),
      colours: this.#colours,
      trim: [],
      size: this.#size,
    });
    this.#forget();
    this.#wasNoun = true;
  }

  /** "pine trees", "apple tree", "palm forest": the word before says which trees. */
  #readTreesOf(owner: Mention, kind: 'tree' | 'forest', isPlural: boolean): void {
    const isTree = owner.kind === 'pine' || owner.kind === 'palm' || owner.kind === 'oak';
    if (!isTree) {
      const blossom = owner.kind === 'cherry' ? 'pink' : 'green';
      owner.kind = 'tree';
      if (owner.colours.length === 0) owner.colours = [blossom];
    }
    if (isPlural && owner.count === 1) owner.count = several[owner.kind] ?? 8;
    if (kind === 'forest') this.#add({ kind, count: 1, colours: [], trim: [], size: 1 });
    this.#forget();
  }

  #readPart(): void {
    if (this.#last !== undefined && this.#colours.length > 0) this.#last.trim.push(...this.#colours);
    this.#forget();
  }

  #readAdjective(word: string, next: string): void {
    const colour = colourWords.get(word);
    const count = /^\d+$/.test(word) ? Number(word) : countWords.get(word);
    const size = sizeWords.get(word);
    if (colour !== undefined) this.#readColour(colour, word, next);
    else if (count !== undefined) this.#readCount(count);
    else if (size !== undefined) this.#size = size;
    else if (word === 'no' || word === 'without') this.#isDenied = true;
    else if (word === 'a' || word === 'an') this.#begin(1);
    else if (breakWords.has(word) || /^[.;!?]$/.test(word)) this.#forget();
  }

  /** "an orange" is a fruit where no other word follows that it could colour. */
  #readColour(colour: ColourName, word: string, next: string): void {
    if (!this.description.colours.includes(colour)) this.description.colours.push(colour);
    const isAlone = next === '' || breakWords.has(next) || /^[.;!?]$/.test(next) || next === 'and';
    if (word === 'orange' && isAlone && this.#count === 1 && this.#colours.length === 0) {
      this.#readNoun('fruit', false, false, next);
    } else if (!this.#colours.includes(colour)) {
      this.#colours.push(colour);
    }
  }

  #readCount(count: number): void {
    const dozens = count === 12 && this.#count !== undefined && this.#count > 1 ? this.#count : 1;
    this.#begin(count * dozens);
    if (count === 0) this.#isDenied = true;
  }

  /** A number or an article begins a new thing: colours before it belonged to a word that is not known. */
  #begin(count: number): void {
    const isDenied = this.#isDenied;
    this.#forget();
    this.#isDenied = isDenied;
    this.#count = count;
  }

  #add(mention: Mention): void {
    const { mentions } = this.description;
    const same = mentions.find(
      (other) => other.kind === mention.kind && (mention.colours.length === 0 || sameColours(other, mention)),
    );
    if (same !== undefined) same.count = Math.max(same.count, mention.count);
    else if (mentions.length < mostMentions) mentions.push(mention);
    this.#last = same ?? mention;
  }

  #forget(): void {
    this.#count = undefined;
    this.#colours = [];
    this.#size = 1;
    this.#isDenied = false;
  }
}

function sameColours(one: Mention, other: Mention): boolean {
  return one.colours.join() === other.colours.join();
}
