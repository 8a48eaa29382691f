/** What the answers to status requests mean. */
import { oneLine } from '../../lib/text/format.ts';
import { createHash } from 'node:crypto';
import type { Failure, FailureKind } from '../core/failure.ts';
import type { JobTimes } from '../core/settlement.ts';
import type { StatusReply } from '../pipeline/ports.ts';
import { isContentRefusal } from '../../protocol/content-refusal.ts';
import { bodyText, errorText } from '../../protocol/error-text.ts';
import { findPictures, type FoundOutput } from '../../protocol/output-shapes.ts';
import { textsInOutput } from '../../protocol/texts-in-output.ts';
import { noPicture, type FilePlace } from '../core/named-file.ts';
import { oddValues, type NamedValue } from '../core/output-value.ts';
import type { FoundPicture } from '../core/picture.ts';
import type { StatusMeaning } from '../core/service-description.ts';
import type { HttpResponse } from './exchange.ts';
import { parseObject } from './parse-body.ts';
import { readRefusal, unreadable } from './read-refusal.ts';
import { describeValue, isNothing } from '../../protocol/json-value.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { memberText } from '../../protocol/member-text.ts';
import { restOfOutput } from '../../protocol/rest-of-output.ts';

/** Where an output has what is to be saved. */
export interface OutputPlaces {
  /** Path of the picture, for outputs of no known shape; `none` where there is none. */
  image: string | undefined;
  files?: readonly FilePlace[];
  /** What is wanted of the rest of the output. */
  values?: readonly NamedValue[];
  /** Called for each picture that was found as the only one of its output, with its path. */
  onFoundAt?: (path: string) => void;
}

/** What a job service says, and where its outputs have what is to be saved. */
export interface JobPlaces extends OutputPlaces {
  /** Status words besides those of the interface (`endpoint.statuses`). */
  statuses?: Readonly<Record<string, StatusMeaning>>;
}

export function readStatusAnswer(answer: HttpResponse, jobId: string, places: JobPlaces): StatusReply {
  const { status, body } = answer;
  if (status === 404 || status === 410) {
    const text = `the service does not know the job (${status}: ${bodyText(body) ?? 'no message'})`;
    return { kind: 'missing', text };
  }
  const refusal = readRefusal(answer);
  if (refusal !== undefined) return { kind: 'failure', failure: refusal };
  const job = status >= 200 && status <= 299 ? parseObject(body) : undefined;
  const other = job === undefined ? undefined : ofAnother(job['id'], jobId);
  if (other !== undefined) return other;
  const inside = job?.['status'];
  // Some paths answer 200 and put the real status into the body.
  if (typeof inside === 'number' && inside >= 400 && inside <= 599)
    return readStatusAnswer({ ...answer, status: inside }, jobId, places);
  if (job !== undefined && inside !== undefined) return readJob(job, body, places);
  // Kin of the service say so until the job is done.
  if (status === 202) return { kind: 'running', status: '202', isExecuting: false };
  return { kind: 'failure', failure: unreadable(answer, 'a status request') };
}

/**
 * The reply for an answer that names another job by `id`: proxies mix answers up, and its picture would be a wrong one. An
 * answer without an id proves nothing.
 */
export function ofAnother(id: unknown, jobId: string, what = 'status'): StatusReply | undefined {
  const named = readJobId(id);
  if (named === undefined || named === jobId) return undefined;
  const text = `the ${what} request for job ${jobId} was answered with the ${what} of job ${named}`;
  return { kind: 'failure', failure: { kind: 'poll-failed', text }, isForeign: true };
}

const meanings = new Map<string, StatusMeaning>([
  ['IN_QUEUE', 'waiting'],
  ['IN_PROGRESS', 'running'],
  ['RUNNING', 'running'],
  ['COMPLETED', 'done'],
  ['FAILED', 'failed'],
  ['CANCELLED', 'cancelled'],
  ['TIMED_OUT', 'timed-out'],
]);

/** Undefined if neither the interface nor `statuses` has the word, however it is written: `Completed`, `in progress`. */
export function meaningOf(word: string, { statuses = {} }: JobPlaces): StatusMeaning | undefined {
  const spelled = (text: string): string => text.toUpperCase().replaceAll(/[ -]/g, '_');
  const own = Object.entries(statuses).find(([name]) => spelled(name) === spelled(word));
  return own?.[1] ?? meanings.get(spelled(word));
}

export const endingKinds: Partial<Record<StatusMeaning, FailureKind>> = {
  failed: 'job-failed',
  cancelled: 'job-cancelled',
  'timed-out': 'job-timed-out',
};

