/** The slice of a batch's configuration that the road reads: keys of pipeline.yaml by their names, and what one start adds. */
import type { Endpoint } from '../core/attempt.ts';
import type { DefaultNames } from '../core/default-name.ts';
import type { HaltRules } from '../core/halting.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { NamedFile } from '../core/named-file.ts';
import type { NamedValue } from '../core/output-value.ts';
import type { Part } from '../core/part.ts';
import type { PictureCopy } from '../core/picture-copy.ts';
import type { PollRules } from '../core/polling.ts';
import type { RequestRate } from '../core/request-rate.ts';
import type { RetryRules } from '../core/retry.ts';
import type { PriceList, SpendingLimits } from '../core/spending.ts';

/** Durations are in ms. */
export interface PipelineConfig {
  /** Where new jobs are sent; jobs in flight are followed where they were sent. */
  endpoint: Endpoint;
  /** A 404 for a job younger than this means that the service does not know it yet. */
  freshness: number;
  /** No result is deleted before, counted from its completion. */
  keepsMs: number;
  /** A service that is `described` reports health only if its description has a request for it. */
  service: { kind: string; description?: { health: object | undefined } };
  /** Jobs in flight at most. */
  concurrency: number;
  retry: RetryRules;
  polling: PollRules;
  halt: HaltRules;
  timeouts: {
    /** A job that has not been seen executing for this long has failed. */
    queue: number;
    /** A job that has been executing for this long has failed. */
    execution: number;
  };
  rate: { submit: RequestRate; status: RequestRate };
  pricing?: PriceList | undefined;
  limits: SpendingLimits & {
    /** Nothing is submitted that is not expected to be done this long after the first submission of the run. */
    for?: number | undefined;
    /** As above, by this local time of day: `07:00`. */
    until?: string | undefined;
  };
  /** Requests in progress when the run leaves have `grace` to finish. */
  shutdown: { grace: number };
  /** The report is written so often during the run, if that is quick; at its end alone if undefined. */
  report: { every: number | undefined };
  scenes?: { until?: string | undefined } | undefined;
  output: {
    /** Names pictures; undefined for the names of `core/default-name`. */
    name: { renderText(values: JsonObject): string } | undefined;
    /** The bucket's folder; undefined for a folder of the file system. */
    pictures?: string | undefined;
    /** `none` if jobs give no picture. */
    image?: string | undefined;
    /** What each scene has besides its pictures. */
    files: readonly NamedFile[];
    /** Decide whether further seeds are rendered, with `scenes.until`. */
    values: readonly NamedValue[];
    formats: readonly PictureCopy[];
    keep: 'png' | 'original';
  };
  /** Identifies the settings by which pictures are found and accepted; see `Holds`. */
  outputDigest: string;
  /** What pictures of the batch are called without `output.name`. */
  names: DefaultNames;
  /** The part of the batch that is rendered; all of it where left out. */
  part?: Part | undefined;
  /**
   * What becomes of pictures that no record knows, under the names of scenes that wait: `keep` has them kept as `.former`.
   * The run is refused because of them where it is left out.
   */
  unknownPictures?: 'ask' | 'adopt' | 'keep';
}
