/** What the answers of a described service mean: statuses by its map, failures and outputs by its paths. */
import { failureRules, type Failure, type FailureKind } from '../core/failure.ts';
import type { FoundPicture } from '../core/picture.ts';
import type { ServiceDescription, TextMeaning } from '../core/service-description.ts';
import type { JobTimes } from '../core/settlement.ts';
import { errorText } from '../../protocol/error-text.ts';
import { isNothing } from '../../protocol/json-value.ts';
import { valuesAt } from '../../protocol/output-shapes.ts';
import type { StatusReply } from '../pipeline/ports.ts';
import type { HttpResponse } from './exchange.ts';
import { parseJson, parseObject } from './parse-body.ts';
import {
  endingKinds,
  readMs,
  readOutput,
  refusedOr,
  statusWord,
  unknownStatus,
  type OutputPlaces,
} from './read-job-answers.ts';
import { unreadable } from './read-refusal.ts';

const textKinds: Record<TextMeaning, FailureKind> = {
  cancelled: 'job-cancelled',
  'no-credit': 'account-unusable',
  'unknown-id': 'endpoint-unknown',
  'refused-input': 'input-refused',
  'not-yet': 'poll-failed',
};

/** Where its words, and nothing that it repeats of what was sent, hold a text that the description knows. */
export function kindByText(body: string, { texts }: ServiceDescription): FailureKind | undefined {
  const words = errorText(parseJson(body)) ?? '';
  const [, meaning] = Object.entries(texts).find(([text]) => words.includes(text)) ?? [];
  return meaning && textKinds[meaning];
}

/** Undefined where nothing has failed; some services always have the member. */
function failureWords(body: unknown, { failed }: ServiceDescription): string | undefined {
  return errorText(valuesAt(body, failed).filter((value) => value !== 0 && value !== false));
}

/** It is done, and its result is to be looked at. */
export interface Done {
  kind: 'done';
  status: string;
  times: JobTimes;
  /** What it says of a failure all the same; its result says more of that. */
  words: string | undefined;
  body: Record<string, unknown>;
}

/**
 * A status that the map does not know means waiting, until the job is overdue. `ofAnother` returns the reply if the answer
 * names another job by a value.
 */
export function readDescribedStatus(
  answer: HttpResponse,
  description: ServiceDescription,
  ofAnother: (named: unknown) => StatusReply | undefined,
): StatusReply | Done {
  const { at, map, expired } = description.status;
  const body = answer.status >= 200 && answer.status <= 299 ? parseObject(answer.body) : undefined;
  const [value] = valuesAt(body, at);
  const said = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  if (body === undefined || typeof said !== 'string')
    return { kind: 'failure', failure: unreadable(answer, 'a status request') };
  const other = ofAnother(valuesAt(body, description.status.job)[0]);
  if (other !== undefined) return other;
  if (expired !== undefined && valuesAt(body, expired).some(holdsSomething))
    return {
      kind: 'missing',
      text: `the service has deleted the result (it says ${expired})`,
      isDeleted: true,
    };
  const status = statusWord(said);
  const times = timesIn(body, description);
  const words = failureWords(body, description);
  const meaning = Object.hasOwn(map, said) ? map[said] : undefined;
  const hasOwnResult = description.result.request !== undefined;
  const isFailed = meaning === 'done' && words !== undefined && !hasOwnResult;
  const ending = isFailed ? 'failed-inside' : meaning && endingKinds[meaning];
  if (ending !== undefined) {
    const text = `${status}: ${words ?? 'the service gave no reason'}`;
    const kind = kindByText(answer.body, description) ?? refusedOr(ending, words ?? '');
    return { kind: 'ended', status, failure: { kind, text }, ...times };
  }
  if (meaning === 'done') return { kind: 'done', status, times, words, body };
  const output = hasOwnResult ? undefined : outputBeside(body, description);
  if (meaning === undefined && (words !== undefined || !isNothing(output)))
    return {
      kind: 'ended',
      status,
      failure: unknownStatus(status, output, words, 'status.map'),
      ...times,
    };
  return { kind: 'running', status, isExecuting: meaning === 'running', ...times };
}

/** The output in a status answer; undefined if all of the answer is said to be the output. */
function outputBeside(body: unknown, { result: { output } }: ServiceDescription): unknown {
  return output === '' ? undefined : valuesAt(body, output)[0];
}

/**
 * A failed job says so where its result is asked for, with whatever code its model has. A 5xx may be a proxy's and is no
 * failed job, unless a text of the description or the status itself says that it has failed (`isFailed`).
 */
export function readRefusedResult(
  answer: HttpResponse,
  description: ServiceDescription,
  isFailed: boolean,
): StatusReply | undefined {
  const { status, body } = answer;
  if (status >= 200 && status <= 299) return parseJson(body) === undefined ? askAgain(answer) : undefined;
  const words = failureWords(parseJson(body), description);
  const known = status < 400 ? undefined : kindByText(body, description);
  const isOnTheWay = status < 400 || status === 408 || (status >= 500 && !isFailed);
  if (words === undefined || (isOnTheWay && known === undefined)) return askAgain(answer);
  const kind = known ?? refusedOr(refusals.get(status) ?? 'failed-inside', words);
  const text = `its result is ${status}: ${words}`;
  const { next } = failureRules[kind];
  if (next === 'try-again') return askAgain(answer);
  return next === 'stop'
    ? { kind: 'failure', failure: { kind, text } }
    : { kind: 'ended', status: '', failure: { kind, text } };
}

function askAgain(answer: HttpResponse): StatusReply {
  return { kind: 'failure', failure: unreadable(answer, 'the result of a job') };
}

/** What the scene sends is wrong; the client closed the request, as nginx has it. */
const refusals = new Map<number, FailureKind>([
  [400, 'input-refused'],
  [422, 'input-refused'],
  [499, 'job-cancelled'],
]);

export function readOutputIn(
  result: unknown,
  { result: { output: place, pictures } }: ServiceDescription,
  places: OutputPlaces,
): { pictures: FoundPicture[] } | Failure {
  const [output] = valuesAt(result, place);
  const isPicturePath = (path: string): boolean =>
    valuesAt(output, path).some((value) => typeof value === 'string');
  const image = places.image ?? pictures.find(isPicturePath);
  return readOutput(output, () => JSON.stringify(output), { ...places, image });
}

function timesIn(body: Record<string, unknown>, { status: { seconds } }: ServiceDescription): JobTimes {
  const [value] = seconds === undefined ? [] : valuesAt(body, seconds);
  const executionTimeMs = typeof value === 'number' ? readMs(value * 1_000) : undefined;
  return executionTimeMs === undefined ? {} : { executionTimeMs };
}

function holdsSomething(value: unknown): boolean {
  return value !== false && !isNothing(value);
}
