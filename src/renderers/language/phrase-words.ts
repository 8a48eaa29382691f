/** What was said since a phrase began, and waits for its noun. */
import type { ColourName } from '../colour.ts';
import type { Material } from './other-words.ts';

/** How many a plural without a number means. */
const usualPlural = 3;

export class PhraseWords {
  count: number | null = null;
  colours: ColourName[] = [];
  material: Material | null = null;
  size = 1;
  isDenied = false;
  /** A comma was said after a word that is not known: that may have been about the thing that follows. */
  isPaused = false;
  wasNoun = false;
  /** It follows the text's beginning, a comma, an "and" or a relation: where a thing would stand. */
  isLed = false;
  /** An article or a number was said. */
  isOfAThing = false;
  /** The last word that is not known: perhaps the noun itself. */
  unknown: string | null = null;

  begin(): void {
    this.isOfAThing = true;
    this.count ??= 1;
  }

  /** Something else was made of what was said. */
  take(): void {
    this.unknown = null;
    this.isOfAThing = false;
  }

  describe(words: {
    colour?: ColourName | undefined;
    material?: Material | undefined;
    size?: number | undefined;
  }): void {
    if (words.colour !== undefined && !this.colours.includes(words.colour)) this.colours.push(words.colour);
    this.material = words.material ?? this.material;
    this.size = words.size ?? this.size;
    if (this.count !== null) this.isOfAThing = true;
  }

  countOf(isPlural: boolean): number {
    if (isPlural && this.count === 1) return usualPlural;
    return this.count ?? (isPlural ? usualPlural : 1);
  }
}
