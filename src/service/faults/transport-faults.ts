/** Answers that get lost or hurt on their way, and those of a proxy in front. */
import {
  dripCount,
  hang,
  reset,
  sendCut,
  sendCutChunks,
  sendDripping,
  sendHtml,
  sendJson,
  sendLate,
  sendMismeasured,
  sendUnpackable,
} from './fault-answers.ts';
import { anywhere, submissions, type FaultyAnswering, type RequestFaults } from './request-fault.ts';

/** Nobody waits for so long. */
const hangMs = 600_000;

export const proxyTroubles: RequestFaults = Object.fromEntries(
  [500, 502, 503, 504, 520, 521, 522, 523, 524].flatMap((status) => [
    [
      `html-${status}`,
      {
        says: `${status} with a page of HTML, from a proxy in front; nothing is done.`,
        at: anywhere,
        instead: ({ response }: FaultyAnswering) => sendHtml(response, status),
      },
    ],
    [
      `html-${status}-taken`,
      {
        says: `${status} with a page of HTML, though the job is taken on: it runs and bills, and nobody knows its id.`,
        at: submissions,
        after: ({ response }: FaultyAnswering) => sendHtml(response, status),
      },
    ],
  ]),
);

export const silences: RequestFaults = {
  unavailable: {
    says: '503 with Retry-After: 1 and a page of HTML.',
    at: anywhere,
    instead: ({ response }) => sendHtml(response, 503, { 'retry-after': '1' }),
  },
  reset: {
    says: 'The connection is reset before anything is done.',
    at: anywhere,
    instead: ({ response }) => reset(response),
  },
  'reset-taken': {
    says: 'The connection is reset once the job is taken on: it runs and bills, and nobody knows its id.',
    at: submissions,
    after: ({ response }) => reset(response),
  },
  'no-answer': {
    says: 'No answer comes, and nothing is done.',
    at: anywhere,
    instead: ({ response }) => hang(response, hangMs),
  },
  'no-answer-taken': {
    says: 'No answer comes, though the job is taken on.',
    at: submissions,
    after: ({ response }) => hang(response, hangMs),
  },
};

export const damagedAnswers: RequestFaults = {
  cut: {
    says: 'Half of the body comes, then the connection breaks; a job that was handed in is taken on.',
    at: anywhere,
    after: ({ response }, { body }) => sendCut(response, body),
  },
  'cut-behind-id': {
    says: 'The reply breaks off right behind the id of the job, which is taken on.',
    at: submissions,
    after: ({ response }, { body }) => sendCut(response, body, String(body).indexOf(',') + 1),
  },
  'cut-chunks': {
    says: 'A chunked body breaks off, so that only the missing last chunk tells.',
    at: anywhere,
    after: ({ response }, { body }) => sendCutChunks(response, body),
  },
  'longer-than-told': {
    says: 'The body goes on beyond its Content-Length.',
    at: anywhere,
    after: ({ response }, { body }) => sendMismeasured(response, body, -9),
  },
  'shorter-than-told': {
    says: 'The body ends before its Content-Length.',
    at: anywhere,
    after: ({ response }, { body }) => sendMismeasured(response, body, 9),
  },
  'not-gzip': {
    says: 'The answer says Content-Encoding: gzip, and is plain.',
    at: anywhere,
    after: ({ response }, { body }) => sendUnpackable(response, body),
  },
  empty: {
    says: '200 with an empty body, though what was asked for is done.',
    at: anywhere,
    after: ({ response }) => sendJson(response, 200, ''),
  },
  'html-200': {
    says: '200 with a page of HTML, though what was asked for is done.',
    at: anywhere,
    after: ({ response }) => sendHtml(response, 200),
  },
  late: {
    says: 'The whole answer, late by `times.late`.',
    at: anywhere,
    after: ({ response, lateMs }, { status, body }) => sendLate(response, status, body, lateMs),
  },
  dripping: {
    says: 'The whole answer in small parts, within `times.late`.',
    at: anywhere,
    after: ({ response, lateMs }, { body }) => sendDripping(response, body, lateMs / dripCount),
  },
};
