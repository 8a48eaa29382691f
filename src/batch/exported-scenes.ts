/** The scenes and pictures of an export, with captions and names by templates over their columns and values. */
import { didYouMean } from '../lib/text/closest.ts';
import type { JsonObject } from '../lib/text/json.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { type BatchIdentity, resultColumns, readBatch } from '../runner/checkpoint/batch-identity.ts';
import {
  compileName,
  compileTemplate,
  listed,
  type Template,
  TemplateError,
} from '../runner/config/template.ts';
import { nameKey, promptOf, withSuffix } from '../runner/core/naming.ts';
import {
  mediaEndings,
  withoutFormat,
  copyEnding,
  type PictureCopy,
  type SavedPicture,
  sidecarPath,
} from '../runner/core/picture.ts';
import type { SceneRecord } from '../runner/core/scene-record.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { pictureIds } from '../runner/checkpoint/recorded-pictures.ts';
import { readRecords } from '../runner/checkpoint/scene-records.ts';
import { withValues } from '../runner/core/seeds-until.ts';
import { clipValues } from '../runner/core/clip.ts';
import { hasPrice, priceOf } from '../runner/core/spending.ts';
import type { ExportKind } from '../runner/export/export-folder.ts';
import type { ExportedPicture } from '../runner/export/checked-pictures.ts';
import { pathInOutput } from '../runner/report/result-columns.ts';
import { chosenRows, type RowsChosen } from './retry-scenes.ts';
import { bucketOf } from './pictures-place.ts';

/** Choices of an export. Scenes that are not chosen are left out. */
export interface ExportChoices extends RowsChosen {
  to: ExportKind;
  /** Absolute path of the dataset's folder. */
  dir: string;
  /** Number of pictures in each file of webdataset and parquet. */
  shard: number;
  /** Template for the text of a picture. Undefined for its prompt. */
  caption: string | undefined;
  /** Template for the names of the exported files. Undefined for those of the pictures. */
  name: string | undefined;
  /** True if Parquet contains the pictures and clips themselves. */
  isEmbedded: boolean;
  /** Copy that is exported instead of the picture. */
  copy: PictureCopy | undefined;
  /** True if pictures of a gallery keep texts about their making, and the page shows prompts. */
  isWithMetadata: boolean;
  /** True if files are linked instead of copied, where the disk allows it. */
  isLinked: boolean;
}

/** Pictures in the order of the list. */
export interface ExportedScenes {
  /** Names of the columns and values. */
  columns: string[];
  saved(): Iterable<ExportedPicture>;
  /** Returns the same pictures, with a note about excluded ones. Calls `onMissing` for scenes without a picture. */
  all(onMissing: (row: SceneRecord) => void, onNote: (text: string) => void): Iterable<ExportedPicture>;
}

/** Reads the chosen pictures. Throws `ConfigError`; the iterables throw the reason of `signal`. */
export function exportedScenes(
  db: Database,
  { copy, caption, name, ...rows }: ExportChoices,
  signal: AbortSignal | undefined,
): ExportedScenes {
  const batch = readBatch(db);
  const chosen = chosenRows(rows, db);
  const texts = exportTexts({ caption, name }, batch);
  const toPictures = pictureReader(db, batch, texts, copy && copyEnding(copy));
  const silent = (): void => undefined;
  return {
    columns: texts.columns,
    *saved() {
      for (const row of chosen(readRecords(db, { states: ['saved'] }), silent)) yield* toPictures(row);
    },
    *all(onMissing, onNote) {
      const free = texts.uniqueNames();
      for (const row of chosen(readRecords(db), onNote)) {
        signal?.throwIfAborted();
        if (row.state === 'saved' && row.pictures.length > 0)
          for (const each of toPictures(row)) yield { ...each, name: free(each.name) };
        else onMissing(row);
      }
    },
  };
}

/** Returns a function that lists a scene's pictures. `ending` is that of the copy which replaces each picture. */
function pictureReader(
  db: Database,
  batch: BatchIdentity | undefined,
  texts: ExportTexts,
  ending: string | undefined,
): (row: SceneRecord) => ExportedPicture[] {
  const { columns: names, captionOf, nameOf } = texts;
  const { values: asked = [], pricing } = batch ?? {};
  const [bucket, idOf] = [bucketOf(db), pictureIds(db)];
  const isValue = new Set(asked.map(({ name }) => name));
  const named = (copy: string): string => (ending === undefined ? copy : sidecarPath(copy, ending));
  const some = (all: JsonObject, wanted: string[]): JsonObject =>
    Object.fromEntries(wanted.map((name) => [name, Object.hasOwn(all, name) ? (all[name] ?? null) : null]));
  return (row) => {
    const { executionTimeMs, statedCost, pictures } = row;
    const costOf = ({ width, height, output }: SavedPicture): number | null => {
      if (statedCost !== null) return statedCost / pictures.length;
      const isRated = pricing !== undefined && hasPrice({ ...pricing, at: undefined });
      if (!isRated || (pricing.perSecond !== undefined && executionTimeMs === null)) return null;
      const ms = (executionTimeMs ?? 0) / pictures.length;
      const clipMs = output?.clip?.durationMs;
      if (pricing.perSecondOfVideo !== undefined && clipMs === undefined) return null;
      return priceOf({ ms, pictures: 1, pixels: width * height, ...(clipMs && { clipMs }) }, pricing);
    };
    return pictures.map((picture, index) => {
      const { file, width, height, bytes, sha256, seed = null, output } = picture;
      const all = index === 0 ? row.columns : withValues(row.columns, output, asked);
      return {
        id: idOf(row.id ?? '', index),
        scene: row.id ?? '',
        file: named(file),
        name: nameOf(row, all, index, named(file)),
        path: (bucket ?? '') + pathInOutput(picture),
        width,
        height,
        bytes,
        sha256,
        seed,
        prompt: texts.promptOf(row),
        endpoint: row.endpoint,
        attempts: row.attempts,
        cost: costOf(picture),
        columns: some(
          all,
          names.filter((name) => !isValue.has(name)),
        ),
        values: some(all, [...isValue]),
        caption: captionOf(row, all),
        ...(output?.clip && { clip: clipValues(output.clip) }),
      };
    });
  };
}

