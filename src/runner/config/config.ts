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

/** How `scenes` expands the manifest; its lists in the order of the file. */
export interface ListExpansion {
  matrix: NamedAxis[];
  zip: NamedAxis[];
  exclude: ReadonlyMap<string, JsonValue>[];
  /** Seeds of each scene; 0 for none. */
  seeds: number;
  /** The condition after which no other seed is sent; undefined where each is. */
  until?: string | undefined;
}

/** Another batch whose saved pictures are the list; paths are absolute. */
export interface StageSource {
  /** Its pipeline.yaml. */
  from: string;
  /** A condition that a picture has to fulfil. */
  keep: string | undefined;
  /** A file with the ids of scenes. */
  ids: string | undefined;
  /** Of each group, which `of` makes, the pictures with the highest numbers in `by`. */
  best: { of: string; by: string; count: number } | undefined;
}

/** A file's path is absolute. */
export interface NamedAxis {
  name: string;
  source: AxisSource;
}

/**
 * The keys of pipeline.yaml by their names, with defaults, and what is made of them. Durations are in ms, sizes in bytes,
 * paths absolute.
 */
export interface Config extends Omit<CheckedFile, 'manifest' | 'endpoint' | 'input' | 'scenes' | 'output'> {
  /** pipeline.yaml. */
  file: string;
  /** Where it is: what its paths are relative to. */
  folder: string;
  /** What variables and keys were read from. */
  env: NodeJS.ProcessEnv;
  /** Paths and patterns, as they are written; `-` is standard input. Empty where `scenes` alone says everything. */
  manifest: string[];
  /** The lists that `manifest` stands for, in the order in which they are read. */
  manifestFiles: ManifestFile[];
  /** Whether a flag or a variable names it. */
  isManifestOverridden: boolean;
  /** As it is recorded and shown, so that the other keys of `endpoint` are not in it. */
  endpoint: Endpoint;
  /** What is spoken there. */
  service: ServiceInterface;
  /** `endpoint.statuses`: what words of the service mean that the interface of jobs does not have. */
  statuses: Readonly<Record<string, StatusMeaning>>;
  /** `endpoint.apiKey`; undefined for the local service, which makes its own. */
  apiKey: string | undefined;
  /** `endpoint.freshness`. */
  freshness: number;
  /** How long the service keeps a result. */
  keepsMs: number;
  /** Undefined where the manifest's column `scene` or `prompt` is sent. */
  input: InputTemplate | undefined;
  /** Instead of a manifest. */
  stage: StageSource | undefined;
  /** What every row is multiplied by; undefined where each is one scene. */
  scenes: ListExpansion | undefined;
  output: Omit<CheckedFile['output'], 'name' | 'files'> & {
    /** Whether a flag or a variable names `dir`. */
    isOverridden: boolean;
    /** Uses columns, `id`, `seed` and `index`; gives a portable path. Undefined for the names of `core/default-name`. */
    name: Template | undefined;
    /** What each scene has besides, the whole output of a job that gives nothing else included. */
    files: FilePlace[];
  };
  /** Identifies the settings by which pictures are found in an output and accepted. */
  outputDigest: string;
  /** What works and should be changed, in words. */
  warnings: string[];
  /** Where a value was set, or its key with `ofKey`, for problems that show later: `pipeline.yaml:7:14`. */
  placeOf(path: Path, ofKey?: boolean): string;
}
