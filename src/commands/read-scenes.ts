/** From the configuration's manifests to checked scenes, set aside on disk; nothing of the batch is touched. */
import { idColumnOf } from '../runner/core/list-reading.ts';
import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asDamage } from '../runner/checkpoint/damage.ts';
import { ManifestStage } from '../runner/checkpoint/manifest-stage.ts';
import { openCheckpointForReading, readRules } from '../runner/checkpoint/open-checkpoint.ts';
import { readEdits } from '../runner/checkpoint/read-edits.ts';
import type { Config, StageSource } from '../runner/config/config.ts';
import type { InputTemplate } from '../runner/config/input-template.ts';
import type { ManifestFile } from '../runner/config/manifest-files.ts';
import { listed } from '../runner/config/template.ts';
import { type Problem, ConfigError } from '../lib/yaml/problem.ts';
import { shownFile } from '../lib/yaml/yaml-file.ts';
import type { JsonObject } from '../lib/text/json.ts';
import { equalRows } from '../runner/core/equal-rows.ts';
import { EditsRefused, type Edits } from '../runner/core/plan.ts';
import { type RulesVersion, type SceneRules, sceneRules } from '../runner/core/scene-rules.ts';
import { leaveUnread, ManifestError, openManifest, type Manifest } from '../runner/manifest/read-manifest.ts';
import type { ManifestScenes } from '../runner/pipeline/ports.ts';
import { idOf } from '../runner/manifest/read-json.ts';
import { assertGoodList } from './assert-good-list.ts';
import { addRow, type RowAdder } from './add-row.ts';
import { listDigest } from './list-digest.ts';
import { NumberTexts, RepeatCounter, RowInputs } from './row-inputs.ts';
import { openStage } from './read-stage.ts';
import { readExpansion, type ReadExpansion } from './read-expansion.ts';
import {
  addedColumns,
  eitherPrompt,
  freeNames,
  headerProblems,
  idRemarks,
  inputOf,
  listlessProblems,
  nameCheck,
  noPrompt,
  rowNumber,
  sourceColumn,
  takenNames,
  unspoken,
  usesRow,
  whichIsSent,
  withColumns,
  withId,
} from './scene-columns.ts';

export interface ReadScenes {
  stage: ManifestScenes & { close(): void };
  /** Every column of every manifest, in the order first seen, then those that `scenes` adds. */
  columns: string[];
  /** By which they were read. */
  rules: RulesVersion;
  /** What should be known of the list, in sentences. */
  notes: string[];
  /** What `plan` says of the list, in sentences; a run does not say it. */
  remarks: string[];
  /** Saved scenes that are rendered again, if these are most of the batch. */
  edits?: Edits | undefined;
}

/**
 * Throws `ConfigError` for all that is wrong with the manifests; bad rows pass with `skipBadRows`. Throws an
 * `AbortError` as soon as `signal` aborts. `checkpointDir`: the output folder, or where a copy of its checkpoint is.
 */
export async function readScenes(
  config: Config,
  stdin: NodeJS.ReadableStream,
  signal: AbortSignal,
  checkpointDir = config.output.dir,
  rules = readRules(checkpointDir),
): Promise<ReadScenes & { stage: ManifestStage }> {
  const stage = new ManifestStage();
  // What another batch has and does not choose any more is no list that was cut off.
  stage.allowsFewer = config.allowsFewer || config.stage !== undefined;
  try {
    const expanded = await readExpansion(config, sceneRules[rules], signal);
    const { problems } = expanded;
    const free = freeNames(config, sceneRules[rules]);
    const reading: Reading = {
      config,
      stage,
      expanded,
      rules: sceneRules[rules],
      free,
      columns: new Set(),
      countEqual: equalRows(),
      inputs: new RowInputs(),
      repeats: new RepeatCounter(config.skipRepeatedRows, stage),
      contents: [],
      problems,
      rows: 0,
      stdin,
      signal,
      notes: [],
      remarks: [...listRemarks(config), ...expanded.remarks],
      hasRowsWithoutId: false,
      numberTexts: new NumberTexts(config),
    };
    for (const list of config.manifestFiles) await readFile(reading, list);
    if (config.stage !== undefined) await readStage(reading, config.stage);
    else if (config.manifest.length === 0) await readListless(reading);
    if (reading.isOpen !== true) stage.settleIds();
    if (reading.hasRowsWithoutId && config.stage === undefined) reading.remarks.push(idsFromText);
    reading.remarks.push(...reading.numberTexts.remarks());
    // A list that a dying terminal has cut short is not believed.
    signal.throwIfAborted();
    problems.push(...reading.inputs.problems(config, [...reading.columns]));
    assertGoodList(reading);
    stage.repeated = reading.repeats.result;
    const isKnown =
      reading.contents.length === config.manifestFiles.length && config.input?.sendsFiles !== true;
    if (isKnown && config.stage === undefined)
      stage.digest = listDigest(config, rules, [...reading.contents, ...expanded.contents]);
    const added = [...free.filter((name) => name === sourceColumn), ...addedColumns(config)];
    const columns = [...new Set([...reading.columns, ...added])];
    const edits = await editsOf(config, added, stage, checkpointDir, signal);
    if (edits !== undefined && config.acceptEdits === 'never') stage.refusal = new EditsRefused(edits);
    return { stage, columns, rules, notes: reading.notes, remarks: reading.remarks, edits };
  } catch (error) {
    stage.close();
    throw error;
  }
}