function readJob(job: Record<string, unknown>, body: string, places: JobPlaces): StatusReply {
  const status = statusWord(job['status']);
  const meaning = meaningOf(status, places);
  if (meaning === 'done') return readCompleted(job, status, body, places);
  const times = readTimes(job);
  const kind = meaning && endingKinds[meaning];
  if (kind !== undefined) {
    const said = errorText(job['error']) ?? errorText(job['output']) ?? 'the service gave no reason';
    const failure = { kind: refusedOr(kind, said), text: `${status}: ${said}` };
    return { kind: 'ended', status, failure, ...times };
  }
  const { output, error } = job;
  if (meaning === undefined && !(isNothing(output) && isNothing(error)))
    return {
      kind: 'ended',
      status,
      failure: unknownStatus(status, output, errorText(error), 'endpoint.statuses'),
      ...times,
    };
  return { kind: 'running', status, isExecuting: meaning === 'running', ...times };
}

/** A job that may be over is not waited for: its result would be deleted meanwhile. */
export function unknownStatus(
  status: string,
  output: unknown,
  said: string | undefined,
  setting: 'endpoint.statuses' | 'status.map',
): Failure {
  const what = isNothing(output) ? `an error${said === undefined ? '' : ` ("${said}")`}` : 'an output';
  const entry = `{ ${JSON.stringify(status)}: ${isNothing(output) ? 'failed' : 'done'} }`;
  const text = `the service says "${status}" of the job, a word that is not known, and hands in ${what}; say what it means: \`${setting}: ${entry}\``;
  return { kind: 'status-unknown', text, ...addressesIn(output) };
}

/** `otherwise`: the kind if these words are no refusal by content. */
export function refusedOr(otherwise: FailureKind, words: string): FailureKind {
  return isContentRefusal(words) ? 'content-refused' : otherwise;
}

/** The output counts only once the job has `COMPLETED`: before, it may be a worker's progress message. */
function readCompleted(
  job: Record<string, unknown>,
  status: string,
  body: string,
  places: JobPlaces,
): StatusReply {
  const found = readOutput(job['output'], () => memberText(body, 'output') ?? '', places);
  const times = readTimes(job);
  return 'pictures' in found
    ? { kind: 'completed', status, pictures: found.pictures, ...times }
    : { kind: 'ended', status, failure: found, ...times };
}

/** Pictures, and files after them. `textOfOutput`: its JSON as it came. */
export function readOutput(
  output: unknown,
  textOfOutput: () => string,
  { image, files = [], values = [], onFoundAt }: OutputPlaces,
): { pictures: FoundPicture[] } | Failure {
  const beside = findFiles(output, textOfOutput, files);
  if (image === noPicture && 'files' in beside)
    return { pictures: beside.files.map((file, i) => (i === 0 ? withRest(file, output, values) : file)) };
  const paths = values.length === 0 ? undefined : values.map(({ at }) => at);
  const found = findPictures(output, image, paths);
  switch (found.kind) {
    case 'none':
      return { kind: 'no-output', text: `the job COMPLETED without output; ${whyNone(output)}` };
    case 'failure': {
      const { message } = found;
      // What this program says of it begins so, too.
      const text = message.startsWith('the worker ') ? message : `the worker says: ${message}`;
      return { kind: refusedOr('failed-inside', message), text };
    }
    case 'unknown':
      return image === noPicture ? withFiles([], beside, output) : unknownShape(found, output);
    case 'pictures': {
      const { pictures, at } = found;
      if (at !== undefined) onFoundAt?.(at);
      return withFiles(
        pictures.map((picture) => withOdd(at === undefined ? picture : foundAt(picture, at), values)),
        beside,
        output,
      );
    }
  }
}

function whyNone(output: unknown): string {
  if (output === undefined || output === null)
    return "results above the service's size limit are dropped like this";
  return `what it handed in is ${Array.isArray(output) ? 'an empty list' : 'empty'}`;
}

function foundAt(picture: FoundPicture, at: string): FoundPicture {
  return { ...picture, output: { ...picture.output, at } };
}

/** Of a job without pictures the first of its files has what is kept of the output. */
function withRest(file: FoundPicture, output: unknown, values: readonly NamedValue[]): FoundPicture {
  const sole: unknown = Array.isArray(output) && output.length === 1 ? output[0] : output;
  if (values.length === 0 || !isJsonObject(sole)) return file;
  const rest = restOfOutput(
    [sole],
    { index: 0, count: 1 },
    values.map(({ at }) => at),
  );
  return rest === undefined ? file : withOdd({ ...file, output: rest }, values);
}

