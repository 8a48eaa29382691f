/** A checked pipeline.yaml, and the parts of one that can be read without the schema. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { isGlob, matchingFiles } from '../../lib/files/glob.ts';
import type { ProxyRules } from '../../lib/net/addresses.ts';
import { isPostgresAddress, postgresExpected } from '../../lib/postgres/postgres.ts';
import { shellWord } from '../../lib/text/format.ts';
import { isJsonObject, type JsonValue } from '../../lib/text/json.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import type { Path, YamlFile } from '../../lib/yaml/read-yaml.ts';
import { type Override, readYamlFile } from '../../lib/yaml/yaml-file.ts';
import type { Endpoint } from '../core/attempt.ts';
import type { FilePlace } from '../core/picture.ts';
import type { StatusMeaning } from '../core/service-description.ts';
import type { InputTemplate } from './input-template.ts';
import type { AxisSource } from './scene-schema.ts';
import type { CheckedFile } from './pipeline-schema.ts';
import type { ServiceInterface } from './service-interface.ts';
import type { Template } from './template.ts';

/** Expansion of the manifest by `scenes`, with its lists in file order. */
export interface ListExpansion {
  matrix: NamedAxis[];
  zip: NamedAxis[];
  exclude: ReadonlyMap<string, JsonValue>[];
  /** Number of seeds of each scene; 0 for none. */
  seeds: number;
  /** Condition after which no other seed is sent; undefined if all seeds are sent. */
  until?: string | undefined;
}

/** Value of `scenes.ids` for what is starred in `watch`. No absolute path equals it. */
export const starredScenes = 'marks';

/** Another batch whose saved pictures are the list. Paths are absolute. */
export interface StageSource {
  /** The pipeline.yaml of the other batch. */
  from: string;
  /** Condition that a picture has to meet. */
  keep: string | undefined;
  /** A file with scene ids, or `marks`: what is starred in `watch`. */
  ids: string | undefined;
  /** Selects the `count` pictures with the highest numbers in `by` from each group, which is formed by `of`. */
  best: { of: string; by: string; count: number } | undefined;
}

/** A list that rows are multiplied by. The path of a file is absolute. */
export interface NamedAxis {
  name: string;
  source: AxisSource;
}

/** The keys of pipeline.yaml, with defaults, and derived values. Durations in ms, sizes in bytes, paths absolute. */
export interface Config extends Omit<CheckedFile, 'manifest' | 'endpoint' | 'input' | 'scenes' | 'output'> {
  /** Absolute path of pipeline.yaml. */
  file: string;
  /** Proxies of the environment, by `proxy`. */
  proxies: ProxyRules;
  /** Folder of pipeline.yaml, to which its paths are relative. */
  folder: string;
  /** Environment from which variables and keys were read. */
  env: NodeJS.ProcessEnv;
  /** Paths and patterns, made absolute; `-` is standard input. Empty if `scenes` alone makes the scenes. */
  manifest: string[];
  /** Files that `manifest` stands for, in the order in which they are read. */
  manifestFiles: ManifestFile[];
  /** True if an option or a variable sets it. */
  isManifestOverridden: boolean;
  /** The endpoint as it is recorded and displayed, without the other keys of `endpoint`. */
  endpoint: Endpoint;
  service: ServiceInterface;
  maxConcurrency: number;
  /** `endpoint.statuses`: meanings of status words that the job interface does not have. */
  statuses: Readonly<Record<string, StatusMeaning>>;
  /** `endpoint.policy`; undefined if none is sent. */
  policy:
    | { executionTimeout?: number | undefined; ttl?: number | undefined; lowPriority?: boolean | undefined }
    | undefined;
  /** `endpoint.apiKey`; undefined for the local service, which makes its own. */
  apiKey: string | undefined;
  /** `endpoint.comfyApiKey`, which partner nodes of ComfyUI use. */
  comfyApiKey: string | undefined;
  freshness: number;
  /** How long the service keeps a result, in ms. */
  keepsMs: number;
  /** Undefined if the manifest's column `scene` or `prompt` is sent. */
  input: InputTemplate | undefined;
  /** The batch that replaces a manifest; undefined if there is none. */
  stage: StageSource | undefined;
  /** Expansion of every row; undefined if each row is one scene. */
  scenes: ListExpansion | undefined;
  output: Omit<CheckedFile['output'], 'name' | 'files'> & {
    /** True if an option or a variable sets `dir`. */
    isOverridden: boolean;
    /** Template over columns, `id`, `seed` and `index` that makes a portable path. Undefined for `defaultName`. */
    name: Template | undefined;
    /** Files that each scene has besides pictures. For a job without pictures, this includes its whole output. */
    files: FilePlace[];
  };
  /** Identifies the settings by which pictures are found in an output and accepted. */
  outputDigest: string;
  warnings: string[];
  /** Returns where a value was set, or its key if `ofKey`, for problems that appear later: `pipeline.yaml:7:14`. */
  placeOf(path: Path, ofKey?: boolean): string;
}

