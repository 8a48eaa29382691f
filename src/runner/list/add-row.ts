/** From a row to its scenes: typed, multiplied, rendered and set aside; what cannot be rendered is set aside as a bad row. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ManifestStage } from '../checkpoint/manifest-stage.ts';
import type { Config } from '../config/config.ts';
import type { InputTemplate } from '../config/input-template.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { TemplateError } from '../config/template.ts';
import {
  combinations,
  expandRow,
  maxExpanded,
  scenesPerRow,
  seedNumberColumn,
  valueText,
  type Combination,
  type Expansion,
} from '../core/expansion.ts';
import { type SentFile, withoutPaths } from '../core/file-text.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { fingerprintOf, type Scene, sceneIdOf } from '../core/scene.ts';
import type { ManifestEntry } from '../manifest/read-manifest.ts';
import type { RepeatCounter, RowInputs } from './row-inputs.ts';
import { typedRow } from './scene-columns.ts';

/** What the rows of one manifest are made into scenes with. */
export interface RowAdder {
  config: Config;
  stage: ManifestStage;
  signal: AbortSignal;
  /** Undefined where each row is one scene. */
  expansion: Expansion | undefined;
  /** Throws `TemplateError` where a picture of such a row can have no name. */
  checkName: (columns: JsonObject) => void;
  /** Of a row's fingerprint: how many such rows there were in all manifests, this one included. */
  countEqual: (fingerprint: string) => number;
  /** Of the rows of all manifests. */
  inputs: RowInputs;
  repeats: RepeatCounter;
  /** Of the latest scene; 1 for the first of all manifests. */
  position: number;
}

/**
 * Resolves, where it does not return at once, when all scenes of the row are set aside. Throws the reason of the signal,
 * and `ConfigError` where the scenes become too many.
 */
export function addRow(
  adder: RowAdder,
  entry: ManifestEntry,
  source: string,
  input: InputTemplate | undefined,
): Promise<void> | undefined {
  if (entry.kind === 'bad') {
    addBad(adder, source, entry.problem, entry.id);
    return undefined;
  }
  let id: string | undefined;
  try {
    id = readId(entry.columns['id']);
    const columns = typedRow(entry.columns, adder.config.columns);
    if (input === undefined) throw new TemplateError('it has no column scene or prompt');
    const { picture } = entry;
    if (adder.expansion !== undefined)
      return addExpanded(adder, adder.expansion, { id, columns, source, picture }, input);
    const scene = renderScene(adder, { columns, picture }, input);
    adder.inputs.add(scene.fingerprint, columns, input);
    const isCounted = id === undefined && adder.config.skipRepeatedRows;
    const occurrence = isCounted ? adder.countEqual(scene.fingerprint) : 1;
    if (!adder.repeats.isLeftOut(scene.fingerprint)) stageScene(adder, { id, columns, source }, scene);
    else adder.stage.leaveOut(id ?? sceneIdOf(scene.fingerprint, occurrence));
  } catch (error) {
    addBad(adder, source, problemIn(error), id);
  }
  return undefined;
}

/** `id`: undefined if the row has none of its own. */
type Row = Pick<Scene, 'columns' | 'source'> & { id: string | undefined; picture: SentFile | undefined };

/** Undefined where the row has no `id` column, so that it is known by its input. */
function readId(id: JsonValue | undefined): string | undefined {
  if (id === undefined) return undefined;
  if (typeof id === 'object' && id !== null) throw new TemplateError('the id must be a text or a number');
  const text = id === null ? '' : String(id).trim();
  if (text === '') throw new TemplateError('the id is empty');
  return text;
}

/** Scenes between two turns of the event loop: one row may have millions. */
const sliceScenes = 500;