function withOdd(picture: FoundPicture, values: readonly NamedValue[]): FoundPicture {
  const odd = oddValues(picture.output ?? {}, values);
  return odd.length === 0 ? picture : { ...picture, output: { ...picture.output, odd } };
}

function withFiles(
  pictures: FoundPicture[],
  beside: ReturnType<typeof findFiles>,
  output: unknown,
): { pictures: FoundPicture[] } | Failure {
  if ('files' in beside) return { pictures: [...pictures, ...beside.files] };
  return notFound(beside.problem, output);
}

type Unknown = FoundOutput & { kind: 'unknown' };

function unknownShape(
  { found, advice = 'say where it is with output.image' }: Unknown,
  output: unknown,
): Failure {
  const text = `no picture was found in the output, which holds ${oneLine(found)}; ${advice}`;
  return notFound(text, output);
}

function notFound(text: string, output: unknown): Failure {
  return { kind: 'picture-not-found', text, digest: digestOf(output), ...addressesIn(output) };
}

function addressesIn(output: unknown): Pick<Failure, 'isByAddress'> {
  return textsInOutput(output, false).hasAddress ? { isByAddress: true } : {};
}

function digestOf(output: unknown): string {
  return createHash('sha256').update(JSON.stringify(output)).digest('hex');
}

function readTimes(job: Record<string, unknown>): JobTimes {
  const delayTimeMs = readMs(job['delayTime']);
  const executionTimeMs = readMs(job['executionTime']);
  return {
    ...(delayTimeMs !== undefined && { delayTimeMs }),
    ...(executionTimeMs !== undefined && { executionTimeMs }),
  };
}

/** No job takes longer; what is said beyond it is no time, and the sum of many such fits into no column. */
const maxTimeMs = 30 * 86_400_000;

export function readMs(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= maxTimeMs ? Math.round(value) : undefined;
}

/** Anything that can be printed and sent, percent-encoded, as one part of a path; `.` and `..` lead elsewhere there. */
const usable = /^(?!\.{1,2}$)[\x21-\x7e]{1,128}$/;

/** Undefined where it is none that a job can be asked for by. */
export function readJobId(id: unknown): string | undefined {
  const text = Number.isSafeInteger(id) ? String(id) : id;
  return typeof text === 'string' && usable.test(text) ? text : undefined;
}

const maxWordLength = 64;

/** As the service spells it, on one line; empty where it says nothing. */
export function statusWord(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return oneLine(value, maxWordLength) ?? '';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : JSON.stringify(value);
}

/** Parsed, and as it is written: numbers of any size stay what they are. */
interface Written {
  value: unknown;
  text: string;
}

/** Each in the order of `places`, or what is missing. */
function findFiles(
  output: unknown,
  textOfOutput: () => string,
  places: readonly FilePlace[],
): { files: FoundPicture[] } | { problem: string } {
  const files: FoundPicture[] = [];
  for (const place of places) {
    const file = fileAt({ value: output, text: textOfOutput() }, place);
    if (file === undefined) {
      const { label, at } = place;
      return {
        problem: `the file ${label} is not at ${at.join('.')} of the output, which holds ${describeValue(output)}`,
      };
    }
    files.push(file);
  }
  return { files };
}

function fileAt(output: Written, { label, kind, at }: FilePlace): FoundPicture | undefined {
  const named = { label, kind };
  const found = at.reduce<Written | undefined>((within, key) => within && member(within, key), output);
  const last = found && soleItem(found, kind !== 'json');
  if (last === undefined || last.value === null) return undefined;
  const { value, text } = last;
  if (typeof value !== 'string')
    return kind === 'json' ? { bytes: Buffer.from(`${text}\n`), named } : undefined;
  if (isNothing(value)) return undefined;
  if (/^\s*https?:\/\//i.test(value)) return { url: value.trim(), named };
  // No base64 begins so: the worker has put its JSON into a text.
  return kind === 'json' && /^\s*[{[]/.test(value)
    ? { bytes: Buffer.from(value), named }
    : { base64: value, named };
}

function member(within: Written, key: string): Written | undefined {
  const { value, text } = soleItem(within);
  if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined;
  return { value: value[key], text: memberText(text, key) ?? '' };
}

/** A list of one object counts as that object. */
function soleItem(written: Written, isAny = true): Written {
  const { value, text } = written;
  if (!isAny || !Array.isArray(value) || value.length !== 1) return written;
  return { value: value[0] as unknown, text: text.trim().slice(1, -1).trim() };
}
