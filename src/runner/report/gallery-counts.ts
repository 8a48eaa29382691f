/** Numbers of the report's page, counted while its rows are written. */
import type { BatchSummary, RunSpan, SceneRecord } from '../core/scene-record.ts';
import { shellWord } from '../../lib/text/format.ts';
import type {
  GalleryData,
  GalleryCause,
  GalleryFailure,
  GalleryNight,
  GalleryTimes,
} from '../core/gallery-data.ts';
import { ColumnCounts } from './gallery-row.ts';
import type { ReportHeader } from './result-columns.ts';
import { failureRules, isFailureKind } from '../core/failure.ts';

interface Counted {
  about: ReportHeader;
  summary: BatchSummary;
  runs: RunSpan[];
  columns: string[];
}

const maxRuns = 200;

export class GalleryCounts {
  readonly #of: Counted;
  readonly #columns: ColumnCounts;
  readonly #nights: NightBins[];
  readonly #delay = new DurationBins();
  readonly #execution = new DurationBins();
  readonly #endpoints = new Map<string, number>();
  readonly #failures = new FailureCauses();
  readonly #runTime: RunTime;
  #rows = 0;
  #sendsSeed = false;

  constructor(of: Counted) {
    this.#of = of;
    this.#columns = new ColumnCounts(of.columns, of.about.values ?? []);
    this.#runTime = new RunTime(of.runs);
    this.#nights = spansOf(of).map(([start, end]) => new NightBins(start, end));
  }

  add(row: SceneRecord): void {
    this.#columns.add(row.columns);
    this.#runTime.add(row);
    if (row.state === 'failed' || row.state === 'invalid') this.#failures.add(row, this.#rows);
    this.#rows += 1;
    if (row.input?.['seed'] !== undefined) this.#sendsSeed = true;
    const at = row.savedAt ?? (row.state === 'failed' ? row.completedAt : null);
    if (at !== null)
      for (const night of this.#nights) night.add(at, row.savedAt === null ? 'failed' : 'saved');
    if (row.savedAt === null) return;
    if (row.endpoint !== null)
      this.#endpoints.set(row.endpoint, (this.#endpoints.get(row.endpoint) ?? 0) + 1);
    if (row.delayTimeMs !== null) this.#delay.add(row.delayTimeMs);
    if (row.executionTimeMs !== null) this.#execution.add(row.executionTimeMs);
  }

  result(chunks: GalleryData['chunks']): GalleryData {
    const { about, summary, runs } = this.#of;
    const { scenes, pictures, cost } = summary;
    const { total, unanswered, expired } = summary.attempts;
    const { firstSubmittedAt, executionTimeMs } = summary.times;
    const batch = this.#batch();
    return {
      title: about.name,
      endpoint: this.#madeAt(),
      program: about.program,
      writtenAt: about.writtenAt,
      scenes,
      pictures,
      picturesAt: about.bucket?.picturesAt ?? null,
      stageAt: about.stageAt ?? null,
      isSigned: about.bucket?.sign !== undefined,
      attempts: { total, unanswered, expired },
      cost: cost && {
        spent: cost.spent,
        ...(cost.stated !== undefined && { stated: cost.stated }),
        currency: cost.currency,
      },
      times: { firstSubmittedAt, runMs: this.#runTime.ms(), executionTimeMs },
      failures: this.#failures.result(`nightrender retry ${batch}`),
      runs: runs
        .slice(-maxRuns)
        .map(({ run, startedAt, endedAt, ending }) => ({ run, startedAt, endedAt, ending })),
      columns: this.#columns.result(),
      axes: about.axes,
      bias: about.bias ?? null,
      batch,
      chunks,
      nights: this.#nights.map((night) => night.result()),
      delay: this.#delay.result(),
      execution: this.#execution.result(),
      ...(this.#sendsSeed && { sendsSeed: true }),
      ...(about.marks !== undefined && { marks: about.marks }),
    };
  }

  #madeAt(): string {
    const { baseUrl, id } = this.#of.about.batch.endpoint;
    if (this.#endpoints.size < 2)
      return baseUrl === 'local' ? `${id} of the local service` : `${id} at ${baseUrl}`;
    const counts = [...this.#endpoints].toSorted(([, a], [, b]) => b - a);
    return counts.map(([address, scenes]) => `${address} (${scenes.toLocaleString('en')})`).join(', ');
  }

  #batch(): string {
    const { pipeline = 'pipeline.yaml', output } = this.#of.about;
    return [pipeline, ...(output === undefined ? [] : ['--output', output])].map(shellWord).join(' ');
  }
}

/** Returns the periods of the whole batch and, if it is only a part of that, of the latest run. */
function spansOf({ summary, runs, about }: Counted): [number, number][] {
  const { firstSubmittedAt, lastSavedAt } = summary.times;
  if (firstSubmittedAt === null) return [];
  const last = runs.at(-1);
  const end = Math.max(lastSavedAt ?? 0, firstSubmittedAt, last?.endedAt ?? about.writtenAt);
  const whole: [number, number] = [firstSubmittedAt, end];
  const isPart = last !== undefined && last.startedAt > firstSubmittedAt + (end - firstSubmittedAt) / 10;
  return isPart ? [whole, [last.startedAt, last.endedAt ?? end]] : [whole];
}

/** Total time of a batch's runs. Overlaps count once, and pauses between runs do not count. */
class RunTime {
  /** Oldest first. A run without a recorded end is known to last until the last submission or save within it. */
  readonly #spans: { from: number; to: number; isOpen: boolean }[];

  constructor(runs: RunSpan[]) {
    this.#spans = runs.map(({ startedAt: from, endedAt }) => ({
      from,
      to: endedAt ?? from,
      isOpen: endedAt === null,
    }));
  }

