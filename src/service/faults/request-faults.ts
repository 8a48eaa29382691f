/** Every fault of a request: what is done instead of what was asked for, or with the answer to it. */
import type { ServerResponse } from 'node:http';
import { sendJson, sendWhole } from './fault-answers.ts';
import { closedDoors, overloads } from './refusing-faults.ts';
import { anywhere, type HonestAnswer, type RequestFault, type RequestFaults } from './request-fault.ts';
import { damagedAnswers, proxyTroubles, silences } from './transport-faults.ts';
import { wordFaults } from './word-faults.ts';

/** By name; everything that can go wrong with a request. */
export const requestFaults: RequestFaults = {
  ...overloads,
  ...silences,
  ...proxyTroubles,
  ...damagedAnswers,
  'job-not-found': {
    says: '404: the job is not known, this once.',
    at: ['status'],
    instead: ({ response }) => sendJson(response, 404, '{"error":"job not found"}'),
  },
  'number-as-status': {
    says: '200 whose body says 500 in the place of a job: a wrong key in the body; nothing is done.',
    at: anywhere,
    instead: ({ response }) => sendJson(response, 200, '{"status":500,"error":"internal"}'),
  },
  ...Object.fromEntries(
    Object.entries(wordFaults).map(([name, { says, at, change }]): [string, RequestFault] => [
      name,
      { says, at, after: ({ response }, honest) => sendChanged(response, honest, change) },
    ]),
  ),
  ...closedDoors,
};

/** What says nothing of a job has no word to be changed. */
function sendChanged(
  response: ServerResponse,
  honest: HonestAnswer,
  change: (job: Record<string, unknown>) => { status?: number; body: unknown },
): void {
  const { status, headers, body } = honest;
  const isOfJob = status >= 200 && status <= 299;
  if (!isOfJob) return sendWhole(response, status, { ...headers, 'content-type': 'application/json' }, body);
  const changed = change(JSON.parse(body.toString()) as Record<string, unknown>);
  sendJson(response, changed.status ?? status, JSON.stringify(changed.body));
}
