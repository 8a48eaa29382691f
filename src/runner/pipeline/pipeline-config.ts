/** Part of a batch's configuration that the pipeline reads: keys of pipeline.yaml by their names, and settings of one start. */
import type { JsonObject } from '../../lib/text/json.ts';
import type { Endpoint } from '../core/attempt.ts';
import type { HaltRules } from '../core/halting.ts';
import type { DefaultNames } from '../core/naming.ts';
import type { NamedFile, PictureCopy } from '../core/picture.ts';
import type { PollRules } from '../core/polling.ts';
import type { RequestRate } from '../core/request-rate.ts';
import type { RetryRules } from '../core/retry-policy.ts';
import type { Part } from '../core/scene.ts';
import type { NamedValue } from '../core/seeds-until.ts';
import type { PriceList, SpendingLimits } from '../core/spending.ts';

/** Configuration of the pipeline: keys of pipeline.yaml, and settings of one start. Durations are in ms. */
export interface PipelineConfig {
  /** Endpoint for new jobs. Jobs in flight are followed at the endpoint to which they were sent. */
  endpoint: Endpoint;
  /** A 404 for a job younger than this means that the service does not know the job yet. */
  freshness: number;
  /** Minimum time for which the service keeps a result after completion. */
  keepsMs: number;
  /** A `described` service reports health only if its description has a request for it. */
  service: { kind: string; description?: { health: object | undefined } };
  /** Highest `concurrency` to advise: the service's limit, or 0 if more jobs in flight bring no more workers. Default: 0. */
  maxConcurrency?: number;
  /** Limits that the service is sent with each job, in ms. */
  policy?: { executionTimeout?: number | undefined } | undefined;
  concurrency: number;
  retry: RetryRules;
  polling: PollRules;
  halt: HaltRules;
  timeouts: {
    /** Maximum time until a job is seen executing. After that it has failed. */
    queue: number;
    /** Maximum time of execution. After that a job has failed. */
    execution: number;
  };
  rate: { submit: RequestRate; status: RequestRate };
  pricing?: PriceList | undefined;
  limits: SpendingLimits & {
    /** Time after the first submission of the run. Nothing is submitted that is not expected to be done by then. */
    for?: number | undefined;
    /** Like `for`, as a local time of day: `07:00`. */
    until?: string | undefined;
  };
  /** `grace` is the time for requests in progress to finish when the run leaves. */
  shutdown: { grace: number };
  /** Interval between reports during the run, if writing is quick. If undefined, only the end writes one. */
  report: { every: number | undefined };
  scenes?: { until?: string | undefined } | undefined;
  output: {
    /** Template for names of pictures. If undefined, names come from `defaultName`. */
    name: { renderText(values: JsonObject): string } | undefined;
    /** Folder in a bucket. Undefined if pictures are in the file system. */
    pictures?: string | undefined;
    /** `none` if jobs return no pictures. */
    image?: string | undefined;
    /** `video`, `audio` or the path of the clip, for jobs whose result is a clip. Undefined if it is a picture. */
    media?: string | undefined;
    /** Other files of each scene. */
    files: readonly NamedFile[];
    /** Values that decide, with `scenes.until`, whether further seeds are rendered. */
    values: readonly NamedValue[];
    formats: readonly PictureCopy[];
    keep: 'png' | 'original';
  };
  /** Identifies the settings that find and check pictures. See `Holds`. */
  outputDigest: string;
  /** Naming scheme for pictures without `output.name`. */
  names: DefaultNames;
  /** Part of the batch to render. If absent, the whole batch. */
  part?: Part | undefined;
  /** Unknown pictures with names of waiting scenes: `ask` (default) refuses, `keep` renames to `.former`. */
  unknownPictures?: 'ask' | 'adopt' | 'keep';
}