  add({ submittedAt, savedAt }: SceneRecord): void {
    for (const at of [submittedAt, savedAt]) {
      if (at === null) continue;
      const span = this.#spans[this.#begunBy(at) - 1];
      if (span?.isOpen) span.to = Math.max(span.to, at);
    }
  }

  ms(): number {
    let [sum, until] = [0, -Infinity];
    for (const { from, to } of this.#spans) {
      sum += Math.max(0, to - Math.max(from, until));
      until = Math.max(until, to);
    }
    return sum;
  }

  /** Returns the number of runs that had begun. Binary search, because a million rows may meet ten thousand runs. */
  #begunBy(at: number): number {
    let [low, high] = [0, this.#spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#spans[middle]?.from ?? Infinity) <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Number of example scenes for each cause: one row of pictures. */
const maxFirst = 6;

/** Maximum number of causes of a kind that are counted, and that are shown. The rest is counted as one more cause. */
const maxCounted = 1000;
const maxCauses = 50;

/** Counts failures by kind and, within a kind, by cause: texts that differ only in numbers, ids and URLs. */
class FailureCauses {
  readonly #kinds = new Map<string, Map<string, GalleryCause>>();

  add({ failureKind, failureText }: SceneRecord, index: number): void {
    const kind = failureKind ?? 'unknown';
    const causes = this.#kinds.get(kind) ?? new Map<string, GalleryCause>();
    this.#kinds.set(kind, causes);
    const text = short(failureText ?? '');
    const own = causeOf(text);
    const isRest = causes.size >= maxCounted && !causes.has(`of ${own}`);
    const key = isRest ? 'rest' : `of ${own}`;
    const cause = causes.get(key) ?? { scenes: 0, text, first: [], ...(isRest && { isRest }) };
    if (cause.first.length < maxFirst) cause.first.push(index);
    cause.scenes += 1;
    causes.set(key, cause);
  }

  /** `retry` is the command that puts scenes back, without its options. */
  result(retry: string): GalleryFailure[] {
    const kinds = [...this.#kinds].map(([kind, all]) => {
      const causes = mostFrequent([...all.values()]);
      return {
        kind,
        scenes: causes.reduce((sum, { scenes }) => sum + scenes, 0),
        causes,
        means: isFailureKind(kind)
          ? failureRules[kind].means
          : 'a row of the manifest that cannot be rendered',
        command: isFailureKind(kind) ? `${retry} --kind ${kind}` : null,
      };
    });
    return kinds.toSorted((a, b) => b.scenes - a.scenes);
  }
}

function mostFrequent(all: GalleryCause[]): GalleryCause[] {
  const sorted = all.toSorted(
    (a, b) => Number(a.isRest ?? false) - Number(b.isRest ?? false) || b.scenes - a.scenes,
  );
  const rest = sorted.slice(maxCauses);
  const [example] = rest;
  if (example === undefined) return sorted;
  const scenes = rest.reduce((sum, cause) => sum + cause.scenes, 0);
  const first = rest.flatMap((cause) => cause.first).slice(0, maxFirst);
  return [...sorted.slice(0, maxCauses), { ...example, scenes, first, isRest: true }];
}

/** Returns the text with numbers and paths masked, so `2.5 GiB of 40` equals `3.1 GiB of 40`; codes stay. */
function causeOf(text: string): string {
  return text.replace(/[^\s"'`(){}[\],:;=]+/g, (word, at: number) => {
    const isStatus = /(?:answered|http|status|code)[\s:=]*$/i.test(text.slice(Math.max(0, at - 12), at));
    return /[\d/]/.test(word) && !isStatus ? '#' : word;
  });
}

/** Shortens a failure text, which is only an example of many. */
function short(text: string): string {
  return text.length <= 2000 ? text : `${text.slice(0, 2000)} …`;
}

const maxNightBins = 120;
const minBinMs = 1000;

/** Histogram of saved and failed scenes between two times, in epoch ms. */
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

  /** Counts a scene. Times outside the period are ignored. */
  add(at: number, outcome: 'saved' | 'failed'): void {
    const bins = outcome === 'saved' ? this.#saved : this.#failed;
    const bin = (at - this.#startedAt) / this.#binMs;
    if (bin < 0 || bin > bins.length) return;
    // The end of the period belongs to the last bin.
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

/** Each fine bin is 2 % wider than the one before: the same relative precision from 1 ms to weeks. */
const growth = Math.log(1.02);
const fineBins = 1200;
const shownBins = 40;

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

  /** Null if there were none. The bins cover the 99th percentile with a margin. */
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

/** Returns whole ms. */
function middleOf(bin: number): number {
  return Math.round(Math.exp((bin + 0.5) * growth) - 1);
}