/** Lists that patterns and folders stand for. */
function listRemarks({ manifest, manifestFiles }: Config): string[] {
  const paths = manifestFiles.map(({ path }) => path);
  const seen = new Set<string>();
  const again = paths.find((path) => seen.size === seen.add(path).size);
  if (again !== undefined) return [`${shownFile(again)} is named more than once, and read each time`];
  if (manifestFiles.length <= manifest.length) return [];
  const files = manifestFiles.map(({ path }) => shownFile(path));
  return [`${files.length.toLocaleString('en')} lists are read: ${listed(files)}`];
}

async function editsOf(
  config: Config,
  added: string[],
  scenes: ManifestStage,
  checkpointDir: string,
  signal: AbortSignal,
): Promise<Edits | undefined> {
  const db = openCheckpointForReading(checkpointDir);
  if (db === undefined) return undefined;
  const { stage, pricing } = config;
  const list = { scenes, added, isStage: stage !== undefined, pricing };
  try {
    return await readEdits(db, list, signal);
  } catch (error) {
    // The run reports damage itself, once what is in flight is collected.
    if (asDamage(error) === undefined) throw error;
    return undefined;
  } finally {
    db.close();
  }
}

const idsFromText = 'rows without an id are known by what they send, so that an edited prompt is a new scene';

/** The key of a JSON row's id, if it is not `id` itself. */
function idKeyOf(columns: JsonObject, rules: SceneRules): string | undefined {
  return Object.hasOwn(columns, 'id') || !rules.findsIds
    ? undefined
    : idColumnOf(Object.keys(columns), rules);
}

interface Reading {
  config: Config;
  stage: ManifestStage;
  expanded: ReadExpansion;
  rules: SceneRules;
  /** As in `freeNames`. */
  free: string[];
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
  /** After a quote that is not closed nothing was read, and ids were not compared. */
  isOpen?: true | undefined;
  /** What is wrong besides bad rows. */
  problems: Problem[];
  /** Rows so far, of all manifests, bad ones included. */
  rows: number;
  notes: string[];
  remarks: string[];
  hasRowsWithoutId: boolean;
  numberTexts: NumberTexts;
}

