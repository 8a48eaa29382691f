/** From the configuration's manifests to checked scenes, set aside on disk; nothing of the batch is touched. */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManifestStage } from '../checkpoint/manifest-stage.ts';
import type { Config } from '../config/config.ts';
import { compileInput, defaultInput, type InputTemplate } from '../config/input-template.ts';
import { ConfigError, type Problem } from '../config/problem.ts';
import { nameValues } from '../config/read-config.ts';
import { shownFile } from '../config/shown-file.ts';
import { listed, TemplateError, type Template } from '../config/template.ts';
import { closest } from '../core/closest.ts';
import { withoutPaths } from '../core/file-text.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { fingerprintOf } from '../core/scene.ts';
import { ManifestError, openManifest, type Manifest, type ManifestEntry } from '../manifest/read-manifest.ts';
import type { ManifestScenes } from '../pipeline/ports.ts';
import { listDigest } from './list-digest.ts';
import { typedRow, undeclared } from './typed-row.ts';

export interface ReadScenes {
  stage: ManifestScenes & { close(): void };
  /** Every column of every manifest, in the order first seen. */
  columns: string[];
}

/**
 * Throws `ConfigError` for all that is wrong with the manifests; bad rows pass where `skipBadRows` says so. Throws an
 * `AbortError` as soon as `signal` aborts.
 */
export async function readScenes(
  config: Config,
  stdin: NodeJS.ReadableStream,
  signal: AbortSignal,
): Promise<ReadScenes & { stage: ManifestStage }> {
  const stage = new ManifestStage();
  try {
    const columns = new Set<string>();
    const reading: Reading = { config, stage, columns, contents: [], problems: [], stdin, signal };
    for (const index of config.manifest.keys()) await readManifest(reading, index);
    stage.settleIds();
    // A list that a dying terminal has cut short is not believed.
    signal.throwIfAborted();
    assertGood(reading);
    const isTold = reading.contents.length === config.manifest.length && config.input?.sendsFiles !== true;
    if (isTold) stage.digest = listDigest(config, reading.contents);
    return { stage, columns: [...columns] };
  } catch (error) {
    stage.close();
    throw error;
  }
}

interface Reading {
  config: Config;
  stage: ManifestStage;
  columns: Set<string>;
  /** The sha256 of each file that was read. */
  contents: string[];
  stdin: NodeJS.ReadableStream;
  signal: AbortSignal;
  /** What is wrong besides bad rows. */
  problems: Problem[];
}

/** What is wrong with one manifest does not keep the others from being read: all is told at once. */
async function readManifest(reading: Reading, index: number): Promise<void> {
  const { config, problems, stdin, signal } = reading;
  const path = config.manifest[index] ?? '-';
  try {
    const bytes = createHash('sha256');
    const manifest = await (path === '-'
      ? openManifest('-', { source: stdin as NodeJS.ReadStream, signal })
      : openManifest(shownFile(path), { signal, onBytes: (chunk) => void bytes.update(chunk) }));
    const missing = missingColumns(config, manifest);
    problems.push(...missing);
    for (const column of manifest.columns ?? []) reading.columns.add(column);
    // Every row would lack the column, too.
    if (missing.length === 0) await readRows(reading, manifest);
    if (path !== '-') reading.contents.push(bytes.digest('hex'));
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    const place = config.manifest.length > 1 ? ['manifest', index] : ['manifest'];
    problems.push({ where: config.placeOf(place), text: error.message });
  }
}

async function readRows(reading: Reading, manifest: Manifest): Promise<void> {
  const { stage, config, signal } = reading;
  const own = new Set<string>();
  const checkName = nameCheck(config, manifest);
  let input = config.input ?? inputFor(manifest.columns ?? []);
  let position = stage.lastPosition();
  for await (const entries of manifest.batches) {
    // Of a packed list the last byte has long been read while most of it is still unpacked.
    signal.throwIfAborted();
    for (const entry of entries) {
      position += 1;
      if (entry.kind === 'row' && manifest.columns === undefined) {
        const names = Object.keys(entry.columns);
        for (const name of names) own.add(name);
        input ??= inputFor(names);
      }
      addEntry(reading, entry, { position, source: `${manifest.path}:${entry.line}` }, input, checkName);
      // Reading a photo takes a while, and a signal must not wait for a thousand of them.
      if (input?.sendsFiles === true) {
        await nextTurn();
        signal.throwIfAborted();
      }
    }
  }
  for (const name of own) reading.columns.add(name);
}

