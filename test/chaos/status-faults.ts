/** What can go wrong with a look at a job that the service has. */
import type { ServerResponse } from 'node:http';
import {
  hang,
  inASecond,
  reset,
  sendCut,
  sendCutChunks,
  sendDripping,
  sendHtml,
  sendJson,
  sendLate,
  sendMismeasured,
  sendOverload,
  sendProxyTrouble,
  sendRedirect,
  sendText,
  sendUnavailable,
  sendUnpackable,
} from './answers.ts';
import type { Chance } from '../../src/service/faults/chance.ts';
import type { Job, Standing } from './hostile-jobs.ts';
import { pictureOf } from './pictures.ts';

export interface Look {
  response: ServerResponse;
  random: Chance;
  job: Job;
  standing: Standing;
  /** Where redirects lead. */
  elsewhere: string;
}

type Fault = (look: Look) => void;

const transport: Record<string, Fault> = {
  'status: 5xx and HTML': ({ response, random }) => sendProxyTrouble(response, random),
  'status: 200 and HTML': ({ response }) => sendHtml(response, 200),
  'status: reset': ({ response }) => reset(response),
  'status: cut body': ({ response, standing }) => sendCut(response, standing.fields),
  'status: chunked body breaks off': ({ response, standing }) => sendCutChunks(response, standing.fields),
  'status: longer than its content length': ({ response, standing }) =>
    sendMismeasured(response, standing.fields, -9),
  'status: shorter than its content length': ({ response, standing }) =>
    sendMismeasured(response, standing.fields, 9),
  'status: says gzip and is not': ({ response, standing }) => sendUnpackable(response, standing.fields),
  'status: late': ({ response, standing, random }) =>
    sendLate(response, standing.fields, random.between(100, 300)),
  'status: dripping': ({ response, standing }) => sendDripping(response, standing.fields),
  'status: redirect': ({ response, random, elsewhere }) =>
    sendRedirect(response, elsewhere, random.pick([301, 302, 303, 307, 308])),
  'status: 503, Retry-After': ({ response }) => sendUnavailable(response),
  'status: no answer': ({ response }) => hang(response),
  'status: empty body': ({ response }) => sendText(response, ''),
  'status: 429, Retry-After in seconds': ({ response }) => sendOverload(response, { 'retry-after': '1' }, ''),
  'status: 429, Retry-After as a date': ({ response }) =>
    sendOverload(response, { 'retry-after': inASecond() }, ''),
  'status: 429 alone': ({ response }) => sendOverload(response, {}, 'slow down'),
};

const words: Record<string, Fault> = {
  'status: a word nobody knows': ({ response, job }) =>
    sendJson(response, { id: job.id, status: 'REHYDRATING' }),
  'status: a number as status': ({ response, job }) => sendJson(response, { id: job.id, status: 500 }),
  'status: RUNNING': ({ response, job }) => sendJson(response, { id: job.id, status: 'RUNNING' }),
  'status: 202 without a status': ({ response }) => sendJson(response, {}, 202),
  'status: 200 without a status': ({ response, job }) => sendJson(response, { id: job.id }),
  'status: back in the queue': ({ response, job }) =>
    sendJson(response, { id: job.id, status: 'IN_QUEUE', retries: 1, delayTime: 3 }),
  // Whoever takes it has a wrong picture.
  'status: output while IN_PROGRESS': ({ response, job }) => {
    const output = [{ rendered_image: pictureOf(0, job.number).toString('base64'), seed: 0 }];
    sendJson(response, { delayTime: 1, id: job.id, input: job.input, status: 'IN_PROGRESS', output });
  },
};

export const statusFaults: Record<string, Fault> = { ...transport, ...words };

const unknownWhileFresh = 'status: 404 of a fresh job';
const unknownOnce = 'status: 404 of an old job, once';

/** Younger than this, a job may be unknown; older than that, it may be forgotten for once. */
const freshMs = 500;
const oldMs = 1_500;

/** The false 404 that this job may be met with now. */
export function falseDenial({ job }: Look): string | undefined {
  const ageMs = Date.now() - job.acceptedAt;
  if (!job.wasDenied && ageMs > oldMs) return unknownOnce;
  return ageMs < freshMs ? unknownWhileFresh : undefined;
}
