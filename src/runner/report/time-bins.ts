/** Counting times in bins of a fixed number, whatever there is of them. */
import type { GalleryNight, GalleryTimes } from '../core/gallery-data.ts';

const maxNightBins = 120;
const minBinMs = 1000;

/** When scenes were saved and failed between two instants (epoch ms). */
export class NightBins {
  readonly #startedAt: number;
  readonly #binMs: number;
  readonly #saved: Uint32Array;
  readonly #failed: Uint32Array;

  constructor(startedAt: number, endedAt: number) {
    this.#startedAt = startedAt;
    const spanMs = Math.max(minBinMs, endedAt - startedAt);
    const count = Math.min(maxNightBins, Math.floor(spanMs / minBinMs));
    this.#binMs = spanMs / count;
    this.#saved = new Uint32Array(count);
    this.#failed = new Uint32Array(count);
  }

  /** What is outside is not counted. */
  add(at: number, outcome: 'saved' | 'failed'): void {
    const bins = outcome === 'saved' ? this.#saved : this.#failed;
    const bin = (at - this.#startedAt) / this.#binMs;
    if (bin < 0 || bin > bins.length) return;
    // The very end belongs to the last bin.
    const within = Math.min(Math.floor(bin), bins.length - 1);
    bins[within] = (bins[within] ?? 0) + 1;
  }

  result(): GalleryNight {
    return {
      startedAt: this.#startedAt,
      endedAt: this.#startedAt + this.#binMs * this.#saved.length,
      saved: [...this.#saved],
      failed: [...this.#failed],
    };
  }
}

/** Each fine bin is 2 % wider than the one before, so that a percentile is as exact, from 1 ms to weeks. */
const growth = Math.log(1.02);
const fineBins = 1200;
const shownBins = 40;

/** How long things took. */
export class DurationBins {
  readonly #fine = new Float64Array(fineBins);
  #count = 0;
  #mostMs = 0;

  add(ms: number): void {
    const bin = binOf(ms);
    this.#fine[bin] = (this.#fine[bin] ?? 0) + 1;
    this.#count += 1;
    this.#mostMs = Math.max(this.#mostMs, ms);
  }

  /** Null where there was none. The bins go up to where all but the longest of a hundred are, with some room. */
  result(): GalleryTimes | null {
    if (this.#count === 0) return null;
    const upToMs = Math.max(shownBins, Math.min(this.#mostMs, 1.5 * this.#percentile(0.99)));
    const bins = Array.from({ length: shownBins }, () => 0);
    for (const [bin, count] of this.#fine.entries()) {
      if (count === 0) continue;
      const shown = Math.min(shownBins - 1, Math.floor((middleOf(bin) / upToMs) * shownBins));
      bins[shown] = (bins[shown] ?? 0) + count;
    }
    const [p50Ms, p95Ms] = [this.#percentile(0.5), this.#percentile(0.95)];
    return { count: this.#count, p50Ms, p95Ms, mostMs: this.#mostMs, upToMs, bins };
  }

  #percentile(share: number): number {
    let left = Math.ceil(this.#count * share);
    for (const [bin, count] of this.#fine.entries()) {
      left -= count;
      if (left <= 0) return Math.min(this.#mostMs, middleOf(bin));
    }
    return this.#mostMs;
  }
}

function binOf(ms: number): number {
  return Math.min(fineBins - 1, Math.floor(Math.log(Math.max(0, ms) + 1) / growth));
}

/** Ms, whole. */
function middleOf(bin: number): number {
  return Math.round(Math.exp((bin + 0.5) * growth) - 1);
}
