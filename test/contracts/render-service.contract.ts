/** Contract of a `RenderService`: the behaviour of a service that the pipeline relies on. */
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../src/runner/core/attempt.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { FoundPicture } from '../../src/runner/core/picture.ts';
import type {
  LostSubmission,
  RenderService,
  StatusReply,
  SubmitReply,
} from '../../src/runner/pipeline/ports.ts';
import { jobIdPattern } from '../../src/protocol/paths.ts';
import { services, type SpokenService } from './spoken-services.ts';

/** A service with one worker. The test decides when its jobs go on. */
export interface World {
  service: RenderService;
  endpoint: Endpoint;
  /** Picture that the first job will deliver. */
  picture: FoundPicture;
  /** Lets the first job start. */
  begin(): Promise<void>;
  complete(): Promise<void>;
  fail(): Promise<void>;
  /** Returns the scenes of all accepted jobs. Called once, at the end. */
  scenesTaken(): Promise<unknown[]>;
  /** True if the service must state that it recognizes submissions by their idempotency keys. */
  knowsKeys?: boolean;
  /** Differences of a service whose interface is not that of job services. */
  dialect?: Dialect;
  /** The same service with an invalid key. Undefined if the service has no keys. */
  withWrongKey?: RenderService;
}

export interface Dialect {
  input: JsonObject;
  /** The value by which `scenesTaken` identifies the job. */
  scene: unknown;
  words: SpokenService['words'];
  /** Error of the failed job, if the service has its own words for it. */
  complaint?: string;
  /** Time in the queue that the service states. */
  delay: { delayTimeMs?: number };
  /** How long the service recognizes a submission. */
  knownMs: number;
  /** True if the client finds a lost submission by its key, because sending it again would create another job. */
  isLookedFor?: true;
}

/** Error that the worker reports for the failed job. */
export const complaint = 'CUDA error: an illegal memory access was encountered';

/** `ending`: how the first job will end, for services that must know beforehand. */
export type OpenWorld = (ending: 'picture' | 'failure') => Promise<World>;

export function renderServiceContract(name: string, open: OpenWorld): void {
  describe(`${name}: a job`, () => jobContract(open));
  describe(`${name}: a request`, () => requestContract(open));
  describe(`${name}: a submission`, () => idempotencyContract(open));
}

const signal = new AbortController().signal;
const input: JsonObject = { scene: 'a hill under two moons', steps: 4 };

const jobs: Dialect = {
  input,
  scene: input['scene'],
  words: services.jobs.words,
  delay: { delayTimeMs: expect.any(Number) as number },
  knownMs: 30 * 60_000,
};

function jobContract(open: OpenWorld): void {
  it('is accepted under an id, waits, runs, and completes with its picture, seed and times', async () => {
    const world = await open('picture');
    const { endpoint, dialect: { words, delay } = jobs } = world;
    const jobId = await submit(world);
    const ask = (): Promise<StatusReply> => world.service.status({ endpoint, jobId }, signal);
    expect(await ask()).toEqual({ kind: 'running', status: words.waiting, isExecuting: false });
    await world.begin();
    expect(await ask()).toEqual({ kind: 'running', status: words.running, isExecuting: true, ...delay });
    await world.complete();
    const completed = {
      kind: 'completed',
      status: words.done,
      pictures: [world.picture],
      ...delay,
      executionTimeMs: expect.any(Number) as number,
    };
    expect(await ask()).toEqual(completed);
  });

  it('is answered the same again: a run may die between collecting and recording', async () => {
    const world = await open('picture');
    const jobId = await submit(world);
    await world.begin();
    await world.complete();
    const first = await world.service.status({ endpoint: world.endpoint, jobId }, signal);
    expect(first.kind).toBe('completed');
    expect(await world.service.status({ endpoint: world.endpoint, jobId }, signal)).toEqual(first);
  });

  it('is copied as its answer came, and read from the copy', async () => {
    const world = await open('picture');
    const { endpoint, service } = world;
    const jobId = await submit(world);
    await world.begin();
    await world.complete();
    const chunks: Uint8Array[] = [];
    const copy = await service.copyResult(
      { endpoint, jobId },
      async (chunk) => void chunks.push(chunk),
      signal,
    );
    expect(copy).toBe(true);
    const kept = Buffer.concat(chunks);
    const read = await service.status({ endpoint, jobId }, signal, undefined, kept);
    const { kind, pictures } = read as StatusReply & { kind: 'completed' };
    expect({ kind, pictures }).toEqual({ kind: 'completed', pictures: [world.picture] });
  });

  it('that fails has ended, with the words of the worker', async () => {
    const world = await open('failure');
    const jobId = await submit(world);
    await world.begin();
    await world.fail();
    expect(await world.service.status({ endpoint: world.endpoint, jobId }, signal)).toMatchObject({
      kind: 'ended',
      status: (world.dialect ?? jobs).words.failed,
      failure: {
        kind: 'job-failed',
        text: expect.stringContaining(world.dialect?.complaint ?? complaint) as string,
      },
    });
  });

  it('that waits is cancelled, and has ended so', async () => {
    const world = await open('picture');
    const { service, endpoint } = world;
    const jobId = await submit(world);
    expect(await service.cancel({ endpoint, jobId }, signal)).toEqual({ kind: 'cancelled' });
    expect(await service.status({ endpoint, jobId }, signal)).toEqual(cancelled(world));
  });

  it('that runs is cancelled, twice as well as once', async () => {
    const world = await open('picture');
    const { service, endpoint } = world;
    const jobId = await submit(world);
    await world.begin();
    for (let times = 0; times < 2; times++) {
      expect(await service.cancel({ endpoint, jobId }, signal)).toEqual({ kind: 'cancelled' });
      expect(await service.status({ endpoint, jobId }, signal)).toMatchObject(cancelled(world));
    }
  });

  it('that has completed keeps its picture when it is cancelled', async () => {
    const world = await open('picture');
    const { service, endpoint } = world;
    const jobId = await submit(world);
    await world.begin();
    await world.complete();
    const before = await service.status({ endpoint, jobId }, signal);
    expect(before.kind).toBe('completed');
    await service.cancel({ endpoint, jobId }, signal);
    expect(await service.status({ endpoint, jobId }, signal)).toEqual(before);
  });

  it('is another one each time the same is submitted', async () => {
    const world = await open('picture');
    const ids = [await submit(world), await submit(world), await submit(world)];
    expect(new Set(ids).size).toBe(3);
    const { scene } = world.dialect ?? jobs;
    expect(await world.scenesTaken()).toEqual([scene, scene, scene]);
  });
}

