/** Faults of requests: what the service does instead of the request, or how it damages the answer. */
import type { ServerResponse } from 'node:http';
import {
  type Fields,
  hang,
  reset,
  send,
  sendCut,
  sendCutChunks,
  sendDripping,
  sendHtml,
  sendJson,
  sendLate,
  sendMismeasured,
} from './answers.ts';
import type { Chance } from './chance.ts';
import { noiseOf, png, rowsOf } from './picture-damages.ts';

export interface Answering {
  response: ServerResponse;
  random: Chance;
  /** Target of redirects. No key may be sent there. */
  elsewhere: string;
}

interface Refusal {
  instead: (answering: Answering) => void;
}

export type RequestFault =
  | Refusal
  /** The request is carried out. `honest` has the fields of the correct answer. */
  | { after: (answering: Answering, honest: Fields) => void };

/**
 * Applies the fault. `take` carries out the request and returns the fields of the correct answer. Faults that
 * refuse the request do not call it.
 */
export function meet(fault: RequestFault, answering: Answering, take: () => Fields): void {
  if ('instead' in fault) fault.instead(answering);
  else fault.after(answering, take());
}

export const overloads: Record<string, Refusal> = {
  'rate-limited': { instead: ({ response }) => send(response, 429) },
  'rate-limited-seconds': { instead: ({ response }) => send(response, 429, '', { 'retry-after': '1' }) },
  'rate-limited-date': {
    instead: ({ response }) => send(response, 429, '', { 'retry-after': inASecond().toUTCString() }),
  },
};

const troubles: Record<string, RequestFault> = {
  ...overloads,
  unavailable: { instead: ({ response }) => sendHtml(response, 503, { 'retry-after': '1' }) },
  'html-5xx': { instead: sendProxyTrouble },
  reset: { instead: ({ response }) => reset(response) },
  'no-answer': { instead: ({ response }) => hang(response) },
  'number-as-status': { instead: ({ response }) => sendJson(response, { status: 500, error: 'internal' }) },
};

const damagedAnswers: Record<string, RequestFault> = {
  cut: { after: ({ response }, honest) => sendCut(response, honest) },
  'cut-chunks': { after: ({ response }, honest) => sendCutChunks(response, honest) },
  'longer-than-told': { after: ({ response }, honest) => sendMismeasured(response, honest, -9) },
  'shorter-than-told': { after: ({ response }, honest) => sendMismeasured(response, honest, 9) },
  'not-gzip': {
    after: ({ response }, honest) =>
      send(response, 200, JSON.stringify(honest), { 'content-encoding': 'gzip' }),
  },
  empty: { after: ({ response }) => send(response, 200) },
  'html-200': { after: ({ response }) => sendHtml(response, 200) },
  unreadable: { after: ({ response, random }) => send(response, 200, random.pick(['[]', 'null', '{"id":'])) },
  late: {
    after: ({ response, random }, honest) => sendLate(response, honest, random.between(100, 300)),
  },
  dripping: { after: ({ response }, honest) => sendDripping(response, honest) },
};

/**
 * Faults of submissions. `-taken` means that the job runs and is billed although the client may not know its
 * id.
 */
export const submitFaults: Record<string, RequestFault> = {
  ...troubles,
  'queue-full': { instead: ({ response }) => sendJson(response, { error: 'queue is full' }, 429) },
  ...damagedAnswers,
  'html-5xx-taken': { after: sendProxyTrouble },
  'reset-taken': { after: ({ response }) => reset(response) },
  'no-answer-taken': { after: ({ response }) => hang(response) },
  'cut-behind-id': {
    after: ({ response }, honest) => sendCut(response, honest, JSON.stringify(honest).indexOf(',') + 1),
  },
  'in-progress-202': {
    after: ({ response }, honest) => sendJson(response, { ...honest, status: 'IN_PROGRESS' }, 202),
  },
};

const redirect: Refusal = {
  instead: ({ response, random, elsewhere }) =>
    send(response, random.pick([301, 302, 303, 307, 308]), '', { location: `${elsewhere}/elsewhere` }),
};

export const statusFaults: Record<string, RequestFault> = {
  ...troubles,
  redirect,
  ...damagedAnswers,
  'unknown-word': told(({ id }) => ({ id, status: 'REHYDRATING' })),
  // Some documentation uses this status.
  running: told(({ id }) => ({ id, status: 'RUNNING' })),
  'no-status': told(({ id }) => ({ id })),
  'status-is-number': told(({ id }) => ({ id, status: 500 })),
  // Similar services answer this way until the job is done.
  'nothing-yet-202': { after: ({ response }) => sendJson(response, {}, 202) },
  'back-in-queue': told(({ id }) => ({ id, status: 'IN_QUEUE', retries: 1, delayTime: 3 })),
  // A client that takes this output saves the wrong picture.
  'early-output': told(({ id }) => ({
    id,
    status: 'IN_PROGRESS',
    output: [{ rendered_image: png(24, 16, rowsOf(24, 16, noiseOf(0))).toString('base64'), seed: 0 }],
  })),
  // A proxy has mixed up two answers.
  'other-job': told((honest) => ({ ...honest, id: '00000000-0000-4000-8000-000000000000' })),
};

/** Refusals that a retry does not change. */
export const closedDoors = {
  'key-refused': { instead: ({ response }) => send(response, 401) },
  'key-refused-inside': {
    instead: ({ response }) => sendJson(response, { status: 401, error: 'unauthorized' }),
  },
  forbidden: { instead: ({ response }) => sendHtml(response, 403) },
  'out-of-credit': { instead: ({ response }) => sendJson(response, { error: 'out of credit' }, 402) },
  'endpoint-gone': { instead: ({ response }) => sendJson(response, { detail: 'endpoint not found' }, 404) },
  redirect,
  'method-refused': { instead: ({ response }) => sendJson(response, { error: 'method not allowed' }, 405) },
} satisfies Record<string, Refusal>;

function told(change: (honest: Fields) => Fields): RequestFault {
  return { after: ({ response }, honest) => sendJson(response, change(honest)) };
}

export function sendProxyTrouble({ response, random }: Answering): void {
  sendHtml(response, random.pick([500, 502, 503, 504, 520, 521, 522, 523, 524]));
}

function inASecond(): Date {
  return new Date(Date.now() + 1_000);
}
