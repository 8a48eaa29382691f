/** The reports of a run: the one of its end, with how it ended, and those written while it works. */
import type { Ending } from '../core/ending.ts';
import type { HeldResults } from '../core/holding.ts';
import type { RunStats } from '../core/run-stats.ts';
import type { PictureTotals } from '../core/picture.ts';
import type { SceneCounts } from '../core/scene.ts';
import type { Cost } from '../core/spending.ts';
import { missingText } from './picture-watch.ts';
import type { MissingPictures, Removal, Ports, Report } from './ports.ts';
import type { Run } from './run.ts';
import type { Stop } from './stop.ts';
import { FatalFailure } from '../core/failure.ts';

export interface BatchResult {
  ending: Ending;
  counts: SceneCounts;
  /** Of the scenes that a preview was to render; undefined where all of the batch was. */
  part: SceneCounts | undefined;
  pictures: PictureTotals;
  /** The folder of the result files; undefined where they are what they were before. */
  report: string | undefined;
  /** Undefined without `pricing`. */
  cost: Cost | undefined;
  stats: RunStats;
  /** Saved pictures that are missing or have another size; 0 also where that was not checked. */
  missingPictures: number;
  /** Results of this run that wait for a setting. */
  held: HeldResults[];
  /** Paid jobs of this run whose results are lost. */
  lostResults: number;
}

/** How far a run came. */
export interface Progress {
  /** Whether the scenes are those of the manifest. */
  isPlanned: boolean;
  /** Whether the plan found nothing to do, and nothing of earlier runs was left. */
  isIdle: boolean;
  /** What a person has to decide before anything is submitted. */
  refusal: Error | undefined;
  /** Jobs of earlier runs that were in flight. */
  resumed: number;
  /** Whether a job in flight is left to the next run. */
  hasLeft: boolean;
  /** Undefined where it is unknown. */
  missing: MissingPictures | undefined;
}

/** Throws a bug or the refusal, unless the checkpoint was removed. */
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
  const report = kept ?? (hasNews ? await writeReport(run, reported, stats) : undefined);
  run.end();
  const removed = await file?.removed();
  if (removed === undefined && stop.bug !== undefined) throw stop.bug;
  if (removed === undefined && refusal !== undefined) throw refusal;
  // Where a report is due and lacking, what cut it is the ending, though every scene is saved.
  const cut = hasNews && report === undefined ? stop.ending : undefined;
  const ending = lostEnding(removed) ?? cut ?? endingOf(stop, progress, counts, part);
  const missingPictures = missing?.missing ?? 0;
  const { results: held, lostResults } = run.holds;
  const told = { held, lostResults, missingPictures };
  return { ending, counts, part, pictures, report, cost: budget.cost(), stats, ...told };
}

/** Undefined where the disk does not take it, which then ends the run, and where the grace of a leaving run is over. */
export async function writeReport(run: Run, ending: Ending, stats?: RunStats): Promise<string | undefined> {
  try {
    return await run.ports.report.write(ending, run.hurried, stats);
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
  // A job of a row that is gone may be left; and unchecked pictures are not reported as present.
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

/** The next report is not begun before this many times as long as the last one took: 3 % of the time at most. */
const restShare = 30;

/** Writes the report during a run now and then, so that a killed run leaves one. */
export class InterimReports {
  readonly #ports: InterimPorts;
  readonly #stop: Stop;
  readonly #over = new AbortController();
  #working: Promise<void> = Promise.resolve();
  /** Problem of the last report. */
  #problem: string | undefined;

  constructor(ports: InterimPorts, stop: Stop) {
    this.#ports = ports;
    this.#stop = stop;
  }

  /** None are written without `everyMs`. */
  begin(everyMs: number | undefined): void {
    if (everyMs !== undefined) this.#working = this.#work(everyMs);
  }

  /** Cuts the one that is being written; resolves when nothing is being written any more. */
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

  /** A disk that does not take it ends no run: there is another one to come. */
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