/** Texts of the pictures of a batch. The functions throw `ConfigError` if a template has no result for a picture. */
interface ExportTexts {
  /** Names of the columns and values. */
  columns: string[];
  /** Returns the prompt, or '' if there is none. */
  promptOf: (row: SceneRecord) => string;
  captionOf: (row: SceneRecord, columns: JsonObject) => string;
  /** `file` is the picture's own name. `index` is 0 for the first picture of the scene. */
  nameOf: (row: SceneRecord, columns: JsonObject, index: number, file: string) => string;
  /** Returns a function that makes the names of one export unique. */
  uniqueNames: () => (wanted: string) => string;
}

/** Compiles the templates. Without one, a picture has its prompt as its caption, or its own name. Throws `ConfigError`. */
function exportTexts(
  { caption, name }: { caption: string | undefined; name: string | undefined },
  batch: BatchIdentity | undefined,
): ExportTexts {
  const columns = [...new Set([...resultColumns(batch), ...(batch?.axes ?? [])])];
  return {
    columns,
    promptOf: promptIn,
    captionOf: captioner(caption, columns),
    nameOf: namer(name, columns),
    // The pictures of a batch have unique names.
    uniqueNames: name === undefined ? () => (wanted) => wanted : uniqueNames,
  };
}

function promptIn(row: SceneRecord): string {
  return promptOf(row.input ?? {}, row.columns) ?? '';
}

/** Returns the text of a picture: by the template, else the prompt that `list` shows. Throws `ConfigError`. */
function captioner(text: string | undefined, names: string[]): ExportTexts['captionOf'] {
  if (text === undefined) return promptIn;
  const lacking = Object.fromEntries(names.map((name) => [name, null]));
  const template = textTemplate('--caption', text, ['id', 'prompt', 'seed', ...Object.keys(lacking)]);
  return (row, columns) => {
    const own = { id: row.id, prompt: promptIn(row), seed: row.pictures[0]?.seed ?? null };
    return renderFor(row, '--caption', template, { ...lacking, ...own, ...columns });
  };
}

/** Returns the name of an exported file: by the template, with the ending of the file. Throws `ConfigError`. */
function namer(text: string | undefined, names: string[]): ExportTexts['nameOf'] {
  if (text === undefined) return (_row, _columns, _index, file) => file;
  const lacking = Object.fromEntries(names.map((name) => [name, null]));
  const known = ['id', 'prompt', 'seed', 'index', ...Object.keys(lacking)];
  const template = textTemplate('--name', text, known);
  return (row, columns, index, file) => {
    const seed = row.pictures[index]?.seed ?? columns['seed'] ?? '';
    const own = { id: row.id, seed, index: index + 1 };
    const values = { ...lacking, prompt: promptIn(row), ...columns, ...own };
    const path = withoutFormat(renderFor(row, '--name', template, values));
    // A folder never has a name that a file of the export may have.
    return path.replaceAll(folderEnding, '-') + (/\.\w+$/.exec(file)?.[0] ?? '');
  };
}

/** Dot of an ending that files of an export have, in the name of a folder. */
const folderEnding = new RegExp(
  String.raw`\.(?=(?:${Object.values(mediaEndings)
    .map((ending) => ending.slice(1))
    .join('|')}|txt|jsonl)/)`,
  'gi',
);

type TextOption = '--caption' | '--name';

function textTemplate(option: TextOption, text: string, known: string[]): Template {
  const template = unlessWrong(option, () => (option === '--name' ? compileName : compileTemplate)(text));
  const problems = template.names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const hint = didYouMean(name, known) ?? `known are ${listed(known)}`;
      return { where: option, text: `there is no column ${JSON.stringify(name)}; ${hint}` };
    });
  if (problems.length > 0) throw new ConfigError(problems);
  return template;
}

function renderFor(row: SceneRecord, option: TextOption, template: Template, values: JsonObject): string {
  return unlessWrong(option, () => template.renderText(values), `scene ${row.id}: `);
}

function unlessWrong<T>(where: TextOption, work: () => T, of = ''): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new ConfigError([{ where, text: of + error.message }]);
  }
}

/** Returns a function that makes names unique, also if case is ignored: the second `a.png` becomes `a-2.png`. */
function uniqueNames(): (wanted: string) => string {
  const taken = new Map<string, number>();
  return (wanted) => {
    let name = wanted;
    let count = taken.get(nameKey(wanted)) ?? 0;
    while (taken.has(nameKey(name))) {
      count += 1;
      name = withSuffix(wanted, `-${count}`);
    }
    taken.set(nameKey(name), 1);
    // Many pictures may share one name, so the next search begins where this one ended.
    if (name !== wanted) taken.set(nameKey(wanted), count);
    return name;
  };
}
