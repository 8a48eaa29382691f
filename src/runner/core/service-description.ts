/** What a service says and is told, as data: how jobs are submitted, asked for and cancelled at one whose interface is not ours. */
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
    /** How long a submission that is sent again under its `{{ idempotencyKey }}` makes no second job. */
    remembers?: number | undefined;
  };
  status: DescribedRequest & {
    at: AnswerPath;
    map: Readonly<Record<string, StatusMeaning>>;
    /** The job's id, by which an answer that is another job's is known. */
    job: AnswerPath;
    /** True if each status is known to have it; otherwise that is believed once one had it. */
    isJobNamed: boolean;
    /** Of execution, for what is paid by the second. */
    seconds?: AnswerPath | undefined;
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
  };
  /** The words of a failure; their being there is one. */
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

/** With each placeholder replaced that has a value; `spell` writes one where it does not begin the text. */
export function fillText(
  text: string,
  values: Readonly<Record<string, string>>,
  spell: (value: string, name: string) => string = (value) => value,
): string {
  return text.replaceAll(placeholder, (whole, name: string, offset: number) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) return whole;
    return offset === 0 ? value : spell(value, name);
  });
}