function addEntry(
  { stage, config }: Reading,
  entry: ManifestEntry,
  place: { position: number; source: string },
  input: InputTemplate | undefined,
  checkName: (columns: JsonObject) => void,
): void {
  const { position, source } = place;
  if (entry.kind === 'bad') {
    const { problem, id } = entry;
    stage.addBad({ position, source, problem, ...(id !== undefined && { id }) });
    return;
  }
  let id: string | undefined;
  try {
    id = readId(entry.columns['id']);
    const columns = typedRow(entry.columns, config.columns);
    if (input === undefined) throw new TemplateError('it has no column scene or prompt');
    const rendered = input.render(columns);
    checkName(columns);
    const fingerprint = fingerprintOf(input.sendsFiles ? withoutPaths(rendered) : rendered);
    stage.add({ id, fingerprint, input: rendered, columns, position, source });
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    stage.addBad({ position, source, problem: error.message, ...(id !== undefined && { id }) });
  }
}

/** Undefined where the row has no `id` column, so that it is known by its input. */
function readId(id: JsonValue | undefined): string | undefined {
  if (id === undefined) return undefined;
  if (typeof id === 'object' && id !== null) throw new TemplateError('the id is neither a text nor a number');
  const text = id === null ? '' : String(id).trim();
  if (text === '') throw new TemplateError('the id is empty');
  return text;
}

function inputFor(columns: string[]): InputTemplate | undefined {
  const input = defaultInput(columns);
  return input && compileInput(input, (_, text) => raise(text));
}

function raise(text: string): never {
  throw new Error(text);
}

/** A name that cannot be made shows here, not when its picture has been paid for. */
function nameCheck({ output }: Config, manifest: Manifest): (columns: JsonObject) => void {
  const { name } = output;
  const wanted = columnsOfName(name);
  if (name.isPlain && manifest.columns !== undefined) return () => undefined;
  return (columns) => {
    if (name.isPlain && wanted.every((column) => Object.hasOwn(columns, column))) return;
    name.renderText({ ...columns, id: 'id', seed: '', index: 1 });
  };
}

function columnsOfName({ names }: Template): string[] {
  return names.filter((name) => !nameValues.includes(name));
}

/** Of a manifest with a header: what the templates speak of and the header lacks. */
function missingColumns(config: Config, { path, columns }: Manifest): Problem[] {
  if (columns === undefined) return [];
  if (config.input === undefined && defaultInput(columns) === undefined) {
    const text = `there is no column scene or prompt, only ${listed(columns)}; say in pipeline.yaml what is sent${inputHint(columns)}`;
    return [{ where: path, text }];
  }
  return lacking(config, new Set(columns), path);
}

/** An id is no text to render. */
function inputHint(columns: string[]): string {
  const column = columns.find((name) => name.toLowerCase() !== 'id');
  if (column === undefined) return ', under input';
  const quoted = `{{ [${JSON.stringify(column)}] }}`.replaceAll("'", "''");
  return `, such as input: {scene: '${quoted}'}`;
}

/** Problems at the templates that speak of a column which is not there. */
function lacking(config: Config, columns: Set<string>, manifest: string): Problem[] {
  const wanted = [
    ...(config.input?.columns ?? []),
    ...columnsOfName(config.output.name).map((name) => ({ name, path: ['output', 'name'] })),
  ];
  const hintAt = (name: string): string => {
    const word = closest(name, columns);
    return word === undefined
      ? `${manifest} has ${listed([...columns])}`
      : `did you mean ${JSON.stringify(word)}?`;
  };
  return wanted
    .filter(({ name }) => !columns.has(name))
    .map(({ name, path }) => ({
      where: config.placeOf(path),
      text: `there is no column ${JSON.stringify(name)}; ${hintAt(name)}`,
    }));
}

function assertGood({ config, stage, columns, problems }: Reading): void {
  // JSON Lines show what columns they have when all is read; without any, there is no good row to speak of.
  const isKnown = problems.length === 0 && columns.size > 0;
  const unknown = isKnown
    ? [...undeclared(config, columns), ...lacking(config, columns, 'the manifest')]
    : [];
  if (unknown.length > 0) throw new ConfigError(unknown);
  const count = stage.count();
  const bad = config.skipBadRows ? [] : [...badRowProblems(stage)];
  if (problems.length + bad.length > 0) throw new ConfigError([...problems, ...bad]);
  if (count.scenes > 0) return;
  const where = config.manifest.map((path) => (path === '-' ? 'standard input' : shownFile(path))).join(', ');
  throw new ConfigError([{ where, text: 'there is no scene in it to render' }]);
}

/** As many as a person can be shown without filling the memory. */
const mostBadRows = 100_000;

function* badRowProblems(stage: ManifestStage): Generator<Problem> {
  let left = mostBadRows;
  for (const { source, problem } of stage.badRows()) {
    if (left === 0) break;
    left -= 1;
    yield { where: source, text: problem };
  }
  const more = stage.count().badRows - mostBadRows;
  if (more > 0) yield { where: '', text: `${more} more rows are bad` };
}
