/** From the configuration's manifests to checked scenes, set aside on disk; nothing of the batch is touched. */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asDamage } from '../runner/checkpoint/damage.ts';
import { ManifestStage } from '../runner/checkpoint/manifest-stage.ts';
import { openCheckpointForReading, readRules } from '../runner/checkpoint/open-checkpoint.ts';
import { readEdits } from '../runner/checkpoint/read-edits.ts';
import type { Config, StageSource } from '../runner/config/config.ts';
import type { InputTemplate } from '../runner/config/input-template.ts';
import { type Problem, ConfigError } from '../lib/yaml/problem.ts';
import { shownFile } from '../lib/yaml/yaml-file.ts';
import { equalRows } from '../runner/core/equal-rows.ts';
import { EditsRefused, type Edits } from '../runner/core/plan.ts';
import { type RulesVersion, type SceneRules, sceneRules } from '../runner/core/scene-rules.ts';
import { leaveUnread, ManifestError, openManifest, type Manifest } from '../runner/manifest/read-manifest.ts';
import type { ManifestScenes } from '../runner/pipeline/ports.ts';
import { assertGoodList } from './assert-good-list.ts';
import { addRow, type RowAdder } from './add-row.ts';
import { listDigest } from './list-digest.ts';
import { RepeatCounter, RowInputs } from './row-inputs.ts';
import { openStage } from './read-stage.ts';
import { readExpansion, type ReadExpansion } from './read-expansion.ts';
import {
  addedColumns,
  headerProblems,
  inputOf,
  listlessProblems,
  nameCheck,
  takenNames,
  unspoken,
  usesRow,
  withRow,
} from './scene-columns.ts';

export interface ReadScenes {
  stage: ManifestScenes & { close(): void };
  /** Every column of every manifest, in the order first seen, then those that `scenes` adds. */
  columns: string[];
  /** By which they were read. */
  rules: RulesVersion;
  /** What should be known of the list, in sentences. */
  notes: string[];
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
    const reading: Reading = {
      config,
      stage,
      expanded,
      rules: sceneRules[rules],
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
    };
    for (const index of config.manifest.keys()) await readFile(reading, index);
    if (config.stage !== undefined) await readStage(reading, config.stage);
    else if (config.manifest.length === 0) await readListless(reading);
    if (reading.isOpen !== true) stage.settleIds();
    // A list that a dying terminal has cut short is not believed.
    signal.throwIfAborted();
    problems.push(...reading.inputs.problems(config, [...reading.columns]));
    assertGoodList(reading);
    stage.repeated = reading.repeats.result;
    const isKnown = reading.contents.length === config.manifest.length && config.input?.sendsFiles !== true;
    if (isKnown && config.stage === undefined)
      stage.digest = listDigest(config, rules, [...reading.contents, ...expanded.contents]);
    const columns = [...new Set([...reading.columns, ...addedColumns(config)])];
    const edits = await editsOf(config, stage, checkpointDir, signal);
    if (edits !== undefined && config.acceptEdits === 'never') stage.refusal = new EditsRefused(edits);
    return { stage, columns, rules, notes: reading.notes, edits };
  } catch (error) {
    stage.close();
    throw error;
  }
}

async function editsOf(
  config: Config,
  scenes: ManifestStage,
  checkpointDir: string,
  signal: AbortSignal,
): Promise<Edits | undefined> {
  const db = openCheckpointForReading(checkpointDir);
  if (db === undefined) return undefined;
  const { stage, pricing } = config;
  const list = { scenes, added: addedColumns(config), isStage: stage !== undefined, pricing };
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

interface Reading {
  config: Config;
  stage: ManifestStage;
  expanded: ReadExpansion;
  rules: SceneRules;
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
}

/** What is wrong with one manifest does not keep the others from being read: all problems are reported at once. */
async function readFile(reading: Reading, index: number): Promise<void> {
  const { config, problems, stdin, signal, rules } = reading;
  const { trimsLines } = rules;
  const path = config.manifest[index] ?? '-';
  try {
    const bytes = createHash('sha256');
    const manifest = await (path === '-'
      ? openManifest('-', { source: stdin as NodeJS.ReadStream, signal, trimsLines })
      : openManifest(shownFile(path), { signal, trimsLines, onBytes: (chunk) => void bytes.update(chunk) }));
    await readManifest(reading, manifest, path === '-');
    if (path !== '-') reading.contents.push(bytes.digest('hex'));
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    const place = config.manifest.length > 1 ? ['manifest', index] : ['manifest'];
    problems.push({ where: config.placeOf(place), text: error.message });
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
  const wrong = columns === undefined ? [] : headerProblems(reading.config, manifest.path, columns);
  addProblems(reading, wrong);
  for (const column of columns ?? []) reading.columns.add(column);
  // Every row would lack the column, too.
  if (wrong.length === 0) await readRows(reading, manifest);
  // Standard input may stay open for ever.
  else if (!isEndless) await leaveUnread(manifest);
}

async function readRows(reading: Reading, manifest: Manifest): Promise<void> {
  const { signal, config, problems } = reading;
  const problemsBefore = problems.length;
  const own = new Set<string>();
  const adder = adderOf(reading, manifest.columns);
  const isNumbered = usesRow(config);
  let input = inputFor(reading, manifest.columns ?? []);
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
      const numbered = isNumbered ? withRow(entry, reading.rows) : entry;
      const source = (entry.kind === 'row' && entry.source) || `${manifest.path}:${entry.line}`;
      const added = addRow(adder, numbered, source, input);
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
  for (const name of own) reading.columns.add(name);
  addProblems(reading, takenNames(config, manifest.path, own));
}

/** The lists of `scenes` alone. */
async function readListless(reading: Reading): Promise<void> {
  const wrong = listlessProblems(reading.config);
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
  const input = inputOf(reading.config, columns);
  if (input !== undefined) addProblems(reading, unspoken(reading.config, input));
  return input;
}

/** What is wrong with the pipeline.yaml shows with every manifest. */
function addProblems({ problems }: Reading, found: Problem[]): void {
  for (const problem of found) {
    const isReported = problems.some(({ where, text }) => where === problem.where && text === problem.text);
    if (!isReported) problems.push(problem);
  }
}
