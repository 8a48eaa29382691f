/** Reads the values that rows are multiplied by: the lists of `scenes`, with values from files, typed and checked. */
import { createHash, hash } from 'node:crypto';
import { program } from '../../lib/files/package-file.ts';
import { closest, didYouMean } from '../../lib/text/closest.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import {
  type Axis,
  axisNames,
  type ColumnType,
  combinations,
  type Expansion,
  type ListReading,
  maxExpanded,
  maxValues,
  scenesPerRow,
  typedColumn,
  valueText,
} from '../core/expansion.ts';
import type { Problem } from '../../lib/yaml/problem.ts';
import { shownFile } from '../../lib/yaml/yaml-file.ts';
import type { Config, NamedAxis } from '../config/config.ts';
import { listed, TemplateError } from '../config/template.ts';
import type { RulesVersion, SceneRules } from '../core/scene.ts';
import {
  leaveUnread,
  type Manifest,
  type ManifestEntry,
  ManifestError,
  openManifest,
} from '../manifest/read-manifest.ts';

export interface ReadExpansion {
  /** Undefined if there is none, or if there are problems. */
  expansion: Expansion | undefined;
  /** The sha256 of each file of values, in the order of `valueFiles`. */
  contents: string[];
  problems: Problem[];
  /** Remarks for whoever plans, as sentences. */
  remarks: string[];
}

/** Throws the `AbortError` of `signal`. */
export async function readExpansion(
  config: Config,
  rules: SceneRules,
  signal: AbortSignal,
): Promise<ReadExpansion> {
  const { scenes } = config;
  const reading: Reading = { config, rules, signal, contents: [], problems: [], remarks: [] };
  if (scenes === undefined) return { ...reading, expansion: undefined };
  const matrix = await readAxes(reading, 'matrix', scenes.matrix);
  const zip = await readAxes(reading, 'zip', scenes.zip);
  const { exclude, seeds } = scenes;
  const expansion = { matrix, zip, exclude, seeds, seedRules: rules };
  const { problems } = reading;
  // The following checks need complete values.
  if (problems.length === 0)
    problems.push(...zipProblems(config, expansion), ...excludeProblems(config, expansion));
  if (problems.length === 0) problems.push(...sizeProblems(config, expansion));
  return { ...reading, expansion: problems.length === 0 ? expansion : undefined };
}

interface Reading {
  config: Config;
  rules: SceneRules;
  signal: AbortSignal;
  contents: string[];
  problems: Problem[];
  remarks: string[];
}

async function readAxes(reading: Reading, section: 'matrix' | 'zip', axes: NamedAxis[]): Promise<Axis[]> {
  const read: Axis[] = [];
  for (const axis of axes) {
    const given = await valuesOf(reading, section, axis);
    const values = given.map((value) => typed(reading, axis.name, value));
    const isMatrix = section === 'matrix';
    if (isMatrix && axis.source.kind === 'values') reading.problems.push(...repeated(given, values));
    read.push({ name: axis.name, values: isMatrix ? merged(reading, axis, values) : values });
  }
  return read;
}

async function valuesOf(
  { config, rules, signal, contents, problems, remarks }: Reading,
  section: 'matrix' | 'zip',
  { name, source }: NamedAxis,
): Promise<FileValue[]> {
  const path = ['scenes', section, name];
  if (source.kind === 'values')
    return source.values.map((value, index) => ({ value, where: config.placeOf([...path, index]) }));
  try {
    // `header` names the columns of the manifest, not of this file.
    const reading = { ...listKeys(config), ...rules, header: undefined, trimsLines: false };
    const { values, content, notes } = await readValueFile(source.path, source.column, reading, signal);
    contents.push(content);
    remarks.push(...notes.map((note) => `${shownFile(source.path)}: ${note}`));
    return values;
  } catch (error) {
    if (!(error instanceof ManifestError) && !(error instanceof ValueFileError)) throw error;
    const key = error instanceof ValueFileError ? error.key : 'file';
    problems.push({ where: config.placeOf([...path, key]), text: error.message });
    return [];
  }
}

interface FileValue {
  value: JsonValue;
  /** `styles.txt:7` */
  where: string;
  /** The problem, in words that follow the place. */
  problem?: string;
}

/** Thrown for a problem of the whole file, or of the requested `column`. */
class ValueFileError extends Error {
  readonly key: 'file' | 'column';

