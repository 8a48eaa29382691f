/** Requests that are refused in words: too many of them, or a door that is closed. */
import { dateAfter, sendHtml, sendJson, sendOverload, sendPlain, sendRedirect } from './fault-answers.ts';
import { anywhere, submissions, type RequestFaults } from './request-fault.ts';

export const overloads: RequestFaults = {
  'rate-limited': {
    says: '429 with an empty body, and no word of when to come back.',
    at: anywhere,
    instead: ({ response }) => sendOverload(response, {}, ''),
  },
  'rate-limited-seconds': {
    says: '429 with Retry-After: 1.',
    at: anywhere,
    instead: ({ response }) => sendOverload(response, { 'retry-after': '1' }, ''),
  },
  'rate-limited-date': {
    says: '429 with Retry-After as an HTTP date, a moment ahead.',
    at: anywhere,
    instead: ({ response }) => sendOverload(response, { 'retry-after': dateAfter(1_000) }, ''),
  },
  'queue-full': {
    says: '429 and, as JSON, that the queue is full.',
    at: submissions,
    instead: ({ response }) =>
      sendOverload(response, { 'content-type': 'application/json' }, '{"error":"queue is full"}'),
  },
};

const final = { isFinal: true } as const;

/** No client gets in by trying again. */
export const closedDoors: RequestFaults = {
  'key-refused': {
    says: '401 with an empty body: the key is not accepted.',
    at: anywhere,
    ...final,
    instead: ({ response }) => sendPlain(response, 401, ''),
  },
  'key-refused-inside': {
    says: '200 whose body says 401: the key is not accepted.',
    at: submissions,
    ...final,
    instead: ({ response }) => sendJson(response, 200, '{"status":401,"error":"unauthorized"}'),
  },
  forbidden: {
    says: '403 with a page of HTML: a firewall, or a key that may not use the endpoint.',
    at: anywhere,
    ...final,
    instead: ({ response }) => sendHtml(response, 403),
  },
  'out-of-credit': {
    says: '402: the account cannot pay.',
    at: anywhere,
    ...final,
    instead: ({ response }) => sendJson(response, 402, '{"error":"out of credit"}'),
  },
  'endpoint-gone': {
    says: '404: the endpoint is not known.',
    at: anywhere,
    ...final,
    instead: ({ response }) => sendJson(response, 404, '{"detail":"endpoint not found"}'),
  },
  redirect: {
    says: 'A redirect to another host, where no key is to go.',
    at: anywhere,
    ...final,
    instead: ({ response, random }) =>
      sendRedirect(response, random.pick([301, 302, 303, 307, 308]), 'https://elsewhere.invalid/'),
  },
  'method-refused': {
    says: '405: the address takes no submissions.',
    at: submissions,
    ...final,
    instead: ({ response }) => sendJson(response, 405, '{"error":"method not allowed"}'),
  },
  'input-refused': {
    says: '400: the input is malformed.',
    at: submissions,
    ...final,
    instead: ({ response }) => sendJson(response, 400, '{"error":"the input is malformed"}'),
  },
  'body-too-large': {
    says: '400 with the text "exceeded max body size".',
    at: submissions,
    ...final,
    instead: ({ response }) => sendPlain(response, 400, 'exceeded max body size of 10MiB'),
  },
};