function idempotencyContract(open: OpenWorld): void {
  it('that is sent again under its key is the same job, once the service shows that it knows keys', async () => {
    const world = await open('picture');
    const { service, endpoint, scenesTaken, knowsKeys, dialect = jobs } = world;
    const lost = dialect.isLookedFor && { sentAt: 0, sentBy: 0, overWithinMs: 0, isTaken: async () => false };
    const send = (key: string, before?: LostSubmission): Promise<SubmitReply> =>
      service.submit(endpoint, dialect.input, signal, key, before);
    const [first, second, other] = [await send('key-1'), await send('key-1', lost), await send('key-2')];
    if (first.kind !== 'accepted' || second.kind !== 'accepted' || other.kind !== 'accepted')
      return expect.fail('a submission was not accepted');
    expect(other.jobId).not.toBe(first.jobId);
    const shown = knowsKeys === true ? { idempotencyMs: dialect.knownMs } : {};
    expect(first).toEqual({ kind: 'accepted', jobId: first.jobId, status: dialect.words.waiting, ...shown });
    expect(await service.health(endpoint, signal)).toMatchObject({ kind: 'answers', ...shown });
    expect(second.jobId === first.jobId).toBe(knowsKeys === true);
    expect(await scenesTaken()).toHaveLength(knowsKeys === true ? 2 : 3);
  });
}

function cancelled({ dialect: { words } = jobs }: World): object {
  const failure = { kind: 'job-cancelled', text: expect.stringMatching(/./) as string };
  return { kind: 'ended', status: words.cancelled, failure };
}

function requestContract(open: OpenWorld): void {
  it('for a job that was never there says that it is missing', async () => {
    const { service, endpoint } = await open('picture');
    expect(await service.status({ endpoint, jobId: 'no-such-job' }, signal)).toEqual({
      kind: 'missing',
      text: expect.stringMatching(/./) as string,
    });
  });

  it('to cancel a job that was never there finds nothing, and makes none', async () => {
    const { service, endpoint, scenesTaken } = await open('picture');
    expect(await service.cancel({ endpoint, jobId: 'no-such-job' }, signal)).toEqual({
      kind: 'unsupported',
      text: expect.stringMatching(/./) as string,
    });
    expect(await scenesTaken()).toEqual([]);
  });

  it('for the health of the endpoint is answered', async () => {
    const { service, endpoint } = await open('picture');
    expect(await service.health(endpoint, signal)).toMatchObject({ kind: 'answers' });
  });

  it('with a wrong key is refused, and makes no job (skipped if a service has no keys)', async ({ skip }) => {
    const { withWrongKey: service, endpoint, scenesTaken } = await open('picture');
    if (service === undefined) return skip();
    const refused = { failure: { kind: 'key-refused' } };
    expect(await service.submit(endpoint, input, signal)).toMatchObject(refused);
    expect(await service.status({ endpoint, jobId: 'any' }, signal)).toMatchObject(refused);
    expect(await service.cancel({ endpoint, jobId: 'any' }, signal)).toMatchObject(refused);
    expect(await service.health(endpoint, signal)).toMatchObject(refused);
    expect(await scenesTaken()).toEqual([]);
  });

  it('to an endpoint that does not exist says so, and says nothing of jobs (skipped if a service has no endpoints)', async ({
    skip,
  }) => {
    const { service, endpoint, withWrongKey } = await open('picture');
    if (withWrongKey === undefined) return skip();
    const other = { ...endpoint, id: 'no-such-endpoint' };
    expect(await service.submit(other, input, signal)).toMatchObject({
      failure: { kind: 'endpoint-unknown' },
    });
    expect(await service.status({ endpoint: other, jobId: 'any' }, signal)).toMatchObject({
      kind: 'missing',
    });
    expect(await service.cancel({ endpoint: other, jobId: 'any' }, signal)).toMatchObject({
      kind: 'unsupported',
    });
    expect(await service.health(other, signal)).toMatchObject({ kind: 'unknown' });
  });

  it('with more than the service takes is refused in its words (skipped if a service has no bound)', async ({
    skip,
  }) => {
    const { service, endpoint, withWrongKey } = await open('picture');
    if (withWrongKey === undefined) return skip();
    const reply = await service.submit(endpoint, { scene: 'x'.repeat(11 * 1024 * 1024) }, signal);
    expect(reply).toMatchObject({
      failure: { kind: 'input-refused', text: expect.stringContaining('exceeded max body size') as string },
    });
  });
}

async function submit({ service, endpoint, dialect = jobs }: World): Promise<string> {
  const reply = await service.submit(endpoint, dialect.input, signal);
  expect(reply).toEqual({
    kind: 'accepted',
    jobId: expect.stringMatching(jobIdPattern) as string,
    status: dialect.words.waiting,
  });
  return reply.kind === 'accepted' ? reply.jobId : '';
}