  constructor(key: 'file' | 'column', message: string) {
    super(message);
    this.key = key;
  }
}

/** `content`: the sha256 of the file's bytes. Throws `ValueFileError`, `ManifestError` and the `AbortError` of `signal`. */
async function readValueFile(
  path: string,
  column: string | undefined,
  reading: ListReading,
  signal: AbortSignal,
): Promise<{ values: FileValue[]; content: string; notes: string[] }> {
  const bytes = createHash('sha256');
  const manifest = await openManifest(shownFile(path), {
    signal,
    reading,
    onBytes: (chunk) => void bytes.update(chunk),
  });
  const name = columnOf(manifest, column);
  if (name instanceof ValueFileError) {
    await leaveUnread(manifest);
    throw name;
  }
  const values: FileValue[] = [];
  for await (const entries of manifest.batches) {
    if (values.length + entries.length > maxValues)
      throw new ValueFileError(
        'file',
        `${manifest.path} has more than ${maxValues.toLocaleString('en')} values; ${tooLong}`,
      );
    for (const entry of entries) values.push(valueOf(entry, name, manifest.path));
  }
  if (values.length === 0) throw new ValueFileError('file', `${manifest.path} has no value in it`);
  return { values, content: bytes.digest('hex'), notes: manifest.notes };
}

const tooLong = 'put a longer list into the manifest';

function columnOf({ path, columns }: Manifest, wanted: string | undefined): string | ValueFileError {
  const [only, ...others] = columns ?? [];
  if (wanted === undefined) {
    if (only !== undefined && others.length === 0) return only;
    const there = columns === undefined ? '' : `; it has ${listed(columns)}`;
    return new ValueFileError(
      'column',
      `which column of ${path} holds the values? Expected column: name${there}`,
    );
  }
  if (columns === undefined || columns.includes(wanted)) return wanted;
  const hint = didYouMean(wanted, columns) ?? `it has ${listed(columns)}`;
  return new ValueFileError('column', `${path} has no column ${JSON.stringify(wanted)}; ${hint}`);
}

function valueOf(entry: ManifestEntry, column: string, path: string): FileValue {
  const where = `${path}:${entry.line}`;
  if (entry.kind === 'bad') return { value: null, where, problem: entry.problem };
  const given = Object.hasOwn(entry.columns, column) ? entry.columns[column] : undefined;
  const value = typeof given === 'string' ? given.trim() : given;
  if (value !== undefined && value !== null && value !== '') return { value, where };
  return { value: null, where, problem: `the value of ${column} is empty` };
}

function typed({ config, problems }: Reading, name: string, { value, where, problem }: FileValue): JsonValue {
  const type = config.columns.get(name);
  try {
    if (problem !== undefined) throw new TemplateError(problem);
    if (type !== undefined) return typedValue(value, type, `the value of ${name}`);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    problems.push({ where, text: error.message });
  }
  return value;
}

/** Returns each value of a file once, and remarks repeated ones. In pipeline.yaml they are refused. */
function merged({ remarks }: Reading, { source }: NamedAxis, values: JsonValue[]): JsonValue[] {
  if (source.kind === 'values') return values;
  const seen = new Set<string>();
  const kept = values.filter((value) => {
    const isRepeated = seen.has(valueText(value));
    seen.add(valueText(value));
    return !isRepeated;
  });
  const left = values.length - kept.length;
  const what = left === 1 ? '1 repeated value is' : `${left.toLocaleString('en')} repeated values are`;
  if (left > 0) remarks.push(`${shownFile(source.path)}: ${what} left out`);
  return kept;
}

function repeated(given: FileValue[], values: JsonValue[]): Problem[] {
  const first = new Map<string, string>();
  return given.flatMap(({ where, problem }, index) => {
    const value = values[index] ?? null;
    // 1 and "1" are the same word in a prompt, so one of them is a mistake.
    const key = valueText(value);
    const before = first.get(key);
    if (before === undefined) first.set(key, where);
    if (before === undefined || problem !== undefined) return [];
    return [{ where, text: `the value ${shown(value)} is repeated (${before})` }];
  });
}

