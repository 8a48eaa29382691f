/** What can go wrong with a submission: before the service has taken it, and after. */
import type { ServerResponse } from 'node:http';
import {
  hang,
  inASecond,
  reset,
  sendCut,
  sendCutChunks,
  sendDripping,
  sendJson,
  sendLate,
  sendMismeasured,
  sendOverload,
  sendProxyTrouble,
  sendText,
} from './answers.ts';
import type { Chance } from '../../src/service/faults/chance.ts';
import type { Job } from './hostile-jobs.ts';

export interface Submission {
  response: ServerResponse;
  random: Chance;
  /** Takes the job on: from here it runs and bills. */
  accept: () => Job;
}

type Fault = (submission: Submission) => void;

const overloads: Record<string, Fault> = {
  'submit: 429, Retry-After in seconds': ({ response }) => sendOverload(response, { 'retry-after': '1' }, ''),
  'submit: 429, Retry-After as a date': ({ response }) =>
    sendOverload(response, { 'retry-after': inASecond() }, ''),
  'submit: 429 alone': ({ response }) => sendOverload(response, {}, ''),
  'submit: 429, queue is full': ({ response }) =>
    sendOverload(response, { 'content-type': 'application/json' }, '{"error":"queue is full"}'),
};

const notTaken: Record<string, Fault> = {
  'submit: reset, not taken': ({ response }) => reset(response),
  'submit: 5xx and HTML, not taken': ({ response, random }) => sendProxyTrouble(response, random),
  'submit: no answer, not taken': ({ response }) => hang(response),
  'submit: 200, a number as status': ({ response }) => sendJson(response, { status: 500, error: 'internal' }),
};

const taken: Record<string, Fault> = {
  'submit: reset after it was taken': ({ response }) => reset(response),
  'submit: 5xx and HTML, taken': ({ response, random }) => sendProxyTrouble(response, random),
  'submit: no answer, taken': ({ response }) => hang(response),
  'submit: unreadable reply, taken': ({ response, random }) =>
    sendText(
      response,
      random.pick(['', '<html>', '[]', 'null', '{"id":', '{"id":null,"status":"IN_QUEUE"}']),
    ),
};

/** Answers that tell the id, or its beginning, in a way that not everybody can read. */
const badlyTold: Record<string, (submission: Submission, reply: { id: string; status: string }) => void> = {
  'submit: cut reply, taken': ({ response }, reply) => sendCut(response, reply),
  'submit: cut reply behind the id, taken': ({ response }, reply) =>
    sendCut(response, { ...reply, note: 'so that the id stands in the first half' }),
  'submit: chunked reply breaks off, taken': ({ response }, reply) => sendCutChunks(response, reply),
  'submit: longer than its content length, taken': ({ response }, reply) =>
    sendMismeasured(response, reply, -20),
  'submit: shorter than its content length, taken': ({ response }, reply) =>
    sendMismeasured(response, reply, 20),
  'submit: late reply, taken': ({ response, random }, reply) =>
    sendLate(response, reply, random.between(100, 300)),
  'submit: dripping reply, taken': ({ response }, reply) => sendDripping(response, reply),
  'submit: 202 and IN_PROGRESS, taken': ({ response }, { id }) =>
    sendJson(response, { id, status: 'IN_PROGRESS' }, 202),
};

export const submitFaults: Record<string, Fault> = {
  ...overloads,
  ...notTaken,
  ...mapped(taken, (fault) => (submission) => {
    submission.accept();
    fault(submission);
  }),
  ...mapped(badlyTold, (tell) => (submission) => {
    tell(submission, { id: submission.accept().id, status: 'IN_QUEUE' });
  }),
};

function mapped<T>(faults: Record<string, T>, asFault: (fault: T) => Fault): Record<string, Fault> {
  return Object.fromEntries(Object.entries(faults).map(([name, fault]) => [name, asFault(fault)]));
}

/** One of the answers of a service that has too much to do. */
export function refuseForLoad(response: ServerResponse, random: Chance): void {
  const names = Object.keys(overloads);
  overloads[random.pick(names)]?.({ response, random, accept: unwanted });
}

function unwanted(): never {
  throw new Error('a service that has too much to do takes nothing on');
}
