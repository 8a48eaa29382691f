/** Writes the reports of a run, the final one and interim ones, and checks that recorded pictures still exist. */
import type { Ending } from '../core/ending.ts';
import { FatalFailure } from '../core/failure.ts';
import type { HeldResults } from '../core/halting.ts';
import type { PictureTotals } from '../core/picture.ts';
import type { RunStats } from '../core/run-stats.ts';
import type { SceneCounts } from '../core/scene.ts';
import type { Cost } from '../core/spending.ts';
import type { Checkpoint, ImageStore, MissingPictures, Ports, Removal, Report } from './ports.ts';
import type { Run } from './run-parts.ts';
import type { Stop } from './stop.ts';

export interface BatchResult {
  ending: Ending;
  counts: SceneCounts;
  /** Scenes of a preview by state. Undefined if the whole batch was rendered. */
  part: SceneCounts | undefined;
  pictures: PictureTotals;
  /** Folder of the result files. Undefined if they were not changed. */
  report: string | undefined;
  /** Undefined without `pricing`. */
  cost: Cost | undefined;
  stats: RunStats;
  /** Number of saved pictures that are missing or have another size. Also 0 if it was not checked. */
  missingPictures: number;
  held: HeldResults[];
  /** Number of paid jobs of this run whose results are lost. */
  lostResults: number;
}

export interface Progress {
  /** True if the scenes were compared with the manifest. */
  isPlanned: boolean;
  /** True if the plan found nothing to do and earlier runs left nothing. */
  isIdle: boolean;
  /** Decision that the user has to take before anything is submitted. */
  refusal: Error | undefined;
  resumed: number;
  /** True if a job in flight is left to the next run. */
  hasLeft: boolean;
  /** Undefined if it is unknown. */
  missing: MissingPictures | undefined;
}

/** Writes the final report and returns the result. Throws a bug or the refusal, unless the checkpoint was removed. */
export async function reportBatch(run: Run, progress: Progress): Promise<BatchResult> {
  const { stop, budget } = run;
  const { checkpoint, file } = run.ports;
  const stats = run.stats.result();
  const { part, ...counts } = await checkpoint.counts();
  const pictures = await checkpoint.pictureTotals();
  const { isPlanned, resumed, refusal, missing } = progress;
  const hasNews = isPlanned || (resumed > 0 && !stop.leaving.aborted);
  const reported = endingOf(stop, progress, counts, part);
  const isIdle = progress.isIdle && stop.ending === undefined;
  const kept = isIdle ? await run.ports.report.keep(reported) : undefined;
  const report = kept ?? (hasNews ? await writeRunReport(run, reported, stats) : undefined);
  run.end();
  const removed = await file?.removed();
  if (removed === undefined && stop.bug !== undefined) throw stop.bug;
  if (removed === undefined && refusal !== undefined) throw refusal;
  // If a required report is missing, its failure is the ending, even if every scene is saved.
  const cut = hasNews && report === undefined ? stop.ending : undefined;
  const ending = lostEnding(removed) ?? cut ?? endingOf(stop, progress, counts, part);
  const missingPictures = missing?.missing ?? 0;
  const { results, lostResults } = run.holds;
  const held = [...results, ...run.jobs.resultsOfLate(run.config.keepsMs)];
  const losses = { held, lostResults, missingPictures };
  return { ending, counts, part, pictures, report, cost: budget.cost(), stats, ...losses };
}

/** Writes the report and returns its path. Undefined after an error, which ends the run, or if the grace period is over. */
export async function writeRunReport(
  run: Run,
  ending: Ending,
  stats?: RunStats,
): Promise<string | undefined> {
  try {
    return await run.ports.report.write(ending, run.reportAbandoned, stats);
  } catch (thrown) {
    run.stop.forThrown(thrown);
    return undefined;
  }
}

function endingOf(
  stop: Stop,
  { isPlanned, hasLeft, missing: pictures }: Progress,
  counts: SceneCounts,
  part: SceneCounts | undefined,
): Ending {
  if (stop.ending?.kind === 'output-unwritable') return stop.ending;
  if (stop.ending !== undefined && !isPlanned)
    return { ...stop.ending, text: `${stop.ending.text}; the manifest was not compared with the batch` };
  // A job of a withdrawn row may be left, and unchecked pictures are not reported as present.
  if (stop.ending !== undefined && (hasLeft || pictures?.missing !== 0)) return stop.ending;
  if (pictures !== undefined && pictures.missing > 0)
    return { kind: 'incomplete', text: missingText(pictures) };
  const which = counts.unneeded === undefined ? '' : ' that is needed';
  if (missingOf(counts) === 0) return { kind: 'complete', text: `Every scene${which} is saved` };
  const missing = missingOf(part ?? counts);
  if (part !== undefined && missing === 0) return { kind: 'complete', text: previewText(part, counts) };
  const text = `${missing.toLocaleString('en')} ${missing === 1 ? 'scene' : 'scenes'}${part ? ' of this preview' : ''} ${missing === 1 ? 'is' : 'are'} not saved`;
  return stop.ending ?? { kind: 'incomplete', text };
}