function zipProblems(config: Config, { zip }: Expansion): Problem[] {
  const [first] = zip;
  if (first === undefined) return [];
  const { length } = first.values;
  const uneven = zip
    .filter(({ values }) => values.length !== length)
    .map(({ name, values }) => ({
      where: config.placeOf(['scenes', 'zip', name]),
      text: `${first.name} has ${length.toLocaleString('en')} values and ${name} ${values.length.toLocaleString('en')}; zipped lists must have equal lengths`,
    }));
  if (uneven.length > 0) return uneven;
  const rows = first.values.map((_, at) => ({
    value: zip.map(({ values }) => values[at] ?? null),
    where: config.placeOf(['scenes', 'zip', first.name, at]),
  }));
  return repeated(
    rows,
    rows.map(({ value }) => value),
  );
}

function excludeProblems(config: Config, { matrix, zip, exclude }: Expansion): Problem[] {
  const axes = new Map([...matrix, ...zip].map(({ name, values }) => [name, values]));
  const texts = new Map<string, Set<string>>();
  const textsOf = (name: string, values: readonly JsonValue[]): Set<string> => {
    const known = texts.get(name) ?? new Set(values.map(valueText));
    texts.set(name, known);
    return known;
  };
  return exclude.flatMap((rule, index) =>
    [...rule].flatMap(([name, value]): Problem[] => {
      const path = ['scenes', 'exclude', index, name];
      const values = axes.get(name);
      if (values === undefined) {
        const text = `there is no list ${JSON.stringify(name)} in scenes; ${hintOf(name, [...axes.keys()])}`;
        return [{ where: config.placeOf(path, true), text }];
      }
      const there = textsOf(name, values);
      if (there.has(valueText(value))) return [];
      const text = `${name} has no value ${shown(value)}; ${hintOf(valueText(value), [...there])}`;
      return [{ where: config.placeOf(path), text }];
    }),
  );
}

function hintOf(written: string, there: string[]): string {
  const meant = closest(written, there);
  return meant === undefined || meant.length < 3 ? `there is ${listed(there)}` : `did you mean ${meant}?`;
}

function sizeProblems(config: Config, expansion: Expansion): Problem[] {
  const perRow = scenesPerRow(expansion);
  if (perRow > maxExpanded) {
    const what = config.manifest.length > 0 ? 'scenes of every row' : 'scenes';
    const text = `${axisNames(expansion).join(' × ')} makes ${perRow.toLocaleString('en')} ${what}, before exclude; expected ${maxExpanded.toLocaleString('en')} at most`;
    return [{ where: config.placeOf(['scenes'], true), text }];
  }
  if (combinations(expansion).next().done !== true) return [];
  return [
    {
      where: config.placeOf(['scenes', 'exclude'], true),
      text: 'every combination is excluded: there is no scene to render',
    },
  ];
}

/** Returns the settings that say how lists are read. */
export function listKeys({
  header,
  comments,
  encoding,
}: Config): Pick<ListReading, 'header' | 'comments' | 'encoding'> {
  return { header, comments, encoding };
}

/**
 * Returns the digest by which a start sees that lists, and the settings that make scenes of them, are
 * unchanged. `contents`: the sha256 of each manifest's bytes, then of each of `valueFiles`. Includes the
 * versions of the program and of Node, because other versions may read the lists differently.
 */
export function listDigest(config: Config, rules: RulesVersion, contents: readonly string[]): string {
  const { manifestFiles, columns, scenes, input, output, skipBadRows, skipRepeatedRows } = config;
  // The file extension decides the format, and the displayed path is part of every scene.
  const files = [manifestFiles.map(({ path }) => shownFile(path)), contents];
  const readers = [program, process.version];
  const lists = scenes && { ...scenes, exclude: scenes.exclude.map((rule) => [...rule]) };
  const templates = [input?.text ?? null, output.name?.text ?? null];
  return hash(
    'sha256',
    JSON.stringify({
      readers,
      files,
      list: listKeys(config),
      types: [...columns],
      lists,
      templates,
      skipBadRows,
      skipRepeatedRows,
      rules,
    }),
  );
}

/** `name` begins the message. Throws as `typedRow` does. */
export function typedValue(value: JsonValue, type: ColumnType, name: string): JsonValue {
  const read = typedColumn(value, type);
  if ('value' in read) return read.value;
  throw new TemplateError(`${name} is ${shown(value)}; expected ${read.expected}`);
}

const maxLength = 80;

function shown(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}
