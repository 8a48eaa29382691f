/** What can go wrong with a submission: before the service has taken it, and after. */
import type { ServerResponse } from 'node:http';
import {
  hang,
  inASecond,
  reset,
  sendCut,
  sendJson,
  sendOverload,
  sendProxyTrouble,
  sendText,
} from './answers.ts';
import type { Chance } from './chance.ts';
import type { Job } from './hostile-jobs.ts';

export interface Submission {
  response: ServerResponse;
  random: Chance;
  /** Takes the job on: from here it runs and bills. */
  accept: () => Promise<Job>;
}

type Fault = (submission: Submission) => void | Promise<void>;

const overloads: Record<string, Fault> = {
  'submit: 429, Retry-After in seconds': ({ response }) => sendOverload(response, { 'retry-after': '1' }, ''),
  'submit: 429, Retry-After as a date': ({ response }) =>
    sendOverload(response, { 'retry-after': inASecond() }, ''),
  'submit: 429 alone': ({ response }) => sendOverload(response, {}, ''),
  'submit: 429, queue is full': ({ response }) =>
    sendOverload(response, { 'content-type': 'application/json' }, '{"error":"queue is full"}'),
};

const notTaken: Record<string, Fault> = {
  'submit: reset before it was read': ({ response }) => reset(response),
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

export const submitFaults: Record<string, Fault> = {
  ...overloads,
  ...notTaken,
  ...Object.fromEntries(Object.entries(taken).map(([name, fault]) => [name, afterTaking(fault)])),
  'submit: cut reply, taken': async ({ response, accept }) => {
    const { id } = await accept();
    sendCut(response, { id, status: 'IN_QUEUE' });
  },
  'submit: cut reply behind the id, taken': async ({ response, accept }) => {
    const { id } = await accept();
    sendCut(response, { id, status: 'IN_QUEUE', note: 'so that the id stands in the first half' });
  },
};

function afterTaking(fault: Fault): Fault {
  return async (submission) => {
    await submission.accept();
    await fault(submission);
  };
}
