/** Reads a described service's answers about a job: status words, failures, times and outputs. */
import { oneLine } from '../../lib/text/format.ts';
import { failureRules, type Failure, type FailureKind } from '../core/failure.ts';
import type { ServiceDescription, StatusMeaning, TextMeaning } from '../core/service-description.ts';
import type { JobTimes } from '../core/attempt.ts';
import type { UnitPrice } from '../core/spending.ts';
import { bodyText, errorText, isSuccess } from '../../protocol/error-text.ts';
import { isNothing, memberText } from '../../protocol/json-value.ts';
import { firstValueAt, valuesAt } from '../../protocol/output-shapes.ts';
import type { StatusReply } from '../pipeline/ports.ts';
import { failure, type HttpResponse, readRefusal, unreadable } from './exchange.ts';
import { parseJson, parseObject } from './parse-body.ts';
import { addressesIn, readOutput, refusedOr, type OutputPlaces } from './read-output.ts';

/** Settings of a pipeline for reading answers, in addition to the description. */
export interface StatusPlaces extends OutputPlaces {
  /** Status words that override the description's (`endpoint.statuses`), if a pipeline can set any. */
  statuses?: Readonly<Record<string, StatusMeaning>> | undefined;
  /** Path of the price in an answer about a job that is over (`pricing.at`). */
  cost?: string | undefined;
}

/** The job is done, and its result takes a request of its own. */
interface Done {
  kind: 'done';
  status: string;
  times: JobTimes;
  /** Failure that the status reports although it says done. The result has the details. */
  failure: Failure | undefined;
}

export class StatusReader {
  readonly #description: ServiceDescription;
  readonly #places: StatusPlaces;
  readonly #meanings: ReadonlyMap<string, StatusMeaning>;
  readonly #spelled: ReadonlyMap<string, StatusMeaning>;
  /** True if statuses are known to name their job, or one has named it at the described path. */
  #isJobNamed: boolean;
  /** Status word of the description for a job that is done. Empty if it has none. */
  readonly doneWord: string;
  readonly #waitingWord: string;

  constructor(description: ServiceDescription, places: StatusPlaces) {
    this.#description = description;
    this.#places = places;
    this.#isJobNamed = description.isJobNamed;
    const { map } = description.status;
    const statuses = Object.entries(places.statuses ?? {});
    const own = new Set(statuses.map(([word]) => spelled(word)));
    const words = [...statuses, ...Object.entries(map).filter(([word]) => !own.has(spelled(word)))];
    this.#meanings = new Map(words);
    this.#spelled = new Map(words.toReversed().map(([word, meaning]) => [spelled(word), meaning]));
    this.doneWord = Object.keys(map).find((word) => map[word] === 'done') ?? '';
    this.#waitingWord = Object.keys(map).find((word) => map[word] === 'waiting') ?? '';
  }

  /** Undefined if nothing has the word, however it is written: `Completed`, `in progress`. */
  meaningOf(word: string): StatusMeaning | undefined {
    return this.#meanings.get(word) ?? this.#spelled.get(spelled(word));
  }

  /** Reads the answer to a poll. An unknown status without output or error means waiting. */
  status(answer: HttpResponse, jobId: string): StatusReply | Done {
    const { status: described } = this.#description;
    const { status: code } = answer;
    if (code === 404 || code === 410) return missing(answer);
    const refusal = readRefusal(answer);
    if (refusal !== undefined) return { kind: 'failure', failure: refusal };
    const body = isSuccess(code) ? parseObject(answer.body) : undefined;
    const named = firstValueAt(body, described.job);
    this.#isJobNamed ||= readJobId(named) === jobId;
    const other = this.#isJobNamed ? ofAnother(named, jobId, 'status') : undefined;
    if (other !== undefined) return other;
    const said = firstValueAt(body, described.at);
    // Some paths answer 200 and put the real status into the body.
    if (typeof said === 'number' && said >= 400 && said <= 599 && this.meaningOf(String(said)) === undefined)
      return this.status({ ...answer, status: said }, jobId);
    const isWord = said === null || ['string', 'number', 'boolean'].includes(typeof said);
    if (body !== undefined && isWord)
      return this.#job(body, typeof said === 'string' ? said : JSON.stringify(said), answer);
    // Similar services answer 202 without a status until the job is done.
    if (code === 202 && said === undefined) return { kind: 'running', status: '202', isExecuting: false };
    return { kind: 'failure', failure: unreadable(answer, 'a status request') };
  }