/** What is wrong with one manifest does not keep the others from being read: all problems are reported at once. */
async function readFile(reading: Reading, { path, at }: ManifestFile): Promise<void> {
  const { config, problems, stdin, signal, rules } = reading;
  const options = { signal, reading: { ...config.list, ...rules } };
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

/** As above, of another batch. */
async function readStage(reading: Reading, source: StageSource): Promise<void> {
  try {
    const manifest = await openStage(source, reading.config);
    await readManifest(reading, manifest, false);
    reading.notes.push(...manifest.notes.map((note) => `${manifest.path}: ${note}`));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // The commands that it names are for the other batch.
    const named = (text: string): string => text.replaceAll('<pipeline>', () => shownFile(source.from));
    reading.problems.push(...error.problems.map(({ where, text }) => ({ where, text: named(text) })));
  }
}

/** `isEndless`: it is left as it is where its rows would be of no use. */
async function readManifest(reading: Reading, manifest: Manifest, isEndless: boolean): Promise<void> {
  const { columns } = manifest;
  const { config, free } = reading;
  const wrong = columns === undefined ? [] : headerProblems(config, manifest, free);
  addProblems(reading, wrong);
  for (const column of columns ?? []) reading.columns.add(column);
  if (columns !== undefined) judgeColumns(reading, columns, manifest.path);
  // Every row would lack the column, too.
  if (wrong.length === 0) await readRows(reading, manifest);
  // Standard input may stay open for ever.
  else if (!isEndless) await leaveUnread(manifest);
}

async function readRows(reading: Reading, manifest: Manifest): Promise<void> {
  const { signal, config, problems, rules } = reading;
  const problemsBefore = problems.length;
  const own = new Set<string>();
  const adder = adderOf(reading, manifest.columns);
  const isNumbered = usesRow(config);
  const isTable = manifest.columns !== undefined;
  const idColumn = idColumnOf(manifest.columns ?? [], rules);
  const hasSource = reading.free.includes(sourceColumn);
  const given: JsonObject = hasSource ? { [sourceColumn]: reading.source ?? '' } : {};
  let input = inputFor(reading, manifest.columns ?? []);
  /** Rows of JSON before the first with a column that is sent: bad ones, unless no row has one. */
  const early: { source: string; line: number; id?: string }[] = [];
  for await (const entries of manifest.batches) {
    // Of a packed list the last byte has long been read while most of it is still unpacked.
    signal.throwIfAborted();
    if (adder === undefined || problems.length > problemsBefore || reading.isOpen) break;
    for (const entry of entries) {
      if (entry.kind === 'row' && manifest.columns === undefined) {
        const names = Object.keys(entry.columns);
        for (const name of names) own.add(name);
        input ??= inputFor(reading, names);
      }
      reading.rows += 1;
      const known = withId(entry, isTable || entry.kind === 'bad' ? idColumn : idKeyOf(entry.columns, rules));
      if (known.kind === 'row' && !Object.hasOwn(known.columns, 'id')) reading.hasRowsWithoutId = true;
      if (known.kind === 'row') reading.numberTexts.add(known.columns);
      if (isNumbered) given[rowNumber] = reading.rows;
      const whole = isNumbered || hasSource ? withColumns(known, given) : known;
      const source = (entry.kind === 'row' && entry.source) || `${manifest.path}:${entry.line}`;
      if (input === undefined && entry.kind === 'row') {
        early.push({ source, line: entry.line, ...idOf(whole.kind === 'row' ? whole.columns : {}) });
        continue;
      }
      for (const { source: place, ...row } of early.splice(0))
        await addRow(
          adder,
          { kind: 'bad', problem: 'it has no column scene or prompt', ...row },
          place,
          input,
        );
      const added = addRow(adder, whole, source, input);
      // One await a row costs too much at a million rows.
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
  // Batches that began earlier went on with their other lists.
  if (early.length > 0 && (rules.findsIds || !config.skipBadRows))
    addProblems(reading, [{ where: manifest.path, text: noPrompt([...own], addedColumns(config)) }]);
  if (!isTable) judgeColumns(reading, [...own], manifest.path);
  for (const name of own) reading.columns.add(name);
  addProblems(reading, takenNames(config, manifest.path, own));
}

/** The lists of `scenes` alone. */
async function readListless(reading: Reading): Promise<void> {
  const { config } = reading;
  const wrong = listlessProblems(config);
  addProblems(reading, wrong);
  const input = wrong.length === 0 ? inputFor(reading, []) : undefined;
  const adder = adderOf(reading, []);
  if (input === undefined || adder === undefined) return;
  await addRow(adder, { kind: 'row', columns: {}, line: 1 }, 'scenes', input);
}

/** Undefined where it is unknown what a row would be multiplied by, or where it would be for nothing. */
function adderOf(reading: Reading, columns: string[] | undefined): RowAdder | undefined {
  const { config, stage, signal, expanded, countEqual, inputs, repeats } = reading;
  const { expansion } = expanded;
  if (config.scenes !== undefined && expansion === undefined) return undefined;
  const checkName = nameCheck(config, columns);
  const position = stage.lastPosition();
  return { config, stage, signal, expansion, checkName, countEqual, inputs, repeats, position };
}

/** Undefined where the columns do not determine it. */
function inputFor(reading: Reading, columns: string[]): InputTemplate | undefined {
  const { config } = reading;
  const input = inputOf(config, columns);
  if (input !== undefined) addProblems(reading, unspoken(config, input));
  return input;
}

/** Remarks on columns of a list that may be meant otherwise than they are read. */
function judgeColumns(reading: Reading, columns: string[], where: string): void {
  const { config, rules, notes, remarks } = reading;
  remarks.push(...idRemarks(columns, rules).map((text) => `${where}: ${text}`));
  const either = eitherPrompt(config, columns);
  if (either === undefined) return;
  if (rules.asksWhichIsSent) addProblems(reading, [{ where, text: whichIsSent(either) }]);
  else notes.push(`${where}: ${either[0]} is sent, not ${either[1]}, as since the batch began (\`input\`)`);
}

/** What is wrong with the pipeline.yaml shows with every manifest. */
function addProblems({ problems }: Reading, found: Problem[]): void {
  for (const problem of found) {
    const isReported = problems.some(({ where, text }) => where === problem.where && text === problem.text);
    if (!isReported) problems.push(problem);
  }
}
