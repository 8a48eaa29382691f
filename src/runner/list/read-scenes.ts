/** Reads the manifests of a configuration into checked scenes on disk, without touching the batch. */
import { equalRows, idColumnOf } from '../core/expansion.ts';
import { pricingOf } from '../core/spending.ts';
import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asDamage } from '../checkpoint/damage.ts';
import { CheckedList } from '../checkpoint/checked-list.ts';
import { readRecordedList } from '../checkpoint/open-checkpoint.ts';
import { readEdits } from '../checkpoint/read-for-plan.ts';
import type { Config, ManifestFile, StageSource } from '../config/config.ts';
import type { InputTemplate } from '../config/input-template.ts';
import { listed } from '../config/template.ts';
import { type Problem, ConfigError } from '../../lib/yaml/problem.ts';
import { shownFile } from '../../lib/yaml/yaml-file.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { EditsRefused, type Edits } from '../core/batch-plan.ts';
import { type RulesVersion, type SceneRules, sceneRules } from '../core/scene.ts';
import {
  leaveUnread,
  ManifestError,
  openManifest,
  type Manifest,
  type ManifestEntry,
} from '../manifest/read-manifest.ts';
import type { ManifestRow } from '../manifest/manifest.ts';
import type { ManifestScenes } from '../pipeline/ports.ts';
import { idOf } from '../manifest/read-json.ts';
import { inputLine, rowNumber, SceneColumns, sourceColumn } from './scene-columns.ts';
import { addRow, NumberTexts, RepeatCounter, type RowAdder, RowInputs } from './add-row.ts';
import { listDigest, listKeys, type ReadExpansion, readExpansion } from './read-expansion.ts';

export interface ReadScenes {
  list: ManifestScenes & { close(): void };
  /** Every column of every manifest, in the order first seen, then those that `scenes` adds. */
  columns: string[];
  rules: RulesVersion;
  notes: string[];
  /** Remarks of `plan` on the list, as sentences. A run does not print them. */
  remarks: string[];
  /** Saved scenes that are rendered again, if these are most of the batch. */
  edits?: Edits | undefined;
}

/** Saved pictures of another batch as a list. `notes`, complete once all is read: what is left out. */
export type StageManifest = Manifest & { columns: string[] };

export interface ListOptions {
  stdin: NodeJS.ReadableStream;
  /** Ends the reading with an `AbortError`. */
  signal: AbortSignal;
  /** Opens the list of `scenes.from`. Throws `ConfigError`. */
  openStage: (source: StageSource, config: Config) => Promise<StageManifest>;
  /** Folder with the checkpoint of the batch, or with a copy of it. Default: the output folder. */
  checkpointDir?: string;
  /** Rules by which rows become scenes. Default: those that the checkpoint has on record, or the newest. */
  rules?: RulesVersion | undefined;
}

/** Throws `ConfigError` with all problems of the lists. Invalid rows are accepted with `skipBadRows`. */
export async function readScenes(
  config: Config,
  {
    checkpointDir = config.output.dir,
    rules = readRecordedList(checkpointDir).rules,
    ...options
  }: ListOptions,
): Promise<ReadScenes & { list: CheckedList }> {
  const { stdin, signal, openStage } = options;
  const list = new CheckedList();
  // A stage whose batch no longer chooses some pictures is not a list that was cut off.
  list.allowsFewer = config.allowFewer || config.stage !== undefined;
  try {
    const expanded = await readExpansion(config, sceneRules[rules], signal);
    const { problems } = expanded;
    const sceneColumns = new SceneColumns(config, sceneRules[rules]);
    const reading: Reading = {
      config,
      list,
      expanded,
      rules: sceneRules[rules],
      sceneColumns,
      columns: new Set(),
      countEqual: equalRows(),
      inputs: new RowInputs(),
      repeats: new RepeatCounter(config.skipRepeatedRows, list),
      contents: [],
      problems,
      rows: 0,
      stdin,
      signal,
      openStage,
      notes: [],
      remarks: [...listRemarks(config), ...expanded.remarks],
      hasRowsWithoutId: false,
      numberTexts: new NumberTexts(config),
    };
    for (const file of config.manifestFiles) await readFile(reading, file);
    if (config.stage !== undefined) await readStage(reading, config.stage);
    else if (config.manifest.length === 0) await readWithoutManifest(reading);
    if (reading.isOpen !== true) list.settleIds();
    if (reading.hasRowsWithoutId && config.stage === undefined) reading.remarks.push(idsFromText);
    reading.remarks.push(...reading.numberTexts.remarks());
    // If a terminal that closed has cut a list short, the list must not be accepted.
    signal.throwIfAborted();
    problems.push(...reading.inputs.problems(config, [...reading.columns]));
    sceneColumns.assertGood(reading);
    list.repeated = reading.repeats.result;
    const isKnown =
      reading.contents.length === config.manifestFiles.length && config.input?.sendsFiles !== true;
    if (isKnown && config.stage === undefined)
      list.digest = listDigest(config, rules, [...reading.contents, ...expanded.contents]);
    const added = [...sceneColumns.free.filter((name) => name === sourceColumn), ...sceneColumns.added];
    const columns = [...new Set([...reading.columns, ...added])];
    const edits = await editsOf(config, added, list, checkpointDir, signal);
    if (edits !== undefined && config.acceptEdits === 'never') list.refusal = new EditsRefused(edits);
    return { list, columns, rules, notes: reading.notes, remarks: reading.remarks, edits };
  } catch (error) {
    list.close();
    throw error;
  }
}