  /** Reads the answer with the result of a job. `failed`: failure that its status reported. */
  result(answer: HttpResponse, jobId: string, failed: Failure | undefined): StatusReply {
    const { job, output } = this.#description.result;
    const ended = (why: Failure, cost: JobTimes = {}): StatusReply => ({
      kind: 'ended',
      status: this.doneWord,
      failure: why,
      ...cost,
    });
    if (answer.status === 404 || answer.status === 410)
      // If the job has failed, there need not be a result that says so.
      return failed === undefined ? missing(answer) : ended(failed);
    const known = answer.status >= 400 ? this.kindByText(answer.body) : undefined;
    const refusal = known === undefined ? readRefusal(answer) : undefined;
    if (refusal !== undefined) return { kind: 'failure', failure: refusal };
    const result = parseJson(answer.body);
    const askAgain: StatusReply = { kind: 'failure', failure: unreadable(answer, 'the result of a job') };
    if (!isSuccess(answer.status)) {
      const why = this.#refusedResult(answer, result, known, failed !== undefined);
      if (why === undefined) return askAgain;
      return failureRules[why.kind].next === 'stop'
        ? { kind: 'failure', failure: why }
        : ended(why, this.#costOfResult(result));
    }
    if (result === undefined) return askAgain;
    const other = job === undefined ? undefined : ofAnother(valuesAt(result, job)[0], jobId, 'result');
    return other ?? this.#collect(result, output, answer, this.doneWord, this.#costOfResult(result));
  }

  /** Reads the record of a job in the archive. `gone`: the reply if the archive does not have the result. */
  archived(answer: HttpResponse, jobId: string, gone: StatusReply & { kind: 'missing' }): StatusReply {
    const { job, code: codePlace, output: place } = this.#description.archive ?? {};
    if (job === undefined || codePlace === undefined || place === undefined) return gone;
    if (answer.status === 404 || answer.status === 410) return gone;
    const refusal = readRefusal(answer);
    // The result is paid for, and a key that may read it can come later.
    if (refusal !== undefined && refusal.kind !== 'overloaded') {
      const text = `${gone.text}; the record of the job cannot be read: ${refusal.text}`;
      return { ...failure('picture-refused', text), done: { status: this.doneWord } };
    }
    const body = isSuccess(answer.status) ? parseObject(answer.body) : undefined;
    if (body === undefined)
      return {
        kind: 'failure',
        failure: refusal ?? unreadable(answer, 'the request for the record of a job'),
      };
    if (readJobId(firstValueAt(body, job)) !== jobId) return gone;
    const code = firstValueAt(body, codePlace);
    if (typeof code !== 'number') return { kind: 'running', status: this.#waitingWord, isExecuting: false };
    const output = firstValueAt(body, place);
    const cost = this.#archivedCost(body, output);
    if (isSuccess(code))
      return isNothing(output) ? gone : this.#collect(body, place, answer, this.doneWord, cost);
    const known = this.kindByText(JSON.stringify(output ?? null));
    const told = this.#refusedResult({ ...answer, status: code }, output, known, true);
    const isOver = told !== undefined && failureRules[told.kind].next !== 'stop';
    const failed: Failure = { kind: 'failed-inside', text: told?.text ?? `its result was ${code}` };
    return { kind: 'ended', status: this.doneWord, failure: isOver ? told : failed, ...cost };
  }

  /** True if the answer to the check shows that the id is known. */
  isKnown(body: unknown): boolean {
    const { has } = this.#description.check ?? {};
    return has === undefined || valuesAt(body, has).length > 0;
  }

  /** Reads the price of a unit in the answer to the check. */
  unitPrice(body: unknown): { price?: UnitPrice } {
    const { price, unit, currency } = this.#description.check ?? {};
    const at = (path: string | undefined): unknown =>
      path === undefined ? undefined : firstValueAt(body, path);
    const textAt = (path: string | undefined): string => {
      const value = at(path);
      return typeof value === 'string' ? (oneLine(value, 40) ?? '') : '';
    };
    const amount = readAmount(at(price));
    return amount === undefined ? {} : { price: { amount, unit: textAt(unit), currency: textAt(currency) } };
  }

  /** Returns the kind of failure if the error text, not a repeated input, contains a text of the description. */
  kindByText(body: string): FailureKind | undefined {
    const texts = Object.entries(this.#description.texts);
    if (texts.length === 0) return undefined;
    const words = errorText(parseJson(body)) ?? '';
    const [, meaning] = texts.find(([text]) => words.includes(text)) ?? [];
    return meaning && textKinds[meaning];
  }

  #job(body: Record<string, unknown>, said: string, answer: HttpResponse): StatusReply | Done {
    const { status: described, result } = this.#description;
    if (described.expired !== undefined && valuesAt(body, described.expired).some(holdsSomething)) {
      const text = `the service has deleted the result (it says ${described.expired})`;
      return { kind: 'missing', text, isDeleted: true, ...this.#costIn(body) };
    }
    const status = statusWord(said);
    const times = { ...this.#timesIn(body), ...this.#costIn(body) };
    const meaning = this.#meanings.get(said) ?? this.meaningOf(status);
    if (meaning === 'waiting' || meaning === 'running')
      return { kind: 'running', status, isExecuting: meaning === 'running', ...times };
    const words = meaning === 'done' && result.comesFirst ? undefined : this.#failureWords(body);
    const hasOwnResult = result.request !== undefined;
    if (meaning === 'done' && (words === undefined || hasOwnResult)) {
      if (!hasOwnResult) return this.#collect(body, result.output, answer, status, times);
      const kind = this.kindByText(answer.body) ?? 'failed-inside';
      const failed = words === undefined ? undefined : { kind, text: `${status}: ${words}` };
      return { kind: 'done', status, times, failure: failed };
    }
    // If the whole answer is the output, it does not show that there is one.
    const output = hasOwnResult || result.output === '' ? undefined : firstValueAt(body, result.output);
    if (meaning === undefined) {
      if (words === undefined && isNothing(output))
        return { kind: 'running', status, isExecuting: false, ...times };
      return { kind: 'ended', status, failure: this.#unknownStatus(status, output, words), ...times };
    }
    const why = words ?? errorText(output) ?? 'the service gave no reason';
    const kind = this.kindByText(answer.body) ?? refusedOr(endingKinds[meaning], why);
    return { kind: 'ended', status, failure: { kind, text: `${status}: ${why}` }, ...times };
  }

  /**
   * Returns the failure of a job whose result was refused. Undefined if the result has to be asked for again.
   * A 5xx may come from a proxy, so it counts only if a text of the description (`known`) or the status of
   * the job (`isFailed`) shows a failure.
   */
  #refusedResult(
    { status }: HttpResponse,
    body: unknown,
    known: FailureKind | undefined,
    isFailed: boolean,
  ): Failure | undefined {
    const words = this.#failureWords(body);
    const isOnTheWay = status < 400 || status === 408 || (status >= 500 && !isFailed);
    if (words === undefined || (isOnTheWay && known === undefined)) return undefined;
    const kind = known ?? refusedOr(refusals.get(status) ?? 'failed-inside', words);
    if (failureRules[kind].next === 'try-again') return undefined;
    return { kind, text: `its result is ${status}: ${words}` };
  }

  #collect(
    result: unknown,
    place: string,
    { body }: HttpResponse,
    status: string,
    times: JobTimes,
  ): StatusReply {
    const output = place === '' ? result : firstValueAt(result, place);
    const isPicturePath = (path: string): boolean =>
      valuesAt(output, path).some((value) => typeof value === 'string');
    const image = this.#places.image ?? this.#description.result.pictures.find(isPicturePath);
    // If the output is all of the answer or a member of it, its source text keeps numbers of any size exact.
    const textOfOutput = (): string =>
      place === '' ? body : (memberText(body, place) ?? JSON.stringify(output) ?? '');
    const found = readOutput(output, textOfOutput, { ...this.#places, image });
    return 'pictures' in found
      ? { kind: 'completed', status, pictures: found.pictures, ...times }
      : { kind: 'ended', status, failure: found, ...times };
  }

  /** Returns the error text. Undefined if nothing has failed; some services always have the member. */
  #failureWords(body: unknown): string | undefined {
    const values = valuesAt(body, this.#description.failed);
    return errorText(values.filter((value) => value !== 0 && value !== false));
  }

  /** Returns the failure for an unknown status with an output or error, because the job may be over. */
  #unknownStatus(status: string, output: unknown, said: string | undefined): Failure {
    const setting = this.#places.statuses === undefined ? 'status.map' : 'endpoint.statuses';
    const what = isNothing(output) ? `an error${said === undefined ? '' : ` ("${said}")`}` : 'an output';
    const entry = `{ ${JSON.stringify(status)}: ${isNothing(output) ? 'failed' : 'done'} }`;
    const text = `the service reports the unknown status "${status}" with ${what}; define the status: \`${setting}: ${entry}\``;
    return { kind: 'status-unknown', text, ...addressesIn(output) };
  }

  #costIn(body: unknown, path = this.#places.cost ?? ''): Pick<JobTimes, 'cost'> {
    const { cost: at } = this.#places;
    if (at === undefined) return {};
    const amount = readAmount(firstValueAt(body, path));
    return { cost: { at, ...(amount !== undefined && { amount }) } };
  }

  /** Reads the price in a result. Without one there, the status may state it, which is not kept with a kept result. */
  #costOfResult(result: unknown): Pick<JobTimes, 'cost'> {
    const found = this.#costIn(result);
    return found.cost?.amount === undefined ? {} : found;
  }

  /** Reads the price in the record of a job. A path in the output of a result leads into the output here. */
  #archivedCost(body: unknown, output: unknown): Pick<JobTimes, 'cost'> {
    const { cost: at = '' } = this.#places;
    const { output: place } = this.#description.result;
    const within = at.slice(place.length);
    const isWithin = at.startsWith(place) && (place === '' || /^[.[]|^$/.test(within));
    return isWithin ? this.#costIn(output, within.replace(/^\./, '')) : this.#costIn(body);
  }

  #timesIn(body: Record<string, unknown>): JobTimes {
    const { seconds, delayMs, executionMs } = this.#description.status;
    const delayTimeMs = readMs(delayMs && firstValueAt(body, delayMs));
    const executed = executionMs && firstValueAt(body, executionMs);
    const lasted = seconds && firstValueAt(body, seconds);
    const executionTimeMs = readMs(executed ?? (typeof lasted === 'number' ? lasted * 1_000 : undefined));
    return {
      ...(delayTimeMs !== undefined && { delayTimeMs }),
      ...(executionTimeMs !== undefined && { executionTimeMs }),
    };
  }
}

const textKinds: Record<TextMeaning, FailureKind> = {
  cancelled: 'job-cancelled',
  'no-credit': 'account-unusable',
  'unknown-id': 'endpoint-unknown',
  'refused-input': 'input-refused',
  'not-yet': 'poll-failed',
};

const endingKinds = {
  done: 'failed-inside',
  failed: 'job-failed',
  cancelled: 'job-cancelled',
  'timed-out': 'job-timed-out',
} as const;

/** Kinds of failure by status code: the input is wrong, or the client closed the request (499 of nginx). */
const refusals = new Map<number, FailureKind>([
  [400, 'input-refused'],
  [422, 'input-refused'],
  [499, 'job-cancelled'],
]);

function missing({ status, body }: HttpResponse): StatusReply {
  const text = `the service does not know the job (${status}: ${bodyText(body) ?? 'no message'})`;
  return { kind: 'missing', text };
}

/** Returns the reply if an answer names another job, as proxies mix up answers; otherwise undefined. */
function ofAnother(id: unknown, jobId: string, what: 'status' | 'result'): StatusReply | undefined {
  const named = readJobId(id);
  if (named === undefined || named === jobId) return undefined;
  const text = `the ${what} request for job ${jobId} was answered with the ${what} of job ${named}`;
  return { ...failure('poll-failed', text), isForeign: true };
}

function spelled(word: string): string {
  return word.toUpperCase().replaceAll(/[ -]/g, '_');
}

function holdsSomething(value: unknown): boolean {
  return value !== false && !isNothing(value);
}

/** Longest time that is believed. The sum of many larger values would not fit into a column. */
const maxTimeMs = 30 * 86_400_000;

function readMs(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= maxTimeMs ? Math.round(value) : undefined;
}

/** Larger prices are counted as this one, so that sums of them stay finite. */
const maxAmount = 1e15;

/** Reads a price, also as text, because many services write exact decimals as text. Undefined if it is none. */
function readAmount(value: unknown): number | undefined {
  const isText = typeof value === 'string' && /^\d{1,40}(\.\d{1,40})?(e[+-]?\d{1,3})?$/i.test(value);
  const amount = isText ? Number(value) : value;
  const isAmount = typeof amount === 'number' && Number.isFinite(amount) && amount >= 0;
  return isAmount ? Math.min(amount, maxAmount) : undefined;
}

/** Printable ASCII that is one percent-encoded part of a path; `.` and `..` would lead elsewhere. */
const usable = /^(?!\.{1,2}$)[\x21-\x7e]{1,128}$/;

/** Returns the job id as text. Undefined if it is not an id by which a job can be polled. */
export function readJobId(id: unknown): string | undefined {
  const text = Number.isSafeInteger(id) ? String(id) : id;
  return typeof text === 'string' && usable.test(text) ? text : undefined;
}

const maxWordLength = 64;

/** Returns the status as the service spells it, on one line. Empty if there is none. */
export function statusWord(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return oneLine(value, maxWordLength) ?? '';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : JSON.stringify(value);
}
