/** A checked pipeline.yaml. */
import type { Endpoint } from '../core/attempt.ts';
import type { FilePlace } from '../core/named-file.ts';
import type { StatusMeaning } from '../core/service-description.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { InputTemplate } from './input-template.ts';
import type { ManifestFile } from './manifest-files.ts';
import type { ServiceInterface } from './service-interface.ts';
import type { AxisSource } from './scene-schema.ts';
import type { CheckedFile } from './schema.ts';
import type { Template } from './template.ts';
import type { Path } from '../../lib/yaml/read-yaml.ts';

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

/** Another batch whose saved pictures are the list. Paths are absolute. */
export interface StageSource {
  /** The pipeline.yaml of the other batch. */
  from: string;
  /** Condition that a picture has to meet. */
  keep: string | undefined;
  /** A file with scene ids. */
  ids: string | undefined;
  /** Selects the `count` pictures with the highest numbers in `by` from each group, which is formed by `of`. */
  best: { of: string; by: string; count: number } | undefined;
}

/** A list that rows are multiplied by. The path of a file is absolute. */
export interface NamedAxis {
  name: string;
  source: AxisSource;
}

/**
 * The keys of pipeline.yaml under their own names, with defaults, and values derived from them. Durations are
 * in ms, sizes in bytes, paths absolute.
 */
export interface Config extends Omit<CheckedFile, 'manifest' | 'endpoint' | 'input' | 'scenes' | 'output'> {
  /** Absolute path of pipeline.yaml. */
  file: string;
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
  /** `endpoint.statuses`: meanings of status words that the job interface does not have. */
  statuses: Readonly<Record<string, StatusMeaning>>;
  /** `endpoint.apiKey`; undefined for the local service, which makes its own. */
  apiKey: string | undefined;
  /** `endpoint.freshness`. */
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
    /**
     * Template over columns, `id`, `seed` and `index`, which makes a portable path. Undefined for names from
     * `core/default-name`.
     */
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