/** Remarks on the files that patterns and folders stand for. */
function listRemarks({ manifest, manifestFiles }: Config): string[] {
  const paths = manifestFiles.map(({ path }) => path);
  const seen = new Set<string>();
  const again = paths.find((path) => seen.size === seen.add(path).size);
  if (again !== undefined) return [`${shownFile(again)} is named more than once, and is read each time`];
  if (manifestFiles.length <= manifest.length) return [];
  const files = manifestFiles.map(({ path }) => shownFile(path));
  return [`${files.length.toLocaleString('en')} lists are read: ${listed(files)}`];
}

async function editsOf(
  config: Config,
  added: string[],
  scenes: CheckedList,
  checkpointDir: string,
  signal: AbortSignal,
): Promise<Edits | undefined> {
  const list = { scenes, added, isStage: config.stage !== undefined, pricing: pricingOf(config) };
  try {
    return await readEdits(checkpointDir, list, signal);
  } catch (error) {
    // The run reports damage itself, after it has collected the jobs in flight.
    if (asDamage(error) === undefined) throw error;
    return undefined;
  }
}

const idsFromText = 'rows without an id are recognized by their input, so an edited prompt is a new scene';

/** Returns the key of a JSON row's id, if it is not `id` itself. */
function idKeyOf(columns: JsonObject, rules: SceneRules): string | undefined {
  return Object.hasOwn(columns, 'id') || !rules.findsIds
    ? undefined
    : idColumnOf(Object.keys(columns), rules);
}

interface Reading {
  config: Config;
  list: CheckedList;
  expanded: ReadExpansion;
  rules: SceneRules;
  sceneColumns: SceneColumns;
  /** The list that is being read, as the column `source` names it. */
  source?: string;
  columns: Set<string>;
  countEqual: RowAdder['countEqual'];
  inputs: RowInputs;
  repeats: RepeatCounter;
  /** The sha256 of each file that was read. */
  contents: string[];
  stdin: NodeJS.ReadableStream;
  signal: AbortSignal;
  openStage: ListOptions['openStage'];
  /** Set after a quotation mark that is never closed. Nothing is read after it, and ids are not compared. */
  isOpen?: true | undefined;
  problems: Problem[];
  /** Number of rows so far in all manifests, including invalid ones. */
  rows: number;
  notes: string[];
  remarks: string[];
  hasRowsWithoutId: boolean;
  numberTexts: NumberTexts;
}

/** Reads one manifest. Its problems do not keep the others from being read, so that all are reported at once. */
async function readFile(reading: Reading, { path, at }: ManifestFile): Promise<void> {
  const { config, problems, stdin, signal, rules } = reading;
  const options = { signal, reading: { ...listKeys(config), ...rules } };
  reading.source = path === '-' ? 'standard input' : relative(config.folder, path);
  try {
    const bytes = createHash('sha256');
    const manifest = await (path === '-'
      ? openManifest('-', { ...options, source: stdin as NodeJS.ReadStream })
      : openManifest(shownFile(path), { ...options, onBytes: (chunk) => void bytes.update(chunk) }));
    await readManifest(reading, manifest, path === '-');
    reading.remarks.push(...manifest.notes.map((note) => `${manifest.path}: ${note}`));
    if (path !== '-') reading.contents.push(bytes.digest('hex'));
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    problems.push({ where: config.placeOf(at), text: error.message });
  }
}

