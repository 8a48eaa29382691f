/** Reads a YAML file as values with their places, with options and variables applied, and makes its JSON Schema. */
import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { similarFile } from '../files/glob.ts';
import { shellWord } from '../text/format.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../text/json.ts';
import { ConfigError } from './problem.ts';
import { type Path, readYaml, type YamlFile } from './read-yaml.ts';

export interface Override {
  path: string[];
  value: JsonValue;
  /** `--concurrency` or `NIGHTRENDER_CONCURRENCY`. */
  from: string;
}

/** Reads a file, or none, with environment variables and overrides applied in order. Throws `ConfigError`. */
export function readYamlFile(
  file: string | undefined,
  env: NodeJS.ProcessEnv,
  { overrides = [], expected = 'pipeline.yaml' }: { overrides?: Override[]; expected?: string } = {},
): YamlFile {
  const shown = file === undefined ? '' : shownFile(file);
  const text = file === undefined ? '' : readText(file, shown, expected);
  const yaml = readYaml(shown, text, env);
  if (file !== undefined) assertKind(shown, yaml.value, expected);
  return withOverrides(yaml, overrides);
}

/** True if the keys are those of a batch. */
export function isPipelineFile(value: unknown): boolean {
  return hasKey(value, ['manifest', 'scenes', 'output']) && !hasKey(value, ['endpoints']);
}

function hasKey(value: unknown, keys: string[]): boolean {
  return isJsonObject(value) && keys.some((key) => Object.hasOwn(value, key));
}

/** Throws if the file is of another kind, and names the command for it. */
function assertKind(shown: string, value: unknown, expected: string): void {
  const isBatch = hasKey(value, ['manifest', 'endpoint', 'scenes', 'output']);
  const word = shellWord(shown);
  if (expected === 'service.yaml' && isPipelineFile(value))
    throw problem(shown, `this is the pipeline.yaml of a batch; start it with \`nightrender run ${word}\``);
  if (expected !== 'pipeline.yaml' || isBatch) return;
  if (hasKey(value, ['endpoints']))
    throw problem(shown, `this is a service.yaml; start the service with \`nightrender serve ${word}\``);
  if (isJsonObject(value) && /\.json$/i.test(shown)) throw isList(shown, expected);
}

/** Returns the path for messages: relative to the working directory, or absolute if that is `/`. */
export function shownFile(file: string): string {
  return process.cwd() === '/' ? resolve(file) : relative('', file) || file;
}

/** Applies overrides. A problem with an overridden value names the option or variable that set it. */
function withOverrides(yaml: YamlFile, overrides: Override[]): YamlFile {
  // A file that is no mapping is reported as such, with or without options.
  const given = yaml.value ?? {};
  if (overrides.length === 0 || !isJsonObject(given)) return yaml;
  const root: JsonObject = structuredClone(given);
  for (const { path, value } of overrides) setIn(root, path, value);
  const overriding = (path: Path): Override | undefined =>
    overrides.findLast((override) => override.path.every((key, i) => path[i] === key));
  return {
    ...yaml,
    value: root,
    placeOf: (path, ofKey) => overriding(path)?.from ?? yaml.placeOf(path, ofKey),
    fromEnvironment: (path) => (overriding(path) === undefined ? yaml.fromEnvironment(path) : 'none'),
    writtenAs: (path) => (overriding(path) === undefined ? yaml.writtenAs(path) : undefined),
  };
}

function setIn(root: JsonObject, path: string[], value: JsonValue): void {
  const [key, ...rest] = path;
  if (key === undefined) return;
  if (rest.length === 0) {
    root[key] = value;
    return;
  }
  const inner = root[key];
  const object = isJsonObject(inner) ? inner : {};
  root[key] = object;
  setIn(object, rest, value);
}

/** File extensions of lists of scenes. */
const listEnding = /\.(csv|tsv|txt|jsonl|ndjson|parquet|xlsx)(\.(gz|zst))?$/i;

/** Rejects a manifest that is given in place of a pipeline.yaml, instead of parsing it for minutes. */
const maxBytes = 1_000_000;

const reasons: Record<string, string> = {
  ENOTDIR: 'no such file',
  EACCES: 'permission denied',
};

function readText(file: string, shown: string, expected: string): string {
  const bytes = readBytes(file, shown, expected);
  if (isUtf8(bytes)) return bytes.toString('utf8').replace(/^\uFEFF/, '');
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw problem(shown, 'the file is encoded in UTF-16; expected UTF-8');
  }
  throw problem(`${shown}:${placeOfBadByte(bytes)}`, 'not valid UTF-8; save the file as UTF-8');
}

function readBytes(file: string, shown: string, expected: string): Buffer {
  try {
    assertNoList(shown, Buffer.of(), expected);
    const found = statSync(file);
    // The size of a folder says nothing about what is in it.
    if (found.isFile()) assertSize(shown, found.size, expected);
    const bytes = readFileSync(file);
    assertNoList(shown, bytes, expected);
    assertSize(shown, bytes.length, expected);
    return bytes;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'EISDIR') throw problem(shown, `this is a folder; expected a ${expected}`);
    if (code === 'ENOENT') throw problem(shown, `no such file${similarFile(file)}`);
    throw problem(shown, reasons[code] ?? `the file cannot be read (${code})`);
  }
}

function assertNoList(shown: string, bytes: Buffer, expected: string): void {
  const isArray = /\.json$/i.test(shown) && /^\s*\[/.test(bytes.toString('latin1', 0, 100));
  if (expected !== 'pipeline.yaml' || !(isArray || listEnding.test(shown))) return;
  throw isList(shown, expected);
}

function isList(shown: string, expected: string): ConfigError {
  const command = `nightrender init --manifest ${shellWord(shown)}`;
  const text = `this is a list of scenes; expected a ${expected}, which \`${command}\` writes for it`;
  return problem(shown, text);
}

function assertSize(shown: string, size: number, expected: string): void {
  if (size > maxBytes)
    throw problem(
      shown,
      `the file has ${size.toLocaleString('en')} bytes; expected a ${expected} of at most ${maxBytes.toLocaleString('en')} bytes`,
    );
}

/** Returns line and column of the first byte that is not UTF-8. */
function placeOfBadByte(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  let at = text.indexOf('\u{FFFD}');
  // The file may contain the replacement character itself.
  while (
    Buffer.from(text.slice(0, at + 1)).equals(bytes.subarray(0, Buffer.byteLength(text.slice(0, at + 1))))
  )
    at = text.indexOf('\u{FFFD}', at + 1);
  const lines = text
    .slice(0, at)
    .replace(/^\uFEFF/, '')
    .split('\n');
  return `${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
}

function problem(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}
