/** What a service says and is told, as data: how jobs are submitted, asked for and cancelled. */
import type { JsonValue } from '../../lib/text/json.ts';

/** What a status means. */
export type StatusMeaning = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled' | 'timed-out';

/** What a text in a refusal or a failure means. */
export type TextMeaning = 'cancelled' | 'no-credit' | 'unknown-id' | 'refused-input' | 'not-yet';

/** A request; texts hold placeholders such as `{{ id }}` and `{{ job.status_url }}`. */
export interface DescribedRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
}

/** Paths such as `images[*].url`, `a|b` being the first of these keys that holds something. */
type AnswerPath = string;

export interface ServiceDescription {
  name: string;
  /** True if its paths are known to be right. Otherwise a path is believed once an answer had something there. */
  isProven: boolean;
  /** Where it is, unless the pipeline says otherwise; without a trailing slash. */
  baseUrl: string | undefined;
  /** What `endpoint.id` is, for people. */
  id: string;
  /** Headers of each request to the service itself, with the key. */
  auth: Record<string, string>;
  /** Where the service is besides, as `https://host`: its key may go there. */
  origins: string[];
  /** The variable that people keep its key in. */
  keyVariable: string;
  submit: DescribedRequest & {
    headers: Record<string, string>;
    /** `{{ input }}` stands for what a scene sends. */
    body: JsonValue;
    job: AnswerPath;
    /** Members of the answer that later requests need. */
    keep: string[];
    /**
     * How long a submission that is sent again under its `{{ idempotencyKey }}` makes no second job, in ms. `echoed`: for as long
     * as the service says, if its answer repeats the header with the key.
     */
    remembers?: number | 'echoed' | undefined;
  };
  status: DescribedRequest & {
    at: AnswerPath;
    map: Readonly<Record<string, StatusMeaning>>;
    /** The job's id, by which an answer that is another job's is known. */
    job: AnswerPath;
    /** Seconds of execution, for what is paid by the second. */
    seconds?: AnswerPath | undefined;
    /** Milliseconds in the queue, and of execution. */
    delayMs?: AnswerPath | undefined;
    executionMs?: AnswerPath | undefined;
    /** Holds something where the result was deleted. */
    expired?: AnswerPath | undefined;
  };
  /** Without a request of its own, the result is in the answer that says `done`. */
  result: {
    request: DescribedRequest | undefined;
    /** The job's id; the result is not compared if it is undefined. */
    job?: AnswerPath | undefined;
    /** Empty for all of the answer. */
    output: AnswerPath;
    /** Tried in turn; empty where the shape of the output says it. */
    pictures: AnswerPath[];
    /** True if the output of a job that is done counts even if something is at `failed`. */
    comesFirst: boolean;
    /** True if pictures at the address of the service are fetched with its key. */
    withKey: boolean;
  };
  /** The words of a failure. If they are there, the job has failed. */
  failed: AnswerPath;
  /** Texts in an answer that mean more than its status does. */
  texts: Readonly<Record<string, TextMeaning>>;
  cancel: DescribedRequest | undefined;
  /** A list of the account's latest jobs, newest first, in which a lost submission is found by its input and time. */
  find:
    | (DescribedRequest & {
        items: AnswerPath;
        /** Of an item; as in the answer to a submission where left out. */
        job?: AnswerPath | undefined;
        next?: AnswerPath | undefined;
        input: AnswerPath;
        createdAt: AnswerPath;
      })
    | undefined;
  /** Shows, without a job, whether address, key and id are right: where it answers, and holds something there. */
  check: (DescribedRequest & { has?: AnswerPath | undefined }) | undefined;
  /** Counts of jobs and workers, by their states. A description has this or `check`. */
  health:
    (DescribedRequest & { jobs?: AnswerPath | undefined; workers?: AnswerPath | undefined }) | undefined;
  /** How long a result is kept from its completion. */
  keepsMs: number;
  limits: {
    jobs?: number | undefined;
    submissionsPerSecond?: number | undefined;
    requestsPerSecond?: number | undefined;
  };
  /** Where its pictures are, besides at the service itself: as `output.hosts`. */
  hosts: string[];
}

const placeholder = /\{\{\s*([^{}]*?)\s*\}\}/g;

/** The names in the placeholders of a text. */
export function placeholdersIn(text: string): string[] {
  return [...text.matchAll(placeholder)].map(([, name = '']) => name);
}

/** Values by the names of their placeholders. */
export type Values = Readonly<Record<string, string>>;

/**
 * Compiles a text into a function that replaces each placeholder that has a value. `spell` writes a value that does not begin
 * the text.
 */
export function compileText(
  text: string,
  spell: (value: string, name: string) => string = (value) => value,
): (values: Values) => string {
  // Texts and names of placeholders take turns.
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
