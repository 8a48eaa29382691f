/** The numbers of the report's page, counted while its rows are written. */
import type { BatchSummary, RunSpan } from '../core/batch-summary.ts';
import type { SceneRecord } from '../core/scene-record.ts';
import { shellWord } from '../../lib/text/format.ts';
import type { GalleryData } from '../core/gallery-data.ts';
import { ColumnCounts } from './column-counts.ts';
import { FailureCauses } from './failure-causes.ts';
import type { ReportHeader } from './result-json.ts';
import { RunTime } from './run-time.ts';
import { DurationBins, NightBins } from './time-bins.ts';

interface Counted {
  about: ReportHeader;
  summary: BatchSummary;
  runs: RunSpan[];
  columns: string[];
}

/** In the timeline of the page. */
const maxRuns = 200;

export class GalleryCounts {
  readonly #of: Counted;
  readonly #columns: ColumnCounts;
  readonly #nights: NightBins[];
  readonly #delay = new DurationBins();
  readonly #execution = new DurationBins();
  /** Saved scenes by the address that they were made at. */
  readonly #endpoints = new Map<string, number>();
  readonly #failures = new FailureCauses();
  readonly #runTime: RunTime;
  #rows = 0;

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
      cost: cost && { spent: cost.spent, currency: cost.currency },
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

/** The whole batch, and the latest run where that is only a part of it. */
function spansOf({ summary, runs, about }: Counted): [number, number][] {
  const { firstSubmittedAt, lastSavedAt } = summary.times;
  if (firstSubmittedAt === null) return [];
  const last = runs.at(-1);
  const end = Math.max(lastSavedAt ?? 0, firstSubmittedAt, last?.endedAt ?? about.writtenAt);
  const whole: [number, number] = [firstSubmittedAt, end];
  const isPart = last !== undefined && last.startedAt > firstSubmittedAt + (end - firstSubmittedAt) / 10;
  return isPart ? [whole, [last.startedAt, last.endedAt ?? end]] : [whole];
}
