/** Collects the words before a noun: number, colours, material and size. */
import type { ColourName } from '../colour.ts';
import { couldStand, isBareNoun, isPluralForm } from './no-things.ts';
import type { Noun } from './nouns.ts';
import { colourWords, materialWords, mediumWords, sizeWords, type Material } from './other-words.ts';

/** A noun with the meaning of the words before it. */
export interface Mention {
  noun: Noun;
  /** Word of the prompt, in lower case. */
  word: string;
  /** From 1 to `maxCount`. */
  count: number;
  /** True if the prompt gives the number. Otherwise a plural means a few. */
  isCounted: boolean;
  /** In the order of the prompt, main colour first. */
  colours: ColourName[];
  /** Colours of parts: "with a red roof". */
  trim: ColourName[];
  material: Material | null;
  /** Relative to the usual size, which is 1. */
  size: number;
  /** Text written on it; empty for none. */
  text: string;
}

export const maxCount = 50;
/** Number of things that a plural without a number means. */
const usualPlural = 3;

/** The words since the beginning of a phrase, until its noun follows. */
export class Phrase {
  readonly isLed: boolean;
  count: number | null = null;
  colours: ColourName[] = [];
  material: Material | null = null;
  size = 1;
  isDenied = false;
  /** True after a comma that follows an unknown word, which may describe the next thing. */
  isPaused = false;
  wasNoun = false;
  /** True after "the", which may refer to something named before. */
  isDefinite = false;
  /** True after an article or a number. */
  isOfAThing = false;
  /** Unknown words; the last one may be the noun itself. */
  unknown: string[] = [];
  /** True if a verb followed the noun. */
  #isNamed = false;
  /** True if a verb follows a known noun ("a cat eating"), so the next word may be its object. */
  #isAfterVerb = false;

  /**
   * `isLed`: true if a thing may follow without an article: at the start of the text, after "and", "of" or a
   * relation.
   */
  constructor(isLed = false) {
    this.isLed = isLed;
  }

  /** Forgets the unknown words, because they have been read as something else. */
  take(): void {
    this.unknown = [];
    this.isOfAThing = false;
  }

  /** Reads a colour, a material or a size. True if the word is one. */
  describe(word: string): boolean {
    const [colour, material, size] = [colourWords.get(word), materialWords.get(word), sizeWords.get(word)];
    if (colour !== undefined && !this.colours.includes(colour)) this.colours.push(colour);
    this.material = material ?? this.material;
    this.size = size ?? this.size;
    return colour !== undefined || material !== undefined || size !== undefined;
  }

  /**
   * Adds an unknown word. A verb after the noun is not part of its name: "a clock ticking", "a clock strikes".
   */
  addUnknown(word: string): void {
    if (mediumWords.has(word)) return this.take();
    const noun = this.unknown.at(-1);
    this.#isAfterVerb ||= this.wasNoun && noun === undefined && word.endsWith('ing');
    const isVerb = /...(?:ing|ed)$/.test(word) || (this.count === 1 && isPluralForm(word));
    if (noun !== undefined && isBareNoun(noun) && couldStand(noun, true))
      this.#isNamed ||= isVerb || !couldStand(word, true);
    if (!this.#isNamed) this.unknown.push(word);
  }

  /** Returns the unknown word that is probably the noun, or null. */
  head(isBeforeArticle: boolean): string | null {
    // In "a gryphlet sees a cat", the word between two nouns is a verb.
    const isVerbLast = isBeforeArticle && this.unknown.length > 1 && !this.#isNamed;
    return this.unknown.at(isVerbLast ? -2 : -1) ?? null;
  }

  /** True if a word without an article can be a noun: "asparagus", "cats and gryphlets", "a cat eating soup". */
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
