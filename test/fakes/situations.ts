/** All outcomes of jobs at fal and Replicate. Tests run the official clients and ours in each of them. */
import { reset, send, sendJson, type Fields } from '../faults/answers.ts';
import { onePixel, type FalOptions } from './fal-service.ts';
import { answerHonestly, type Meet, type Understood } from './job-server.ts';
import type { ReplicateOptions } from './replicate-service.ts';

const flagged = {
  loc: ['body', 'prompt'],
  msg: 'The content was flagged by a content checker.',
  type: 'content_policy_violation',
  url: 'https://docs.fal.ai/errors#content_policy_violation',
  input: 'a hill',
};

const broken = {
  loc: ['body'],
  msg: 'Internal server error',
  type: 'internal_server_error',
  url: 'https://docs.fal.ai/errors#internal_server_error',
};

const disconnected = {
  detail: 'Runner disconnected unexpectedly',
  error_type: 'runner_disconnected',
};

const locked = {
  detail: 'User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.',
};

export const falSituations = {
  'brings a picture': {},
  'brings three pictures': { plan: () => ({ pictures: [onePixel, onePixel, onePixel] }) },
  'brings none': { plan: () => ({ pictures: [] }) },
  waits: { plan: () => ({ queueMs: Infinity }) },
  runs: { plan: () => ({ executionMs: Infinity }) },
  'is in a state that nobody knows': { plan: () => ({ executionMs: Infinity, word: 'PAUSED' }) },
  'is refused by the model': { plan: () => ({ failure: { status: 422, fields: { detail: [flagged] } } }) },
  'fails in the model': { plan: () => ({ failure: { status: 500, fields: { detail: [broken] } } }) },
  'fails with its runner': { plan: () => ({ failure: { status: 503, fields: disconnected } }) },
  'is forgotten': { retentionMs: 0 },
  'has a model that is not there': { model: 'fal-ai/flux/schnell' },
  'comes with a revoked key': { key: 'another' },
  'comes from an account without money': { meet: refusing('run', 403, locked) },
  'is one too many': { meet: refusing('run', 429, { detail: 'Too many requests' }, 7) },
  'has its answer lost': { meet: losing('run') },
  'meets a proxy': { meet: refusing('status', 502, '<html>Bad Gateway</html>') },
} as const satisfies Record<string, FalOptions>;

const noCredit = {
  title: 'Insufficient credit',
  detail:
    'You have insufficient credit to run this model. Go to https://replicate.com/account/billing#billing to purchase credit.',
  status: 402,
};

const throttled = {
  detail: 'Request was throttled. Your rate limit resets in ~7s.',
  status: 429,
  retry_after: 7,
};

const invalid = {
  detail: '- input.steps: Must be less than or equal to 4\n',
  status: 422,
  title: 'Input validation failed',
  invalid_fields: [
    { type: 'number_lte', field: 'input.steps', description: 'Must be less than or equal to 4' },
  ],
};

export const replicateSituations = {
  'brings a picture': { plan: () => ({ output: onePixel }) },
  'brings three pictures': { plan: () => ({ output: [onePixel, onePixel, onePixel] }) },
  'brings none': { plan: () => ({ output: [] }) },
  waits: { plan: () => ({ queueMs: Infinity }) },
  runs: { plan: () => ({ executionMs: Infinity }) },
  'is in a state that nobody knows': { plan: () => ({ executionMs: Infinity, word: 'paused' }) },
  fails: { plan: () => ({ error: 'CUDA out of memory (code: E1001)' }) },
  'is aborted': { plan: () => ({ queueMs: Infinity, word: 'aborted' }) },
  'is forgotten': { retentionMs: 0 },
  'has a model that is not there': { model: 'black-forest-labs/flux-dev' },
  'has an input that is refused': { meet: refusing('run', 422, invalid) },
  'comes with a revoked key': { key: 'another' },
  'comes from an account without money': { meet: refusing('run', 402, noCredit) },
  'is one too many': { meet: refusing('run', 429, throttled) },
  'has its answer lost': { meet: losing('run') },
  'meets a proxy': { meet: refusing('status', 502, '<html>Bad Gateway</html>') },
} as const satisfies Record<string, ReplicateOptions>;

/** Accepts the first `count` of these requests but loses their answers. All other requests get regular answers. */
export function losing(operation: Understood['operation'], count = Infinity): Meet {
  return among(operation, count, ({ take, response }) => {
    take();
    reset(response);
  });
}

/** Refuses the first `count` of these requests. `retryAfter`: seconds in the Retry-After header. */
export function refusing(
  operation: Understood['operation'],
  status: number,
  body: Fields | string,
  retryAfter?: number,
  count = Infinity,
): Meet {
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  return among(operation, count, ({ response }) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (typeof body === 'string') send(response, status, body, { 'content-type': 'text/html' });
    else sendJson(response, body, status);
  });
}

function among(operation: Understood['operation'], count: number, meet: Meet): Meet {
  let left = count;
  return (asked) => (asked.operation === operation && left-- > 0 ? meet(asked) : answerHonestly(asked));
}
