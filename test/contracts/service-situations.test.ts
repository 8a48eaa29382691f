/**
 * Promise: whatever a service answers, the port `RenderService` reports it in the same way for every kind of service.
 */
import { describe, expect, it } from 'vitest';
import { answerJson, scriptedServer } from '../fakes/scripted-server.ts';
import { failure, keepsKey, withoutHold } from '../runner/client/client.ts';
import {
  cancellations,
  endpoints,
  lostSubmissions,
  pictures,
  states,
  submissions,
  type Meaning,
  type Situations,
  type Spoken,
} from './service-situations.ts';
import {
  clipUrl,
  key,
  nobodyAt,
  openAt,
  onePixel,
  ownPath,
  serviceNames,
  services,
  speakTo,
  type Answers,
  type ServiceName,
  type SpokenTo,
} from './spoken-services.ts';

type Ask = (spoken: SpokenTo) => Promise<object>;

const never = new AbortController().signal;
const submit: Ask = ({ client, input, job }) => client.submit(job.endpoint, input, never, 'night-1');
const find: Ask = ({ client, input, job }) =>
  client.submit(job.endpoint, input, never, 'night-1', {
    sentAt: 0,
    sentBy: Infinity,
    overWithinMs: Infinity,
    isTaken: async () => false,
  });
const status: Ask = async ({ client, job }) => withoutHold(await client.status(job, never));
const cancel: Ask = ({ client, job }) => client.cancel(job, never);
const health: Ask = ({ client, job }) => client.health(job.endpoint, never);

