/** The saved pictures of a batch as an export takes them, and the scenes that have none. */
import { oneText } from './command.ts';
import { didYouMean } from '../lib/text/closest.ts';
import type { JsonObject } from '../lib/text/json.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { readBatch, resultColumns, type BatchIdentity } from '../runner/checkpoint/batch-identity.ts';
import { pictureIds } from '../runner/checkpoint/recorded-pictures.ts';
import { readRecords } from '../runner/checkpoint/scene-records.ts';
import { compileTemplate, listed, type Template, TemplateError } from '../runner/config/template.ts';
import { withValues } from '../runner/core/output-value.ts';
import { sidecarPath } from '../runner/core/picture-copy.ts';
import type { SavedPicture } from '../runner/core/picture.ts';
import { promptOf } from '../runner/core/prompt.ts';
import type { SceneRecord } from '../runner/core/scene-record.ts';
import { priceOf } from '../runner/core/spending.ts';
import type { ExportedPicture } from '../runner/export/exported-picture.ts';
import { pathOf } from '../runner/report/result-json.ts';
import { bucketOf } from '../batch/pictures-place.ts';
import { chosenRows } from './where-option.ts';

/** In the order of the list. */
export interface ExportedScenes {
  saved(): Iterable<ExportedPicture>;
  /** The same, saying what --where and --ids leave out; scenes without a picture go to `onMissing`. */
  all(onMissing: (row: SceneRecord) => void): Iterable<ExportedPicture>;
}

/** `copyEnding`: of the copy that stands for each picture. Throws `ConfigError`. */
export function exportedScenes(
  db: Database,
  argv: Record<string, unknown>,
  copyEnding: string | undefined,
): ExportedScenes {
  const batch = readBatch(db);
  const chosen = chosenRows(argv, db);
  const toPictures = pictureReader(db, batch, captioner(argv, batch), copyEnding);
  const silent = (): void => undefined;
  return {
    *saved() {
      for (const row of chosen(readRecords(db, { states: ['saved'] }), silent)) yield* toPictures(row);
    },
    *all(onMissing) {
      for (const row of chosen(readRecords(db))) {
        if (row.state === 'saved' && row.pictures.length > 0) yield* toPictures(row);
        else onMissing(row);
      }
    },
  };
}

function pictureReader(
  db: Database,
  batch: BatchIdentity | undefined,
  captionOf: (row: SceneRecord, columns: JsonObject) => string,
  copyEnding: string | undefined,
): (row: SceneRecord) => ExportedPicture[] {
  const { values: asked = [], pricing } = batch ?? {};
  const [bucket, idOf] = [bucketOf(db), pictureIds(db)];
  const isValue = new Set(asked.map(({ name }) => name));
  const names = columnNames(batch);
  const named = (copy: string): string => (copyEnding === undefined ? copy : sidecarPath(copy, copyEnding));
  const some = (all: JsonObject, wanted: string[]): JsonObject =>
    Object.fromEntries(wanted.map((name) => [name, Object.hasOwn(all, name) ? (all[name] ?? null) : null]));
  return (row) => {
    const { executionTimeMs, pictures } = row;
    const costOf = ({ width, height }: SavedPicture): number | null => {
      if (pricing === undefined || (pricing.perSecond !== undefined && executionTimeMs === null)) return null;
      const ms = (executionTimeMs ?? 0) / pictures.length;
      return priceOf({ ms, pictures: 1, pixels: width * height }, pricing);
    };
    return pictures.map((picture, index) => {
      const { file, width, height, bytes, sha256, seed = null, output } = picture;
      const all = index === 0 ? row.columns : withValues(row.columns, output, asked);
      return {
        id: idOf(row.id ?? '', index),
        scene: row.id ?? '',
        file: named(file),
        path: (bucket ?? '') + pathOf(picture),
        width,
        height,
        bytes,
        sha256,
        seed,
        prompt: promptOf(row.input ?? {}, row.columns) ?? '',
        endpoint: row.endpoint,
        attempts: row.attempts,
        cost: costOf(picture),
        columns: some(
          all,
          names.filter((name) => !isValue.has(name)),
        ),
        values: some(all, [...isValue]),
        caption: captionOf(row, all),
      };
    });
  };
}

function columnNames(batch: BatchIdentity | undefined): string[] {
  return [...new Set([...resultColumns(batch), ...(batch?.axes ?? [])])];
}

/** By `--caption`; what `list` shows as its prompt where it is not given. Throws `ConfigError`. */
function captioner(
  argv: Record<string, unknown>,
  batch: BatchIdentity | undefined,
): (row: SceneRecord, columns: JsonObject) => string {
  const text = oneText(argv, 'caption');
  const promptIn = (row: SceneRecord): string => promptOf(row.input ?? {}, row.columns) ?? '';
  if (text === undefined) return promptIn;
  const lacking = Object.fromEntries(columnNames(batch).map((name) => [name, null]));
  const template = captionTemplate(text, ['id', 'prompt', 'seed', ...Object.keys(lacking)]);
  return (row, columns) => {
    const own = { id: row.id, prompt: promptIn(row), seed: row.pictures[0]?.seed ?? null };
    return unlessWrong(() => template.renderText({ ...lacking, ...own, ...columns }), `scene ${row.id}: `);
  };
}

function captionTemplate(text: string, known: string[]): Template {
  const template = unlessWrong(() => compileTemplate(text));
  const problems = template.names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const hint = didYouMean(name, known) ?? `known are ${listed(known)}`;
      return { where: '--caption', text: `there is no column ${JSON.stringify(name)}; ${hint}` };
    });
  if (problems.length > 0) throw new ConfigError(problems);
  return template;
}

function unlessWrong<T>(work: () => T, of = ''): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new ConfigError([{ where: '--caption', text: of + error.message }]);
  }
}
