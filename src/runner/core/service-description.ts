/** The description of a service as data: requests, answers, output values and health. */
import type { JsonValue } from '../../lib/text/json.ts';

export type StatusMeaning = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled' | 'timed-out';

export type TextMeaning = 'cancelled' | 'no-credit' | 'unknown-id' | 'refused-input' | 'not-yet';

/** An HTTP request. Texts contain placeholders such as `{{ id }}` and `{{ job.status_url }}`. */
export interface DescribedRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
}

/** Path such as `images[*].url`. `a|b` is the first of these keys that has a value. */
type AnswerPath = string;

export interface ServiceDescription {
  name: string;
  /**
   * True for the interface of job services, which many services share. Any other service may have been put behind a gateway
   * that changes its answers, so an answer without a job id stops the run until one had an id.
   */
  isOfJobs: boolean;
  /** True if a status is known to name its job. Otherwise this is trusted once a status has named its job. */
  isJobNamed: boolean;
  /** Default base URL, without a trailing slash. */
  baseUrl: string | undefined;
  id: string;
  /** Headers with the key, for each request to the service itself. */
  auth: Record<string, string>;
  /** Other origins of the service, such as `https://host`, which may also receive its key. */
  origins: string[];
  keyVariable: string;
  submit: DescribedRequest & {
    headers: Record<string, string>;
    /** `{{ input }}` stands for the input of a scene. */
    body: JsonValue;
    job: AnswerPath;
    /** Members of the answer that later requests need. */
    keep: string[];
    /** Ms for which the same `{{ idempotencyKey }}` makes no second job. `echoed`: as the answer states. */
    remembers?: number | 'echoed' | undefined;
  };
  status: DescribedRequest & {
    at: AnswerPath;
    map: Readonly<Record<string, StatusMeaning>>;
    /** Path of the job's id, which detects an answer about another job. */
    job: AnswerPath;
    /** Path of the execution time in seconds, if it is billed by the second. */
    seconds?: AnswerPath | undefined;
    /** Paths of the time in the queue, and of the execution time, in ms. */
    delayMs?: AnswerPath | undefined;
    executionMs?: AnswerPath | undefined;
    /** Path that has a value if the result was deleted. */
    expired?: AnswerPath | undefined;
  };
  /** Place of the result. Without its own request, the result is in the answer that says `done`. */
  result: {
    request: DescribedRequest | undefined;
    /** Path of the job's id. If it is undefined, the id is not checked. */
    job?: AnswerPath | undefined;
    output: AnswerPath;
    /** Paths to try in order. Empty if pictures are detected from the shape of the output. */
    pictures: AnswerPath[];
    /** True if the output of a finished job counts even if `failed` has a value. */
    comesFirst: boolean;
    /** True if pictures at the service's own address are downloaded with its key. */
    withKey: boolean;
  };
  /** Path of the failure message. If it has a value, the job has failed. */
  failed: AnswerPath;
  /** Texts in an answer that are more specific than its status. */
  texts: Readonly<Record<string, TextMeaning>>;
  cancel: DescribedRequest | undefined;
  /** Request for the latest jobs, newest first, to find a lost submission by its input and time. */
  find:
    | (DescribedRequest & {
        items: AnswerPath;
        /** Path within an item. Defaults to the path in the answer to a submission. */
        job?: AnswerPath | undefined;
        /** Path of the URL of the next page, or of its cursor. */
        next?: AnswerPath | undefined;
        /** Query parameter that takes the cursor. */
        cursor?: string | undefined;
        input: AnswerPath;
        createdAt: AnswerPath;
        /** Values of `submit.keep` that are built from the id of a job that was found. */
        keep: Readonly<Record<string, string>>;
        /** True if a job may be listed only once it is over. The list is then in the order of the ends. */
        onlyEnded: boolean;
      })
    | undefined;
  /** Request for the record of a job that `status` or `result` no longer finds. */
  archive:
    | (DescribedRequest & {
        job: AnswerPath;
        /** Path of the HTTP status of the result. A job without one is not over. */
        code: AnswerPath;
        output: AnswerPath;
      })
    | undefined;
  /** Request that verifies address, key and id without a job: an answer with a value at `has`. */
  check:
    | (DescribedRequest & {
        has?: AnswerPath | undefined;
        /** Paths of the price of a unit, of the unit's name, and of the currency. */
        price?: AnswerPath | undefined;
        unit?: AnswerPath | undefined;
        currency?: AnswerPath | undefined;
      })
    | undefined;
  /** Request for the number of jobs and workers by state. A description has this or `check`. */
  health:
    (DescribedRequest & { jobs?: AnswerPath | undefined; workers?: AnswerPath | undefined }) | undefined;
  /** Time for which a result is kept after its completion, in ms. */
  keepsMs: number;
  limits: {
    jobs?: number | undefined;
    submissionsPerSecond?: number | undefined;
    requestsPerSecond?: number | undefined;
  };
  hosts: string[];
}

const placeholder = /\{\{\s*([^{}]*?)\s*\}\}/g;

export function placeholdersIn(text: string): string[] {
  return [...text.matchAll(placeholder)].map(([, name = '']) => name);
}

export type Values = Readonly<Record<string, string>>;

/** Compiles a text with placeholders into a function. `spell` encodes values, except at the beginning. */
export function compileText(
  text: string,
  spell: (value: string, name: string) => string = (value) => value,
): (values: Values) => string {
  const parts = text.split(placeholder);
  const names = placeholdersIn(text);
  const wholes = text.match(placeholder) ?? [];
  return (values) => {
    let filled = parts[0] ?? '';
    for (const [i, name] of names.entries()) {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      const isFirst = i === 0 && filled === '';
      const written = value === undefined || isFirst ? value : spell(value, name);
      filled += (written ?? wholes[i] ?? '') + (parts[2 * i + 2] ?? '');
    }
    return filled;
  };
}

export const workerStates = ['running', 'idle', 'ready', 'initializing', 'throttled', 'unhealthy'] as const;
export const jobStates = ['inProgress', 'inQueue', 'completed', 'failed', 'retried'] as const;

/** Workers and jobs of an endpoint, as its service reports them. */
export interface ServiceHealth {
  workers: Partial<Record<(typeof workerStates)[number], number>>;
  jobs: Partial<Record<(typeof jobStates)[number], number>>;
}

/** A status in the service's spelling, and the number of jobs in flight that had it last. */
export interface JobWord {
  word: string;
  jobs: number;
}

/**
 * Normal statuses of a job that waits or runs, in the included descriptions and at ComfyUI. The list is repeated
 * here because `core` reads no descriptions; a test of the live display compares it with them.
 */
const usualWords = new Set([
  '',
  '202',
  'IN_QUEUE',
  'IN_PROGRESS',
  'RUNNING',
  'pending',
  'running',
  'starting',
  'processing',
]);

/** Returns a text such as `"SUCCEEDED" of 5 jobs in flight`; undefined if all statuses are normal. */
export function oddWords(words: readonly JobWord[]): string | undefined {
  const odd = words.filter(({ word }) => !usualWords.has(word) && !usualWords.has(word.toUpperCase()));
  const shown = odd.toSorted((a, b) => b.jobs - a.jobs).slice(0, 3);
  if (shown.length === 0) return undefined;
  const each = shown.map(
    ({ word, jobs }) => `"${word}" of ${jobs.toLocaleString('en')} ${jobs === 1 ? 'job' : 'jobs'}`,
  );
  return `${each.join(', ')} in flight`;
}
