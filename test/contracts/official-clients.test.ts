/** Promise: the official clients of fal and Replicate understand every answer of our stand-ins. */
import { ApiError, createFalClient, ValidationError, type FalClient } from '@fal-ai/client';
import Replicate, { type Prediction } from 'replicate';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { falKey, startFal, type FalOptions } from '../fakes/fal-service.ts';
import { replicateKey, startReplicate, type ReplicateOptions } from '../fakes/replicate-service.ts';
import { falSituations, replicateSituations } from '../fakes/situations.ts';

/** The status code of a refusal, or a text that describes the answer. */
type Outcome = string | number;

interface Outcomes {
  submit: Outcome;
  status?: Outcome;
  result?: Outcome;
  cancel?: Outcome;
}

const { setTimeout: wait } = globalThis;

/** Lets the official clients repeat requests without waiting. */
function waitUnlessTheirs(
  run: (...more: unknown[]) => void,
  ms?: number,
  ...more: unknown[]
): NodeJS.Timeout {
  const caller = new Error().stack?.split('\n')[2] ?? '';
  return wait(run, /node_modules.(@fal-ai|replicate)/.test(caller) ? 0 : ms, ...more);
}

beforeEach(() => void vi.stubGlobal('setTimeout', waitUnlessTheirs));
afterEach(() => void vi.unstubAllGlobals());

const model = 'fal-ai/flux/dev';
const replicateModel = 'black-forest-labs/flux-schnell';
const input = { prompt: 'a hill', seed: 5 };

const fal: Record<keyof typeof falSituations, Outcomes> = {
  'brings a picture': { submit: 'IN_QUEUE', status: 'COMPLETED', result: '1 of seed 5', cancel: 400 },
  'brings three pictures': { submit: 'IN_QUEUE', status: 'COMPLETED', result: '3 of seed 5', cancel: 400 },
  'brings none': { submit: 'IN_QUEUE', status: 'COMPLETED', result: '0 of seed 5', cancel: 400 },
  waits: { submit: 'IN_QUEUE', status: 'IN_QUEUE', result: 400, cancel: 'done' },
  runs: { submit: 'IN_QUEUE', status: 'IN_PROGRESS', result: 400, cancel: 'done' },
  'is in a state that nobody knows': { submit: 'IN_QUEUE', status: 'PAUSED', result: 400, cancel: 'done' },
  'is refused by the model': { submit: 'IN_QUEUE', status: 'COMPLETED', result: 422, cancel: 400 },
  'fails in the model': { submit: 'IN_QUEUE', status: 'COMPLETED', result: 500, cancel: 400 },
  'fails with its runner': { submit: 'IN_QUEUE', status: 'COMPLETED', result: 503, cancel: 400 },
  'is forgotten': { submit: 'IN_QUEUE', status: 404, result: 404, cancel: 404 },
  'has a model that is not there': { submit: 404 },
  'comes with a revoked key': { submit: 401 },
  'comes from an account without money': { submit: 403 },
  'is one too many': { submit: 429 },
  'has its answer lost': { submit: 'no answer' },
  'meets a proxy': { submit: 'IN_QUEUE', status: 502, result: '1 of seed 5', cancel: 400 },
};

it.each(namesOf(falSituations))('@fal-ai/client, with a job that %s', async (name) => {
  const client = await falClient(falSituations[name]);
  const { queue } = client;
  const submit = await falOutcome(queue.submit(model, { input }), statusOf);
  if (submit !== 'IN_QUEUE') return expect({ submit }).toEqual(fal[name]);
  const { request_id: requestId } = await queue.submit(model, { input });
  expect({
    submit,
    status: await falOutcome(queue.status(model, { requestId }), statusOf),
    result: await falOutcome(queue.result(model, { requestId }), ({ data }) => {
      const { images, seed } = data as { images: { url: string }[]; seed: number };
      return `${images.length} of seed ${seed}`;
    }),
    cancel: await falOutcome(queue.cancel(model, { requestId }), () => 'done'),
  }).toEqual(fal[name]);
});

const created = { submit: 'starting' };
const done = { status: 'succeeded', cancel: 'succeeded' };