async function addExpanded(
  adder: RowAdder,
  expansion: Expansion,
  row: Row,
  input: InputTemplate,
): Promise<void> {
  const own = ownFingerprint(row.columns, input);
  const rowId = row.id ?? idOfRow(adder, row.columns, own);
  const reported = new Set<string>();
  let count = 0;
  let isLeftOut: boolean | undefined;
  for (const { id, columns, seedNumber } of expandRow(rowId, chosen(expansion), expansion)) {
    const source = `${row.source} (${shownAxes(columns)})`;
    try {
      const number = seedNumber === undefined ? {} : { [seedNumberColumn]: seedNumber };
      const scene = { id, columns: { ...number, ...row.columns, ...columns }, source, picture: row.picture };
      const made = renderScene(adder, scene, input);
      if (isLeftOut === undefined) {
        adder.inputs.add(made.fingerprint, row.columns, input);
        isLeftOut = adder.repeats.isLeftOut(own);
      }
      if (isLeftOut) adder.stage.leaveOut(id);
      else stageScene(adder, scene, made);
    } catch (error) {
      const problem = problemIn(error);
      // What is wrong with the row itself is wrong with every scene of it.
      if (!reported.has(problem)) addBad(adder, source, problem, id);
      reported.add(problem);
    }
    count += 1;
    if (count % sliceScenes !== 0 && !input.sendsFiles) continue;
    await nextTurn();
    adder.signal.throwIfAborted();
  }
}

/** Of what a row adds to the input: neither its place nor a column that is not sent makes another row of it. */
function ownFingerprint(columns: JsonObject, input: InputTemplate): string {
  const sent = new Set(input.columns.map(({ name }) => name));
  return fingerprintOf(Object.fromEntries(Object.entries(columns).filter(([name]) => sent.has(name))));
}

/** Empty where there is no row. */
function idOfRow({ countEqual }: RowAdder, columns: JsonObject, fingerprint: string): string {
  return Object.keys(columns).length === 0 ? '' : sceneIdOf(fingerprint, countEqual(fingerprint));
}

const fewEnoughToKeep = 10_000;
const kept = new WeakMap<Expansion, Combination[]>();

/** The same for every row. */
function chosen(expansion: Expansion): Iterable<Combination> {
  if (scenesPerRow(expansion) > fewEnoughToKeep) return combinations(expansion);
  const known = kept.get(expansion) ?? [...combinations(expansion)];
  kept.set(expansion, known);
  return known;
}

const maxShownLength = 40;

function shownAxes(columns: JsonObject): string {
  return Object.entries(columns)
    .map(([name, value]) => {
      const text = valueText(value);
      return `${name} ${text.length > maxShownLength ? `${text.slice(0, maxShownLength - 1)}…` : text}`;
    })
    .join(', ');
}

type RenderedScene = Pick<Scene, 'input' | 'fingerprint'>;

/** Throws `TemplateError`. */
function renderScene(
  adder: RowAdder,
  { columns, picture }: Pick<Row, 'columns' | 'picture'>,
  input: InputTemplate,
): RenderedScene {
  const rendered = input.render(columns, picture);
  adder.checkName(columns);
  return {
    input: rendered,
    fingerprint: fingerprintOf(input.sendsFiles ? withoutPaths(rendered) : rendered),
  };
}

function stageScene(adder: RowAdder, row: Omit<Row, 'picture'>, scene: RenderedScene): void {
  adder.position += 1;
  if (adder.expansion !== undefined && adder.position > maxExpanded) throw tooMany(adder.config);
  const { id, columns, source } = row;
  adder.stage.add({ columns, source, ...scene, position: adder.position }, id);
}

function addBad(adder: RowAdder, source: string, problem: string, id: string | undefined): void {
  adder.position += 1;
  adder.stage.addBad({ position: adder.position, source, problem, ...(id !== undefined && { id }) });
}

function problemIn(error: unknown): string {
  if (error instanceof TemplateError) return error.message;
  throw error;
}

function tooMany({ placeOf }: Config): ConfigError {
  const text = `the manifest and these lists make more than ${maxExpanded.toLocaleString('en')} scenes; expected fewer rows, or shorter lists`;
  return new ConfigError([{ where: placeOf(['scenes'], true), text }]);
}
