/** The settings of a batch; read from pipeline.yaml by `config/`. */
import type { Endpoint } from '../core/attempt.ts';
import type { HaltSettings } from '../core/halting.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { NamedFile } from '../core/named-file.ts';
import type { NamedValue } from '../core/output-value.ts';
import type { RateSettings } from '../core/pacing.ts';
import type { Part } from '../core/part.ts';
import type { PollSettings } from '../core/polling.ts';
import type { RetrySettings } from '../core/retry.ts';
import type { Pricing, SpendingLimits } from '../core/spending.ts';

export interface BatchSettings {
  /** Where new jobs are sent; jobs in flight are followed where they were sent. */
  endpoint: Endpoint;
  /** The part of the batch that is rendered; all of it where left out. */
  part?: Part;
  /** What becomes of pictures that no record knows, under the names of scenes that wait: `keep` has them kept as `.former`. */
  unknownPictures: 'ask' | 'adopt' | 'keep';
  /** Jobs in flight at most. */
  concurrency: number;
  retry: RetrySettings;
  polling: PollSettings;
  halt: HaltSettings;
  timeouts: {
    /** A job that has not been seen executing for this long has failed. */
    queueMs: number;
    /** A job that has been executing for this long has failed. */
    executionMs: number;
    /** A 404 for a job younger than this means that the service does not know it yet. */
    freshnessMs: number;
    /** No result is deleted before, counted from its completion. */
    keepsMs: number;
  };
  rate: { submit: RateSettings; status: RateSettings };
  /** Price of the work; undefined where it is unknown. */
  pricing: Pricing | undefined;
  limits: SpendingLimits & {
    /** Nothing is submitted that is not expected to be done this long after the first submission of the run. */
    forMs?: number;
    /** As above, by this instant (epoch ms). */
    untilAt?: number;
  };
  /** How often the endpoint's health is asked for; never where left out. */
  healthEveryMs?: number;
  /** Requests in progress when the run leaves have this long to finish. */
  shutdownGraceMs: number;
  /** The report is written so often during the run, where that is quick; undefined: at its end alone. */
  reportEveryMs: number | undefined;
  /** The portable file name of a picture, before it is made unique. */
  pictureName: (picture: PictureData) => string;
  /** Identifies the settings by which pictures are found and accepted; see `Holds`. */
  outputSettings: string;
  /** Whether its file says which attempt has brought it, so that in a bucket nobody overwrites anybody. */
  isNamedByAttempt?: boolean;
  /** What each scene has besides its pictures; nothing where left out. */
  files?: readonly NamedFile[];
  /** Values of outputs that decide whether further seeds are rendered (`scenes.until`). */
  decidingValues?: readonly NamedValue[];
  /** Whether those are all that it has. */
  isWithoutPictures?: boolean;
  /** What copies of a picture have in place of its `.png`; two pictures never have a copy of one name. */
  copyEndings: readonly string[];
}

/** What `output.name` may use. */
export interface PictureData {
  id: string;
  columns: JsonObject;
  /** What its job is sent. */
  input: JsonObject;
  /** Empty where the output names none. */
  seed: string;
  /** 1 for the first picture of an output. */
  index: number;
}