const replicate: Record<keyof typeof replicateSituations, Outcomes> = {
  'brings a picture': { ...created, ...done, result: 'data:image/png' },
  'brings three pictures': { ...created, ...done, result: 'data:image/png data:image/png data:image/png' },
  'brings none': { ...created, ...done, result: '' },
  waits: { ...created, status: 'starting', cancel: 'canceled' },
  runs: { ...created, status: 'processing', cancel: 'canceled' },
  'is in a state that nobody knows': { ...created, status: 'paused', cancel: 'paused' },
  fails: { ...created, status: 'failed: CUDA out of memory (code: E1001)', cancel: 'failed' },
  'is aborted': { ...created, status: 'aborted', cancel: 'aborted' },
  'is forgotten': { ...created, ...done, result: 'removed' },
  'has a model that is not there': { submit: 422 },
  'has an input that is refused': { submit: 422 },
  'comes with a revoked key': { submit: 401 },
  'comes from an account without money': { submit: 402 },
  'is one too many': { submit: 429 },
  'has its answer lost': { submit: 'no answer' },
  'meets a proxy': { ...created, status: 502, cancel: 'succeeded' },
};

it.each(namesOf(replicateSituations))('replicate, with a job that %s', async (name) => {
  const client = await replicateClient(replicateSituations[name]);
  const { predictions } = client;
  const create = (): Promise<Prediction> => predictions.create({ version: replicateModel, input });
  const submit = await replicateOutcome(create(), ({ status }) => status);
  if (submit !== 'starting') return expect({ submit }).toEqual(replicate[name]);
  const { id } = await create();
  const status = await replicateOutcome(predictions.get(id), ({ status: word, error }) =>
    typeof error === 'string' ? `${word}: ${error}` : word,
  );
  const result = status === 'succeeded' ? outputOf(await predictions.get(id)) : undefined;
  const cancel = await replicateOutcome(predictions.cancel(id), (prediction) => prediction.status);
  expect({ submit, status, ...(result !== undefined && { result }), cancel }).toEqual(replicate[name]);
});

it('replicate finds the account, the model and all pages of its list', async () => {
  const service = await startReplicate({ pageSize: 2 });
  const client = new Replicate({ auth: replicateKey, baseUrl: `${service.url}/v1` });
  expect(await client.accounts.current()).toMatchObject({ type: 'user', username: 'alice' });
  expect(await client.models.get('black-forest-labs', 'flux-schnell')).toMatchObject({
    name: 'flux-schnell',
  });
  for (let seed = 1; seed <= 5; seed++)
    await client.predictions.create({ version: replicateModel, input: { seed } });
  const pages: unknown[] = [];
  for await (const page of client.paginate(client.predictions.list))
    pages.push(page.map((prediction) => prediction.input));
  expect(pages).toEqual([[{ seed: 5 }, { seed: 4 }], [{ seed: 3 }, { seed: 2 }], [{ seed: 1 }]]);
});

it('replicate waits for a picture within its request', async () => {
  const service = await startReplicate();
  const client = new Replicate({ auth: replicateKey, baseUrl: `${service.url}/v1`, useFileOutput: false });
  expect(await client.run('black-forest-labs/flux-schnell', { input })).toEqual([
    expect.stringMatching(/^data:image\/png/),
  ]);
});

async function falClient(options: FalOptions): Promise<FalClient> {
  const { url } = await startFal(options);
  return createFalClient({
    credentials: falKey,
    requestMiddleware: (request) =>
      Promise.resolve({ ...request, url: request.url.replace('https://queue.fal.run', url) }),
  });
}

async function replicateClient(options: ReplicateOptions): Promise<Replicate> {
  const { url } = await startReplicate(options);
  return new Replicate({ auth: replicateKey, baseUrl: `${url}/v1`, useFileOutput: false });
}

/** Returns the outcome of a call. Any error other than the client's own error for a refusal fails the test. */
async function falOutcome<Answer>(call: Promise<Answer>, said: (answer: Answer) => string): Promise<Outcome> {
  try {
    return said(await call);
  } catch (error) {
    if (error instanceof ValidationError) expect(error.fieldErrors[0]?.msg).toMatch(/./);
    if (error instanceof ApiError) return error.status;
    return noAnswer(error);
  }
}

async function replicateOutcome(
  call: Promise<Prediction>,
  said: (prediction: Prediction) => string,
): Promise<Outcome> {
  try {
    return said(await call);
  } catch (error) {
    if (error instanceof Error && 'response' in error) return (error.response as Response).status;
    return noAnswer(error);
  }
}

function noAnswer(error: unknown): string {
  if (error instanceof TypeError && error.message === 'fetch failed') return 'no answer';
  throw error;
}

function outputOf({ output, data_removed: isRemoved }: Prediction): string {
  if (isRemoved) return 'removed';
  return [output as string | string[]]
    .flat()
    .map((address) => address.split(';')[0])
    .join(' ');
}

function namesOf<Name extends string>(situations: Record<Name, unknown>): Name[] {
  return Object.keys(situations) as Name[];
}

function statusOf({ status }: { status: string }): string {
  return status;
}