/**
 * Parts of a pipeline.yaml that say where a batch is, each checked alone and without the schema. The file is
 * read once. Problems elsewhere in it do not affect a part, such as a variable that is not set in this
 * terminal.
 */
export class PipelineParts {
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
  readonly yaml: YamlFile;

  /** Throws `ConfigError` if the file cannot be read. */
  constructor(file: string, overrides: Override[], env: NodeJS.ProcessEnv) {
    this.file = file;
    this.env = env;
    this.yaml = readYamlFile(file, env, { overrides });
  }

  isProxyForAll(): boolean {
    return fileValueAt(this.yaml, ['proxy']).value === 'all';
  }

  /** Returns `output.dir`, absolute. Throws `ConfigError`. */
  outputDir(): string {
    const { problems } = this.yaml;
    const { value: dir, where, problems: atDir } = fileValueAt(this.yaml, ['output', 'dir']);
    if (typeof dir !== 'string' || dir === '')
      throw new ConfigError([problems[0] ?? { where, text: 'output.dir is missing; expected a path' }]);
    if (atDir.length > 0) throw new ConfigError(atDir);
    return resolve(dirname(resolve(this.file)), dir);
  }

  /** Returns the address of a shared checkpoint and its place in the file, or undefined. Throws `ConfigError`. */
  checkpoint(): { address: string; where: string } | undefined {
    const { value: address, where, problems } = fileValueAt(this.yaml, ['checkpoint']);
    if (problems.length > 0) throw new ConfigError(problems);
    if (address === undefined || address === null) return undefined;
    if (typeof address === 'string' && isPostgresAddress(address)) return { address, where };
    throw new ConfigError([{ where, text: `checkpoint is not valid; expected ${postgresExpected}` }]);
  }
}

/** Returns the value at `path`, its place in the file, and the problems at that place. */
export function fileValueAt(yaml: YamlFile, path: Path) {
  const value = path.reduce<unknown>(
    (inner, key) => (isJsonObject(inner) ? inner[String(key)] : undefined),
    yaml.value,
  );
  const where = yaml.placeOf(path);
  return { value, where, problems: yaml.problems.filter((problem) => problem.where === where) };
}

export interface ManifestFile {
  /** Absolute path, or `-`. A pattern that matches no file is kept, so that reading it reports the problem. */
  path: string;
  /** Place in the configuration. */
  at: Path;
}

/**
 * Returns the files that `manifest` stands for: paths, patterns such as `lists/*.txt`, and folders of Parquet
 * files. `manifest`: absolute paths and patterns. A pattern does not match what the batch itself has written
 * into `outputDir`.
 */
export function manifestFiles(manifest: readonly string[], outputDir: string): ManifestFile[] {
  const written = ['images', 'report', 'kept-answers'].map((name) => join(outputDir, name) + sep);
  const filesAt = (path: string): string[] => {
    if (path === '-' || existsSync(path) || !isGlob(path)) return shardsAt(path);
    const found = matchingFiles(path).filter((file) => !written.some((folder) => file.startsWith(folder)));
    return found.length === 0 ? [path] : found.filter((file) => !manifest.includes(file));
  };
  return manifest.flatMap((given, index) => {
    const at = manifest.length > 1 ? ['manifest', index] : ['manifest'];
    return filesAt(given).map((path) => ({ path, at }));
  });
}

/** Returns the Parquet files of a folder, sorted, if it has no .txt files; otherwise the path itself. */
function shardsAt(path: string): string[] {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [path];
  const names = readdirSync(path).filter((name) => /^[^.].*\.(parquet|txt)$/i.test(name));
  if (names.length === 0 || names.some((name) => /\.txt$/i.test(name))) return [path];
  return names.toSorted().map((name) => join(path, name));
}

/** Explains how to download a list that is given as a URL; undefined for a path. */
export function downloadHint(given: string): string | undefined {
  // As an option, a URL has become a path: /home/ann/https:/example.com/birds.csv
  const [, scheme = '', rest = ''] = /(?:^|\/)(https?|s3):\/+(.+)$/i.exec(given) ?? [];
  if (scheme === '') return undefined;
  const url = `${scheme}://${rest}`;
  const [, found] = /\/([^/?#]+\.\w+)(?:[?#].*)?$/.exec(rest) ?? [];
  const name = found ?? 'list.csv';
  const curl = `curl ${found === undefined ? `-Lo ${name}` : '-LO'} ${shellWord(url)}`;
  const command = scheme.toLowerCase() === 's3' ? `aws s3 cp ${shellWord(url)} ${shellWord(name)}` : curl;
  return `${url} is a URL, and a list must be a file. Download it, \`${command}\`, and write manifest: ${name}`;
}
