/** What is said before a noun, and waits for it. */
import type { ColourName } from '../colour.ts';
import { couldStand, isPluralForm } from './no-things.ts';
import type { Noun } from './nouns.ts';
import type { Material } from './other-words.ts';

/** What a noun says with the words before it. */
export interface Mention {
  noun: Noun;
  /** As the prompt says it, in lower case. */
  word: string;
  /** From 1 to `maxCount`. */
  count: number;
  /** The prompt gives the number; a plural alone is a few. */
  isCounted: boolean;
  /** In the order they were said: the main colour first. */
  colours: ColourName[];
  /** Of its parts: "with a red roof". */
  trim: ColourName[];
  material: Material | null;
  /** 1 is the usual size. */
  size: number;
}

export const maxCount = 50;
/** How many a plural without a number means. */
const usualPlural = 3;

/** What was said since a phrase began, and waits for its noun. */
export class Phrase {
  count: number | null = null;
  colours: ColourName[] = [];
  material: Material | null = null;
  size = 1;
  isDenied = false;
  /** "cherry trees": what the trees are of. */
  treeOf: Noun | null = null;
  /** A comma was said after a word that is not known: that may have been about the thing that follows. */
  isPaused = false;
  wasNoun = false;
  /** It follows the text's beginning, an "and", an "of" or a relation: where a thing would stand. */
  isLed = false;
  /** "the": perhaps of something that was named before. */
  isDefinite = false;
  /** An article or a number was said. */
  isOfAThing = false;
  /** Words that are not known; the last is perhaps the noun itself. */
  unknown: string[] = [];
  /** A verb followed the noun. */
  isNamed = false;

  /** Something else was made of what was said. */
  take(): void {
    this.unknown = [];
    this.isOfAThing = false;
  }

  /** "a clock ticking", "a clock strikes": the verb is no part of its name. */
  addUnknown(word: string): void {
    const noun = this.unknown.at(-1);
    const isVerb = /...(?:ing|ed)$/.test(word) || (this.count === 1 && isPluralForm(word));
    if (noun !== undefined && couldStand(noun, true)) this.isNamed ||= isVerb || !couldStand(word, true);
    if (!this.isNamed) this.unknown.push(word);
  }

  mentionOf<Named extends Noun | null>(
    noun: Named,
    word: string,
    isPlural: boolean,
  ): Omit<Mention, 'noun'> & { noun: Named } {
    const count = isPlural && this.count === 1 ? null : this.count;
    const { colours, material, size } = this;
    return {
      noun,
      word,
      count: Math.min(maxCount, count ?? (isPlural ? usualPlural : 1)),
      isCounted: count !== null,
      colours,
      trim: [],
      material,
      size,
    };
  }
}