function lostEnding(removed: Removal | undefined): Ending | undefined {
  if (removed === undefined) return undefined;
  const { text, isLost } = removed;
  return { kind: 'output-unwritable', text, ...(isLost && { isLost: true }) };
}

function missingOf({ waiting, active, failed, invalid }: SceneCounts): number {
  return waiting + active + failed + invalid;
}

function previewText({ saved }: SceneCounts, { waiting }: SceneCounts): string {
  const scenes =
    saved === 1
      ? 'The scene of this preview is'
      : `The ${saved.toLocaleString('en')} scenes of this preview are`;
  if (waiting === 0) return `${scenes} saved`;
  return `${scenes} saved; ${waiting.toLocaleString('en')} ${waiting === 1 ? 'waits' : 'wait'} for the full run`;
}

interface InterimPorts extends Pick<Ports, 'clock' | 'emit'> {
  report: Pick<Report, 'update'>;
}

/** Minimum pause as a multiple of the last report's duration, so reports take about 3 % of the time at most. */
const restShare = 30;

/** Writes reports at intervals during a run, so that a killed run leaves one. */
export class InterimReports {
  readonly #ports: InterimPorts;
  readonly #stop: Stop;
  readonly #over = new AbortController();
  #working: Promise<void> = Promise.resolve();
  #problem: string | undefined;

  constructor(ports: InterimPorts, stop: Stop) {
    this.#ports = ports;
    this.#stop = stop;
  }

  /** Starts the reports. Without `everyMs` none are written. */
  begin(everyMs: number | undefined): void {
    if (everyMs !== undefined) this.#working = this.#work(everyMs);
  }

  /** Cancels a report that is being written, and resolves when writing has stopped. */
  async end(): Promise<void> {
    this.#over.abort();
    await this.#working;
  }

  async #work(everyMs: number): Promise<void> {
    const { clock } = this.#ports;
    const signal = AbortSignal.any([this.#stop.leaving, this.#over.signal]);
    let waitMs = everyMs;
    while (!signal.aborted) {
      await clock.sleep(waitMs, signal);
      const began = clock.elapsed();
      if (!signal.aborted) await this.#write(signal);
      waitMs = Math.max(everyMs, restShare * (clock.elapsed() - began));
    }
  }

  /** Writes one report. A failing disk does not end the run, because a later report may succeed. */
  async #write(signal: AbortSignal): Promise<void> {
    const { report, emit } = this.#ports;
    try {
      await report.update(signal);
      this.#problem = undefined;
    } catch (thrown) {
      if (!(thrown instanceof FatalFailure)) return this.#stop.forThrown(thrown);
      const text = `the report of the run so far was not written: ${thrown.message}`;
      if (text !== this.#problem) emit({ type: 'warning', text });
      this.#problem = text;
    }
  }
}

interface WatchPorts extends Pick<Ports, 'emit'> {
  checkpoint: Pick<Checkpoint, 'savedPictures'>;
  images: Pick<ImageStore, 'findMissing'>;
}

/** Checks that recorded pictures still exist, during a run and at its end. */
export class PictureWatch {
  readonly #ports: WatchPorts;
  readonly #stop: Stop;
  readonly #over = new AbortController();
  #working: Promise<void> = Promise.resolve();

  constructor(ports: WatchPorts, stop: Stop) {
    this.#ports = ports;
    this.#stop = stop;
  }

  /** Starts a check in the background, which warns if pictures are missing. */
  begin(): void {
    const signal = AbortSignal.any([this.#stop.leaving, this.#over.signal]);
    const warn = (found: MissingPictures | undefined): void => {
      if (found === undefined || found.missing === 0) return;
      const text = `${missingText(found)}; the end of this run names the command that renders them again`;
      this.#ports.emit({ type: 'warning', text });
    };
    this.#working = this.#find(signal).then(warn, (thrown: unknown) => this.#stop.forThrown(thrown));
  }

  /** Returns the missing pictures; undefined if the check failed or the grace period is over. */
  async end(hurried: AbortSignal): Promise<MissingPictures | undefined> {
    this.#over.abort();
    await this.#working;
    try {
      return await this.#find(hurried);
    } catch (thrown) {
      this.#stop.forThrown(thrown);
      return undefined;
    }
  }

  async #find(signal: AbortSignal): Promise<MissingPictures | undefined> {
    const { checkpoint, images } = this.#ports;
    return images.findMissing(await checkpoint.savedPictures(), signal);
  }
}

/** Returns a sentence without its full stop. */
function missingText({ missing, checked, example }: MissingPictures): string {
  const verb = missing === 1 ? 'is missing or has' : 'are missing or have';
  return `${missing.toLocaleString('en')} of ${checked.toLocaleString('en')} saved files ${verb} another size${missing === 1 ? ':' : ', such as'} ${example}`;
}