describe.each(serviceNames)('%s: a submission', (name) => {
  it.each(casesOf(name, submissions))('%s', async (_, meaning) => {
    const spoken = await meets(name, meaning, submit);
    expect(spoken.submissions()).toBe(1);
  });

  it('is known not to have arrived if no server listens', async () => {
    const spoken = await speakTo(name, () => ({}));
    const job = { ...spoken.job, endpoint: await nobodyAt(spoken) };
    expect(await submit({ ...spoken, job })).toEqual(failure('not-reached', /\(http:/));
  });
});

describe.each(serviceNames)('%s: a submission without an answer', (name) => {
  it.each(casesOf(name, lostSubmissions))('%s', async (_, meaning) => {
    const spoken = await meets(name, meaning, find);
    expect(spoken.submissions()).toBe(name === 'jobs' ? 1 : 0);
  });
});

describe.each(serviceNames)('%s: a job', (name) => {
  it.each(casesOf(name, states))('%s', async (situation, meaning) => {
    const { warnings } = await meets(name, meaning, status);
    const isUnknown = situation.startsWith('whose state is not known');
    expect(warnings).toEqual(isUnknown ? [expect.stringContaining('"PAUSED"')] : []);
  });

  it('that is complete is read from its kept answer as from the service', async () => {
    const { says, outputOf } = services[name];
    const spoken = await speakTo(name, () => says('done', { output: outputOf(onePixel) }));
    const { client, job } = spoken;
    const told = withoutHold(await client.status(job, never));
    const chunks: Uint8Array[] = [];
    expect(await client.copyResult(job, async (chunk) => void chunks.push(chunk), never)).toBe(true);
    const read = withoutHold(await client.status(job, never, undefined, Buffer.concat(chunks)));
    expect(read).toMatchObject(told);
    const none = await client.status(job, never, undefined, Buffer.from('{}'));
    expect(none).not.toMatchObject({ kind: 'completed' });
    spoken.check();
  });
});

/** Path where each service may state a price, with its answers for a given price. */
const priced: Record<
  string,
  { at: string; done: (cost: unknown) => Answers; failed: (cost: unknown) => Answers }
> = {
  jobs: {
    at: 'output[0].cost',
    done: (cost) => of({ id: 'j1', status: 'COMPLETED', output: [{ image: onePixel, cost }] }),
    failed: (cost) => of({ id: 'j1', status: 'FAILED', error: 'no GPU', output: [{ cost }] }),
  },
  fal: {
    at: 'cost',
    done: (cost) => ({
      ...of({ status: 'COMPLETED' }),
      result: answerJson({ images: [{ url: onePixel }], cost }),
    }),
    failed: (cost) => ({
      ...of({ status: 'COMPLETED' }),
      result: answerJson({ detail: 'no GPU', cost }, 409),
    }),
  },
  'fal, in its status': {
    at: 'metrics.cost',
    done: (cost) => ({
      ...of({ status: 'COMPLETED', metrics: { cost } }),
      result: answerJson({ images: [{ url: onePixel }] }),
    }),
    failed: (cost) => ({
      ...of({ status: 'COMPLETED', metrics: { cost } }),
      result: answerJson({ detail: 'no GPU' }, 409),
    }),
  },
  replicate: {
    at: 'metrics.cost',
    done: (cost) => of({ id: 'j1', status: 'succeeded', output: [onePixel], metrics: { cost } }),
    failed: (cost) => of({ id: 'j1', status: 'canceled', error: 'stopped', metrics: { cost } }),
  },
  own: {
    at: 'data.cost',
    done: (cost) => of({ data: { id: 'j1', state: 'ready', outputs: [onePixel], cost } }),
    failed: (cost) => of({ data: { id: 'j1', state: 'stopped', problem: 'stopped', cost } }),
  },
  'own, beside the output in its archive': {
    at: 'data.outputs_cost',
    done: (cost) => ({
      status: answerJson({}, 404),
      archive: answerJson({
        id: 'j1',
        code: 200,
        outputs: { image: onePixel },
        data: { outputs_cost: cost },
      }),
    }),
    failed: (cost) => ({
      status: answerJson({}, 404),
      archive: answerJson({
        id: 'j1',
        code: 500,
        outputs: { problem: 'no GPU' },
        data: { outputs_cost: cost },
      }),
    }),
  },
  'own, in its archive': {
    at: 'data.outputs.cost',
    done: (cost) => ({
      status: answerJson({}, 404),
      archive: answerJson({ id: 'j1', code: 200, outputs: { image: onePixel, cost } }),
    }),
    failed: (cost) => ({
      status: answerJson({}, 404),
      archive: answerJson({ id: 'j1', code: 500, outputs: { problem: 'no GPU', cost } }),
    }),
  },
};

const of = (body: object): Answers => ({ status: answerJson(body) });

it.each(serviceNames)('%s: a completed job returns its clip if output.media is set', async (name) => {
  const { says, clipOutput, words } = services[name];
  const path = { jobs: 'video_url', fal: 'video.url', comfyui: '9', own: '[*]', replicate: '[*]' }[name];
  for (const media of ['video', path]) {
    const output = media === '[*]' ? [clipUrl] : clipOutput;
    const spoken = await speakTo(name, () => says('done', { output }), { output: `media: "${media}"` });
    const received = { length: expect.any(Number) as number };
    const found = name === 'comfyui' ? { received } : { url: clipUrl };
    expect(await status(spoken)).toMatchObject({
      kind: 'completed',
      status: words.done,
      pictures: [{ ...found, isClip: true }],
    });
  }
});

describe.each(Object.entries(priced))('%s: the price of a job', (name, { at, done, failed }) => {
  const spokenWith = (answers: Answers): Promise<SpokenTo> =>
    speakTo(name.replace(/,.*/, '') as ServiceName, () => answers, { pricing: `{ at: '${at}' }` });

  it.each<[unknown, number | undefined]>([
    [0.0123, 0.0123],
    [0, 0],
    ['0.0123', 0.0123],
    ['1.2e-5', 0.000012],
    // A larger price is limited, so that sums stay finite.
    [1e308, 1e15],
    ...[-1, '-1', 'NaN', '', '0,01', '$0.01', '0.01 USD', null, true, {}].map(
      (none) => [none, undefined] as [unknown, undefined],
    ),
  ])('stated as %j is %s, whatever became of the job', async (cost, amount) => {
    const told = { at, ...(amount !== undefined && { amount }) };
    expect(await status(await spokenWith(done(cost)))).toMatchObject({ kind: 'completed', cost: told });
    expect(await status(await spokenWith(failed(cost)))).toMatchObject({ kind: 'ended', cost: told });
  });

  it('is not read without `pricing.at`', async () => {
    const spoken = await speakTo(name.replace(/,.*/, '') as ServiceName, () => done(0.5));
    expect(await status(spoken)).not.toHaveProperty('cost');
  });
});

it.each<[string, string, Answers]>([
  [
    'fal',
    'metrics.cost',
    { ...of({ status: 'COMPLETED', metrics: { cost: 0.5 } }), result: answerJson({}, 404) },
  ],
  [
    'replicate',
    'metrics.cost',
    of({ id: 'j1', status: 'succeeded', data_removed: true, metrics: { cost: 0.5 } }),
  ],
])('%s: the price of a job is known although its result is gone', async (service, path, answers) => {
  const spoken = await speakTo(service as ServiceName, () => answers, { pricing: `{ at: '${path}' }` });
  expect(await status(spoken)).toMatchObject({ kind: 'missing', cost: { at: path, amount: 0.5 } });
});

it('a kept result without a price does not mean that the job has none, because its status may state it', async () => {
  const { at, done } = priced['fal, in its status'] ?? expect.fail('there is no such service');
  const { client, job } = await speakTo('fal', () => done(0.5), { pricing: `{ at: '${at}' }` });
  const chunks: Uint8Array[] = [];
  expect(await client.copyResult(job, async (chunk) => void chunks.push(chunk), never)).toBe(true);
  const read = withoutHold(await client.status(job, never, undefined, Buffer.concat(chunks)));
  expect(read).toMatchObject({ kind: 'completed' });
  expect(read).not.toHaveProperty('cost');
});

describe.each(serviceNames)('%s: a picture at the service itself', (name) => {
  it.each(casesOf(name, pictures))('%s', async (_, { answers, reply }) => {
    const withPicture = (at: Spoken): Answers => ({
      ...at.says('done', { output: at.outputOf(`${at.url}${ownPath}`) }),
      ...answersAt(answers, at),
    });
    await meets(name, { answers: withPicture, reply }, status);
  });
});

describe.each(serviceNames)('%s: a cancellation', (name) => {
  it.each(casesOf(name, cancellations))('%s', async (_, meaning) => {
    await meets(name, meaning, cancel);
  });
});

describe.each(serviceNames)('%s: the endpoint', (name) => {
  it.each(casesOf(name, endpoints))('%s', async (_, meaning) => {
    await meets(name, meaning, health);
  });
});

it.each(serviceNames)('%s: nothing is requested after the signal has aborted', async (name) => {
  const spoken = await speakTo(name, () => ({}));
  const { client, input, job } = spoken;
  const aborted = AbortSignal.abort();
  expect(await client.submit(job.endpoint, input, aborted, 'night-1')).toEqual(failure('not-reached'));
  expect(await client.status(job, aborted)).toEqual(failure('poll-failed'));
  expect(await client.cancel(job, aborted)).toEqual(failure('poll-failed'));
  const isAsked = name !== 'fal';
  expect(await client.health(job.endpoint, aborted)).toMatchObject(
    isAsked ? failure('poll-failed') : { kind: 'unknown' },
  );
  expect(spoken.submissions()).toBe(0);
});

it.each([
  [
    'v2',
    'policy: { executionTimeout: 30m, ttl: 2h, lowPriority: true }',
    { executionTimeout: 1_800_000, ttl: 7_200_000, lowPriority: true },
  ],
  ['v2', 'policy: { lowPriority: false }', { lowPriority: false }],
  ['v2', 'freshness: 1s', undefined],
  // A development server has no limits of its own.
  ['dev', 'policy: { executionTimeout: 30m }', undefined],
])('jobs: a submission to %s has the policy that is set: %s', async (version, setting, policy) => {
  const server = await scriptedServer(answerJson({ id: 'j1', status: 'IN_QUEUE' }));
  const { client, config } = openAt('jobs', server.url, {
    endpoint: `id: painter, version: ${version}, ${setting}`,
  });
  const input = { prompt: 'a hill' };
  expect(await client.submit(config.endpoint, input, never, 'night-1')).toMatchObject({ kind: 'accepted' });
  expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({ input, ...(policy && { policy }) });
});

it('comfyui: a seed never reveals a part of the key, whatever its digits', async () => {
  const { url } = await scriptedServer(answerJson({ prompt_id: 'j1', node_errors: {} }));
  const { client, config } = openAt('comfyui', url, { apiKey: '4711' });
  const sha256 = config.service.kind === 'comfyui' ? config.service.sha256 : '';
  const input = { workflow: sha256, set: { '3.seed': 847115 } };
  expect(await client.submit(config.endpoint, input, never, 'night-1')).toMatchObject({
    kind: 'accepted',
    kept: { seed: '847115' },
  });
});

/** Returns the situations that are possible with this service. */
function casesOf(name: ServiceName, situations: Situations): [string, Meaning][] {
  return Object.entries(situations).flatMap(([situation, [answers, reply, exceptions = {}]]) => {
    const exception = exceptions[name] ?? {};
    if (typeof exception === 'string') return [];
    return [[situation, { answers, reply, ...exception }] as [string, Meaning]];
  });
}

/** Sends one request for each expected reply, and checks the reply without the key. */
async function meets(name: ServiceName, { answers, reply }: Meaning, ask: Ask): Promise<SpokenTo> {
  const service = services[name];
  const spoken = await speakTo(name, (at) => answersAt(answers, { ...at, ...service }));
  const expected =
    typeof reply === 'function' ? (reply as (at: Spoken) => object)({ ...spoken.at, ...service }) : reply;
  for (const each of [expected].flat()) expect(keepsKey(await ask(spoken), key)).toEqual(each);
  spoken.check();
  return spoken;
}

function answersAt(answers: Meaning['answers'], at: Spoken): Answers {
  return typeof answers === 'function' ? answers(at) : answers;
}
