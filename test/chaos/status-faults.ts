/** What can go wrong with a look at a job that the service has. */
import type { ServerResponse } from 'node:http';
import {
  hang,
  inASecond,
  reset,
  sendCut,
  sendHtml,
  sendJson,
  sendOverload,
  sendProxyTrouble,
  sendText,
} from './answers.ts';
import type { Chance } from './chance.ts';
import type { Job, Standing } from './hostile-jobs.ts';
import { pictureOf } from './pictures.ts';

export interface Look {
  response: ServerResponse;
  random: Chance;
  job: Job;
  standing: Standing;
}

type Fault = (look: Look) => void;

const transport: Record<string, Fault> = {
  'status: 5xx and HTML': ({ response, random }) => sendProxyTrouble(response, random),
  'status: 200 and HTML': ({ response }) => sendHtml(response, 200),
  'status: reset': ({ response }) => reset(response),
  'status: cut body': ({ response, standing }) => sendCut(response, standing.fields),
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
export function falseDenial({ job, standing }: Look): string | undefined {
  const ageMs = Date.now() - job.acceptedAt;
  if (job.deniedFalsely === 0 && ageMs > oldMs) return unknownOnce;
  return !standing.isEnded && ageMs < freshMs ? unknownWhileFresh : undefined;
}