/** Reads the pictures of another batch as a manifest, and collects its problems. */
async function readStage(reading: Reading, source: StageSource): Promise<void> {
  try {
    const manifest = await reading.openStage(source, reading.config);
    await readManifest(reading, manifest, false);
    reading.notes.push(...manifest.notes.map((note) => `${manifest.path}: ${note}`));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // Commands in these messages are for the other batch.
    const named = (text: string): string => text.replaceAll('<pipeline>', () => shownFile(source.from));
    reading.problems.push(...error.problems.map(({ where, text }) => ({ where, text: named(text) })));
  }
}

/** `isEndless`: do not wait for the end of the list if its rows are of no use. */
async function readManifest(reading: Reading, manifest: Manifest, isEndless: boolean): Promise<void> {
  const { columns } = manifest;
  const wrong = columns === undefined ? [] : reading.sceneColumns.headerProblems(manifest);
  addProblems(reading, wrong);
  for (const column of columns ?? []) reading.columns.add(column);
  if (columns !== undefined) judgeColumns(reading, columns, manifest.path);
  // If a column is missing, every row would lack it too.
  if (wrong.length === 0) await readRows(reading, manifest);
  // Standard input may stay open forever.
  else if (!isEndless) await leaveUnread(manifest);
}

async function readRows(reading: Reading, manifest: Manifest): Promise<void> {
  const { signal, config, problems } = reading;
  const problemsBefore = problems.length;
  const adder = adderOf(reading, manifest.columns);
  const list = listOf(reading, manifest);
  for await (const entries of manifest.batches) {
    // The last byte of a packed list is read long before the list is unpacked.
    signal.throwIfAborted();
    if (adder === undefined || problems.length > problemsBefore || reading.isOpen) break;
    for (const entry of entries) {
      const { row, source } = rowOf(reading, list, entry);
      const { input } = list;
      if (input === undefined && row.kind === 'row') {
        list.early.push({ source, line: row.line, ...idOf(row.columns) });
        continue;
      }
      for (const { source: place, ...early } of list.early.splice(0))
        await addRow(
          adder,
          { kind: 'bad', problem: 'it has no column scene or prompt', ...early },
          place,
          input,
        );
      const added = addRow(adder, row, source, input);
      // At a million rows, an `await` for each would take too long.
      if (added !== undefined) await added;
      if (entry.kind === 'bad' && !config.skipBadRows) reading.isOpen = entry.isOpen;
      if (reading.isOpen) break;
      // Reading a photo takes a while, and a signal must not wait for a thousand of them.
      if (input?.sendsFiles === true) {
        await nextTurn();
        signal.throwIfAborted();
      }
    }
  }
  judgeList(reading, list);
}

/** A list while its rows are read. */
interface OpenList {
  manifest: Manifest;
  /** Column of a table that holds the ids. */
  idColumn: string | undefined;
  /** Columns that this program adds to each row; undefined if there are none. */
  given: JsonObject | undefined;
  /** Names of columns that the rows of a list without a header have. */
  names: Set<string>;
  /** Undefined until a row has a column that is sent. */
  input: InputTemplate | undefined;
  /** Rows before the first with a sent column: invalid, unless no row of the list has one. */
  early: { source: string; line: number; id?: string }[];
}

function listOf(reading: Reading, manifest: Manifest): OpenList {
  const idColumn = idColumnOf(manifest.columns ?? [], reading.rules);
  const input = inputFor(reading, manifest.columns ?? []);
  const added = {
    ...(reading.sceneColumns.free.includes(sourceColumn) && { [sourceColumn]: reading.source ?? '' }),
    ...(reading.sceneColumns.usesRow && { [rowNumber]: 0 }),
  };
  const given = Object.keys(added).length === 0 ? undefined : added;
  return { manifest, idColumn, given, names: new Set(), input, early: [] };
}

