/** The numbers of the report's page, counted while its rows are written. */
import { failureRules, isFailureKind } from '../core/failure.ts';
import type { BatchSummary, ReportRow, RunSpan } from '../core/report-row.ts';
import { shellWord } from '../../lib/text/format.ts';
import type { GalleryData, GalleryFailure, GalleryColumn } from '../core/gallery-data.ts';
import type { ReportHeader } from './result-json.ts';
import { DurationBins, NightBins } from './time-bins.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';

interface Counted {
  about: ReportHeader;
  summary: BatchSummary;
  runs: RunSpan[];
  columns: string[];
}

/** Scenes of a kind of failure that are shown: a row of them. */
const maxFirst = 6;

export class GalleryCounts {
  readonly #of: Counted;
  readonly #choices: ColumnChoices;
  readonly #nights: NightBins[];
  readonly #delay = new DurationBins();
  readonly #execution = new DurationBins();
  /** Saved scenes by the address that they were made at. */
  readonly #endpoints = new Map<string, number>();
  /** By kind. */
  readonly #failures = new Map<string, Pick<GalleryFailure, 'scenes' | 'text' | 'first'>>();
  #rows = 0;

  constructor(of: Counted) {
    this.#of = of;
    this.#choices = new ColumnChoices(of.columns, of.about.values ?? []);
    this.#nights = spansOf(of).map(([start, end]) => new NightBins(start, end));
  }

  add(row: ReportRow): void {
    this.#choices.add(row.columns);
    if (row.state === 'failed' || row.state === 'invalid') this.#addFailure(row);
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
    const { firstSubmittedAt, lastSavedAt, executionTimeMs } = summary.times;
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
      times: { firstSubmittedAt, lastSavedAt, executionTimeMs },
      failures: this.#failureGroups(),
      runs: runs.map(({ run, startedAt, endedAt, ending }) => ({ run, startedAt, endedAt, ending })),
      columns: this.#choices.result(),
      axes: about.axes,
      bias: about.bias ?? null,
      batch: this.#batch(),
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

  #addFailure({ failureKind, failureText }: ReportRow): void {
    const kind = failureKind ?? 'unknown';
    const group = this.#failures.get(kind) ?? { scenes: 0, text: short(failureText ?? ''), first: [] };
    if (group.first.length < maxFirst) group.first.push(this.#rows);
    this.#failures.set(kind, { ...group, scenes: group.scenes + 1 });
  }

  #batch(): string {
    const { pipeline = 'pipeline.yaml', output } = this.#of.about;
    return [pipeline, ...(output === undefined ? [] : ['--output', output])].map(shellWord).join(' ');
  }

  #failureGroups(): GalleryFailure[] {
    return [...this.#failures]
      .toSorted(([, a], [, b]) => b.scenes - a.scenes)
      .map(([kind, group]) => ({
        kind,
        ...group,
        means: isFailureKind(kind)
          ? failureRules[kind].means
          : 'a row of the manifest that cannot be rendered',
        command: isFailureKind(kind) ? `nightrender retry ${this.#batch()} --kind ${kind}` : null,
      }));
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

/** One example of many. */
function short(text: string): string {
  return text.length <= 2000 ? text : `${text.slice(0, 2000)} …`;
}

/** Which columns of a manifest have so few values that a reader may choose among them. */
const maxChoices = 50;

/** Characters: longer values are no names of anything. */
const maxChoiceLength = 80;

/** Columns whose values are counted: the page holds the values of all of these. */
const maxColumns = 100;

interface CountedColumn {
  name: string;
  counts: Map<string, number> | null;
  isValue: boolean;
  /** As in `GalleryColumn`; null where there is none. */
  range: [number, number] | null | undefined;
}

class ColumnChoices {
  readonly #columns: CountedColumn[];

  constructor(columns: string[], values: string[]) {
    this.#columns = columns.map((name, index) => ({
      name,
      counts: index < maxColumns && name !== 'id' ? new Map<string, number>() : null,
      isValue: values.includes(name),
      range: undefined,
    }));
  }

  add(columns: JsonObject): void {
    for (const column of this.#columns) {
      const value = columns[column.name];
      if (column.isValue && value !== undefined) column.range = widened(column.range, value);
      if (column.counts === null) continue;
      const text = choiceOf(value);
      if (text === undefined) continue;
      column.counts.set(text, (column.counts.get(text) ?? 0) + 1);
      if (column.counts.size > maxChoices || text.length > maxChoiceLength) column.counts = null;
    }
  }

  /** Numbers are sorted, texts in the order of the manifest: dawn, noon, dusk. */
  result(): GalleryColumn[] {
    return this.#columns.map(({ name, counts, isValue, range }) => ({
      name,
      choices: counts === null || counts.size === 0 || range ? null : inOrder([...counts]),
      ...(isValue && { isValue }),
      ...(range && { range }),
    }));
  }
}

/** Null once there was something else than a number. */
function widened(range: CountedColumn['range'], value: JsonValue): CountedColumn['range'] {
  if (range === null || typeof value !== 'number') return null;
  const [least, most] = range ?? [value, value];
  return [Math.min(least, value), Math.max(most, value)];
}

function inOrder(choices: [text: string, rows: number][]): [text: string, rows: number][] {
  const isNumeric = choices.every(([text]) => text.trim() !== '' && Number.isFinite(Number(text)));
  return isNumeric ? choices.toSorted(([a], [b]) => Number(a) - Number(b)) : choices;
}

/** As the page reads it, too; undefined where the row has none. */
function choiceOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
