/** Counting numbers in a few bins, whatever their range turns out to be. */
import type { GalleryRange } from '../core/gallery-data.ts';

const maxBins = 48;

/** Far finer than anybody looks at, and still exact. */
const leastExponent = -60;

export class NumberBins {
  #least = Infinity;
  #most = -Infinity;
  /** The width is a power of two, so that two bins make one of twice the width. */
  #exponent = leastExponent;
  #bins = new Map<number, number>();

  add(value: number): void {
    this.#least = Math.min(this.#least, value);
    this.#most = Math.max(this.#most, value);
    while (this.#isTooFine()) this.#double();
    this.#count(this.#binOf(value), 1);
  }

  /** Undefined where there was none. */
  result(): GalleryRange | undefined {
    if (this.#bins.size === 0) return undefined;
    const [least, most, width] = [this.#least, this.#most, 2 ** this.#exponent];
    const first = this.#binOf(least);
    const length = this.#binOf(most) - first + 1;
    const bins = Array.from({ length }, (_, index) => this.#bins.get(first + index) ?? 0);
    return { least, most, from: first * width, width, bins };
  }

  #isTooFine(): boolean {
    const [first, last] = [this.#binOf(this.#least), this.#binOf(this.#most)];
    const areCountable = Number.isSafeInteger(first) && Number.isSafeInteger(last);
    return !areCountable || last - first >= maxBins;
  }

  #double(): void {
    const before = this.#bins;
    this.#exponent += 1;
    this.#bins = new Map();
    for (const [bin, count] of before) this.#count(Math.floor(bin / 2), count);
  }

  #binOf(value: number): number {
    return Math.floor(value / 2 ** this.#exponent);
  }

  #count(bin: number, count: number): void {
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + count);
  }
}