/** Returns the row with its id and with the columns that this program adds, and the place where people find it. */
function rowOf(
  reading: Reading,
  list: OpenList,
  entry: ManifestEntry,
): { row: ManifestEntry; source: string } {
  const { manifest, given } = list;
  const place = `${manifest.path}:${entry.line}`;
  reading.rows += 1;
  if (entry.kind === 'bad') return { row: entry, source: place };
  if (manifest.columns === undefined) {
    const names = Object.keys(entry.columns);
    for (const name of names) list.names.add(name);
    list.input ??= inputFor(reading, names);
  }
  const idColumn = manifest.columns === undefined ? idKeyOf(entry.columns, reading.rules) : list.idColumn;
  const row = withId(entry, idColumn);
  if (!Object.hasOwn(row.columns, 'id')) reading.hasRowsWithoutId = true;
  reading.numberTexts.add(row.columns);
  if (given !== undefined && rowNumber in given) given[rowNumber] = reading.rows;
  return { row: given === undefined ? row : withColumns(row, given), source: entry.source || place };
}

/** Returns the row with more columns. The row's own columns take precedence. */
function withColumns(row: ManifestRow, columns: JsonObject): ManifestRow {
  return { ...row, columns: { ...columns, ...row.columns } };
}

function withId(row: ManifestRow, column: string | undefined): ManifestRow {
  if (column === undefined || column === 'id') return row;
  return { ...row, columns: { id: row.columns[column] ?? null, ...row.columns } };
}

function judgeList(reading: Reading, { manifest, names, early }: OpenList): void {
  const { config, sceneColumns, rules } = reading;
  // Earlier programs went on with the other lists, so batches that began with them still do.
  if (early.length > 0 && (rules.asksForPrompt || !config.skipBadRows))
    addProblems(reading, [sceneColumns.noPrompt(manifest.path, [...names])]);
  if (manifest.columns === undefined) judgeColumns(reading, [...names], manifest.path);
  for (const name of names) reading.columns.add(name);
  addProblems(reading, sceneColumns.takenNames(manifest.path, names));
}

/** Makes scenes from the lists of `scenes` alone. */
async function readWithoutManifest(reading: Reading): Promise<void> {
  const wrong = reading.sceneColumns.problemsWithoutManifest();
  addProblems(reading, wrong);
  const input = wrong.length === 0 ? inputFor(reading, []) : undefined;
  const adder = adderOf(reading, []);
  if (input === undefined || adder === undefined) return;
  await addRow(adder, { kind: 'row', columns: {}, line: 1 }, 'scenes', input);
}

/** Returns undefined if it is unknown how rows are multiplied. */
function adderOf(reading: Reading, columns: string[] | undefined): RowAdder | undefined {
  const { config, list, signal, expanded, countEqual, inputs, repeats } = reading;
  const { expansion } = expanded;
  if (config.scenes !== undefined && expansion === undefined) return undefined;
  const checkName = reading.sceneColumns.nameCheck(columns);
  const position = list.lastPosition();
  return { config, list, signal, expansion, checkName, countEqual, inputs, repeats, position };
}

/** Returns undefined if the columns do not determine the input. */
function inputFor(reading: Reading, columns: string[]): InputTemplate | undefined {
  const input = reading.sceneColumns.inputOf(columns);
  if (input !== undefined) addProblems(reading, reading.sceneColumns.unusedAxes(input));
  return input;
}

/** Adds remarks on columns that may be meant in another way than they are read. */
function judgeColumns(reading: Reading, columns: string[], where: string): void {
  const { sceneColumns, rules, notes, remarks } = reading;
  remarks.push(...sceneColumns.idRemarks(columns).map((text) => `${where}: ${text}`));
  const either = sceneColumns.ambiguousPrompt(columns);
  if (either === undefined) return;
  if (rules.asksWhichIsSent) addProblems(reading, [{ where, text: ambiguousPromptText(either) }]);
  else notes.push(`${where}: ${either[0]} is sent, not ${either[1]}, as since the batch began (\`input\`)`);
}

/** Returns the problem with these two columns in a batch that begins. */
function ambiguousPromptText([scene, prompt]: [string, string]): string {
  return `has a column ${scene} and a column ${prompt}. Say in pipeline.yaml which one a job is sent: input: { ${inputLine('prompt', prompt)} }, or input: { ${inputLine('scene', scene)} }`;
}

/** Adds problems once, because a problem of pipeline.yaml shows with every manifest. */
function addProblems({ problems }: Reading, found: Problem[]): void {
  for (const problem of found) {
    const isReported = problems.some(({ where, text }) => where === problem.where && text === problem.text);
    if (!isReported) problems.push(problem);
  }
}
