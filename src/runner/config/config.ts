/** A checked pipeline.yaml: paths absolute, durations in ms, templates compiled. */
import { type ListReading } from '../core/list-reading.ts';
import type { Endpoint } from '../core/attempt.ts';
import type { HaltSettings } from '../core/halting.ts';
import type { NoticeTarget } from '../core/notices.ts';
import type { RateSettings } from '../core/pacing.ts';
import type { PollSettings } from '../core/polling.ts';
import type { FilePlace } from '../core/named-file.ts';
import type { NamedValue } from '../core/output-value.ts';
import type { PictureCopy } from '../core/picture-copy.ts';
import type { StatusMeaning } from '../core/service-description.ts';
import type { RetrySettings } from '../core/retry.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Pricing } from '../core/spending.ts';
import type { ColumnType } from '../core/typed-column.ts';
import type { InputTemplate } from './input-template.ts';
import type { ManifestFile } from './manifest-files.ts';
import type { ServiceInterface } from './service-interface.ts';
import type { AxisSource } from './scene-schema.ts';
import type { Template } from './template.ts';
import type { Path } from '../../lib/yaml/read-yaml.ts';

/** How `scenes` expands the manifest; its lists in the order of the file. */
export interface SceneSettings {
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

export interface Config {
  /** pipeline.yaml, absolute. */
  file: string;
  /** Where it is, absolute: what its paths are relative to. */
  folder: string;
  /** What variables and keys were read from. */
  env: NodeJS.ProcessEnv;
  /** Absolute paths and patterns, as they are written; `-` is standard input. Empty where `scenes` alone says everything. */
  manifest: string[];
  /** The lists that `manifest` stands for, in the order in which they are read. */
  manifestFiles: ManifestFile[];
  /** Whether a flag or a variable names it. */
  isManifestOverridden: boolean;
  endpoint: Endpoint;
  /** What is spoken there. */
  service: ServiceInterface;
  /** What words of the service mean that the interface of jobs does not have. */
  statuses: Readonly<Record<string, StatusMeaning>>;
  /** Undefined for the local service, which makes its own. */
  apiKey: string | undefined;
  /** Undefined where the manifest's column `scene` or `prompt` is sent. */
  input: InputTemplate | undefined;
  /** How lists are read. */
  list: Pick<ListReading, 'header' | 'comments' | 'encoding'>;
  /** Of the columns that are not text, in the order of the file. */
  columns: ReadonlyMap<string, ColumnType>;
  /** Instead of a manifest. */
  stage: StageSource | undefined;
  /** What every row is multiplied by; undefined where each is one scene. */
  scenes: SceneSettings | undefined;
  concurrency: number;
  output: {
    /** Absolute. */
    dir: string;
    /** Whether a flag or a variable names it. */
    isOverridden: boolean;
    /** The bucket's folder where they are put, `s3://bucket/folder/`; undefined for a folder in `dir`. */
    pictures: string | undefined;
    /** Uses columns, `id`, `seed` and `index`; gives a portable path. Undefined for the names of `core/default-name`. */
    name: Template | undefined;
    /** `none` where jobs give none. */
    imagePath: string | undefined;
    /** What each scene has besides. */
    files: FilePlace[];
    /** What is kept of each output besides, as columns of the results. */
    values: NamedValue[];
    /** Where pictures may be downloaded from: `cdn.example.com`, `*.example.com`, in lower case. */
    hosts: string[];
    /** What is made of each picture besides. */
    formats: PictureCopy[];
    /** Where pictures say where they come from. */
    /** What pictures that are no PNG are saved as. */
    keep: 'png' | 'original';
    metadata: 'embed' | 'sidecar' | 'none';
  };
  /** The address of the database that has the checkpoint, with its password; undefined for a file in the output folder. */
  checkpoint: string | undefined;
  retry: RetrySettings;
  polling: PollSettings;
  halt: HaltSettings;
  timeouts: { requestMs: number; queueMs: number; executionMs: number; freshnessMs: number; keepsMs: number };
  rate: { submit: RateSettings; status: RateSettings };
  pricing: Pricing | undefined;
  /** `pricing.expect`, also where nothing has a price. */
  expectMs: number | undefined;
  limits: {
    forMs: number | undefined;
    /** An hour of the day, `07:00`, in local time. */
    until: string | undefined;
    /** In the currency of `pricing`. */
    cost: number | undefined;
    jobs: number | undefined;
    bodyBytes: number;
    /** Of all kept answers together, compressed. */
    keptBytes: number;
    /** What large answers take together. */
    memoryBytes: number;
    pixels: number;
  };
  /** What a whole picture has to be besides. */
  check: { isBlankRefused: boolean; minSide: number | undefined };
  /**
   * `hasThumbnails`: small JPEGs for its gallery are made. `everyMs`: how often it is written during a run; undefined
   * where it is written at its end alone. `hasBom` and `separator` are those of results.csv.
   */
  report: { hasThumbnails: boolean; everyMs: number | undefined; hasBom: boolean; separator: string };
  shutdownGraceMs: number;
  notify: NoticeTarget[];
  terminal: {
    json: boolean;
    quiet: boolean;
    stats: boolean;
    /** Absolute. */
    log: string | undefined;
  };
  skipBadRows: boolean;
  skipRepeatedRows: boolean;
  /** Whether the list may have lost most of its scenes. */
  allowsFewer: boolean;
  /** Whether a run goes on if an edit renders most of what is saved again; undefined if the way it is started decides. */
  acceptEdits: 'always' | 'never' | undefined;
  /** What works and should be changed, in words. */
  warnings: string[];
  /** Where a value was set, or its key with `ofKey`, for problems that show later: `pipeline.yaml:7:14`. */
  placeOf(path: Path, ofKey?: boolean): string;
}
