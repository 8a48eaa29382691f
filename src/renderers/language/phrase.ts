/** What is said before a noun, and waits for it. */
import type { ColourName } from '../colour.ts';
import { couldStand, isBareNoun, isPluralForm } from './no-things.ts';
import type { Noun } from './nouns.ts';
import { colourWords, materialWords, mediumWords, sizeWords, type Material } from './other-words.ts';

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
  /** What is written on it, or nothing. */
  text: string;
}

export const maxCount = 50;
/** How many a plural without a number means. */
const usualPlural = 3;

/** What was said since a phrase began, and waits for its noun. */
export class Phrase {
  readonly isLed: boolean;
  count: number | null = null;
  colours: ColourName[] = [];
  material: Material | null = null;
  size = 1;
  isDenied = false;
  /** A comma was said after a word that is not known: that may have been about the thing that follows. */
  isPaused = false;
  wasNoun = false;
  /** "the": perhaps of something that was named before. */
  isDefinite = false;
  /** An article or a number was said. */
  isOfAThing = false;
  /** Words that are not known; the last is perhaps the noun itself. */
  unknown: string[] = [];
  /** A verb followed the noun. */
  #isNamed = false;
  /** "a cat eating": what is done follows what does it. */
  #isAfterVerb = false;

  /** `isLed` where a thing would stand: after the text's beginning, an "and", an "of" or a relation. */
  constructor(isLed = false) {
    this.isLed = isLed;
  }

  /** Something else was made of what was said. */
  take(): void {
    this.unknown = [];
    this.isOfAThing = false;
  }

  /** A colour, a material or a size: whether the word is one. */
  describe(word: string): boolean {
    const [colour, material, size] = [colourWords.get(word), materialWords.get(word), sizeWords.get(word)];
    if (colour !== undefined && !this.colours.includes(colour)) this.colours.push(colour);
    this.material = material ?? this.material;
    this.size = size ?? this.size;
    return colour !== undefined || material !== undefined || size !== undefined;
  }

  /** "a clock ticking", "a clock strikes": the verb is no part of its name. */
  addUnknown(word: string): void {
    if (mediumWords.has(word)) return this.take();
    const noun = this.unknown.at(-1);
    this.#isAfterVerb ||= this.wasNoun && noun === undefined && word.endsWith('ing');
    const isVerb = /...(?:ing|ed)$/.test(word) || (this.count === 1 && isPluralForm(word));
    if (noun !== undefined && isBareNoun(noun) && couldStand(noun, true))
      this.#isNamed ||= isVerb || !couldStand(word, true);
    if (!this.#isNamed) this.unknown.push(word);
  }

  /** The word among those not known that would be the noun. */
  head(isBeforeArticle: boolean): string | null {
    // "a gryphlet sees a cat": what stands between two nouns is a verb.
    const isVerbLast = isBeforeArticle && this.unknown.length > 1 && !this.#isNamed;
    return this.unknown.at(isVerbLast ? -2 : -1) ?? null;
  }

  /** Whether it is a noun though no article stands before it: "asparagus", "cats and gryphlets", "a cat eating soup". */
  couldName(word: string, isFirst: boolean): boolean {
    const isPlaced = this.isLed && (isFirst || isPluralForm(word));
    return isBareNoun(word) && (isPlaced || this.#isAfterVerb);
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
      text: '',
    };
  }
}
