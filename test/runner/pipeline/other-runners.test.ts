/**
 * Promise: jobs of a runner that crashed are taken over by the other runners of the batch, and all runners
 * share its limits.
 */
import { expect, it } from 'vitest';
import { SqliteCheckpoint } from '../../../src/runner/checkpoint/sqlite-checkpoint.ts';
import type { Attempt, Submitted } from '../../../src/runner/core/attempt.ts';
import { provenanceOf } from '../../../src/runner/core/provenance.ts';
import type { OtherRunners, Ports, TakenOver } from '../../../src/runner/pipeline/ports.ts';
import { savedSettlement } from '../../../src/runner/pipeline/settle.ts';
import { CrashMarkersInMemory } from '../../fakes/in-hand-in-memory.ts';
import { endpoint, manifestOf, World } from '../../fakes/world.ts';

const list = manifestOf(Array.from({ length: 9 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));

/** A batch with a second runner, which crashes soon after the run has begun. */
class WorldOfTwo extends World {
  /** Runs the second runner until it crashes. Returns the attempts that it leaves. */
  left: (other: OtherRunner) => Promise<TakenOver>;
  shared: Parameters<OtherRunners['listen']>[0] | undefined;

  constructor(left: (other: OtherRunner) => Promise<TakenOver>) {
    super();
    this.left = left;
    this.service.knowsKeysMs = 30 * 60_000;
  }

  protected override openCheckpoint(): Pick<Ports, 'checkpoint' | 'file' | 'others'> {
    let isDead = false;
    const takeOver = async (signal: AbortSignal): Promise<TakenOver | undefined> => {
      if (!isDead) {
        isDead = true;
        return this.left(new OtherRunner(this));
      }
      await this.clock.sleep(Infinity, signal);
      return undefined;
    };
    const others: OtherRunners = {
      takeOver,
      listen: (listener) => (this.shared = listener),
    };
    return { ...super.openCheckpoint(), others };
  }
}

class OtherRunner {
  readonly #world: World;
  readonly checkpoint: SqliteCheckpoint;

  constructor(world: World) {
    this.#world = world;
    const { lastInsertRowid: run } = world.db
      .prepare(
        "INSERT INTO runs (pid, host, program, started_at, idempotency_key) VALUES (2, 'there', 'test', 0, 'other')",
      )
      .run();
    this.checkpoint = new SqliteCheckpoint(world.db, Number(run), new CrashMarkersInMemory());
  }

  claim(count: number): Promise<Attempt[]> {
    return this.checkpoint.claim(count, endpoint, this.#world.clock.now());
  }

  /**
   * Submits the attempt and records its job id, unless the answer is lost. Returns the attempt with its job
   * id.
   */
  async send(attempt: Attempt | undefined, isAnswerLost = false): Promise<Submitted> {
    if (attempt === undefined) throw new Error('there was nothing to claim');
    const { service, clock } = this.#world;
    const reply = await service.submit(endpoint, attempt.input, undefined, attempt.idempotency?.key);
    if (reply.kind !== 'accepted') throw new Error('it was not accepted');
    const { jobId, status } = reply;
    const job = { jobId, status, at: clock.now() };
    if (!isAnswerLost) await this.checkpoint.recordSubmitted(attempt, job);
    return { ...attempt, job: { endpoint, jobId, submittedAt: job.at } };
  }

  /** Writes the picture into the folder without settling the scene. */
  async write(attempt: Submitted): Promise<void> {
    const { images, clock } = this.#world;
    const found = { bytes: Buffer.from(`picture of ${attempt.job.jobId}`) };
    const picture = await images.check(found, provenanceOf(attempt, 0, {}));
    if ('kind' in picture) throw new Error('it is whole');
    const { sha256, width, height, content } = picture;
    const file = `${attempt.sceneId}.png`;
    await images.write(picture, file);
    const saved = { file, width, height, bytes: content.length, sha256 };
    await this.checkpoint.beginWriting(attempt, savedSettlement([saved], {}, clock.now()));
  }
}

const statesOf = (world: World): unknown =>
  Object.fromEntries(
    world
      .rows<{ id: string; state: string }>('SELECT id, state FROM scenes ORDER BY id')
      .map(({ id, state }) => [id, state]),
  );

it('each job is continued where a dead runner left it, and none is paid twice', async () => {
  const world = new WorldOfTwo(async (other) => {
    const [running, lost, written, deadly, keyless, gone] = await other.claim(6);
    const inFlight = [await other.send(running), await other.send(deadly)];
    await other.send(lost, true);
    await other.write(await other.send(written));
    const intended = [lost, keyless, gone].flatMap((one) => one ?? []);
    return {
      writing: await other.checkpoint.unfinishedWriting(),
      intended: intended.map(({ idempotency, ...attempt }) => ({
        ...attempt,
        ...(attempt.key !== keyless?.key && idempotency && { idempotency }),
        isWithdrawn: attempt.key === gone?.key,
      })),
      submitted: async () => inFlight.map((one) => ({ ...one, crashes: one.key === deadly?.key ? 3 : 0 })),
    };
  });
  const result = await world.run({ manifest: list });
  expect(result).toMatchObject({
    ending: { kind: 'incomplete' },
    counts: { saved: 8, failed: 1, active: 0 },
  });
  expect(statesOf(world)).toMatchObject({ s0: 'saved', s3: 'failed' });
  expect(world.rows("SELECT failure_kind FROM scenes WHERE id = 's3'")).toEqual([
    { failure_kind: 'quarantined' },
  ]);
  for (const { scene } of world.service.jobs) expect(world.service.submissionsOf(scene), scene).toBe(1);
  expect(world.service.jobs).toHaveLength(9);
  expect(world.events).toContainEqual({ type: 'recovered', unanswered: 2, inFlight: 2 });
  expect(result?.stats.jobs).toMatchObject({ resumed: 1 });
  const polled = new Set(world.service.log.filter((line) => line.startsWith('status')));
  expect(polled, 'all but what was written or is deadly').toHaveLength(7);
});

it('counts the spending of the others', async () => {
  const world = new WorldOfTwo(async (other) => {
    const claimed = await other.claim(3);
    const inFlight = await Promise.all(claimed.map((attempt) => other.send(attempt)));
    return { writing: [], intended: [], submitted: async () => inFlight };
  });
  const result = await world.run({ manifest: list, settings: { concurrency: 1, limits: { jobs: 5 } } });
  expect(result?.ending.kind).toBe('limit-reached');
  expect(world.service.jobs).toHaveLength(5);
  expect(result?.counts).toMatchObject({ saved: 5, waiting: 4, active: 0 });
});

it('leaves the scenes that others leave once it is asked to finish', async () => {
  const world = new WorldOfTwo(async () => ({ writing: [], intended: [], submitted: async () => [] }));
  const result = await world.run({
    manifest: list,
    onEvent: ({ type }, stop) => {
      if (type === 'scene-saved') stop.request('drain', { kind: 'interrupted', text: '' });
    },
  });
  expect(result?.ending.kind).toBe('interrupted');
  expect(world.clock.sleeping).toBe(0);
});

it('sends its share of the rate, however many they are', async () => {
  const lasts = async (told: (shared: NonNullable<WorldOfTwo['shared']>) => void): Promise<number> => {
    const world = new WorldOfTwo(() => new Promise(() => undefined));
    const rate = { submit: { atOnce: 4, perTenSeconds: 10 }, status: { atOnce: 400, perTenSeconds: 2_000 } };
    await world.run({
      manifest: list,
      settings: { concurrency: 9, rate },
      onEvent: ({ type }) => {
        if (type === 'scene-submitted' && world.service.jobs.length === 1 && world.shared) told(world.shared);
      },
    });
    const sent = world.service.jobs.map(({ submittedAt }) => submittedAt);
    return Math.max(...sent) - Math.min(...sent);
  };
  const alone = await lasts(() => undefined);
  const [ofTwo, ofFour] = [
    await lasts(({ onCount }) => onCount(2)),
    await lasts(({ onCount }) => onCount(4)),
  ];
  expect(ofTwo).toBeGreaterThan(1.5 * alone);
  expect(ofFour).toBeGreaterThan(1.5 * ofTwo);
  const left = await lasts(({ onCount }) => (onCount(4), onCount(1)));
  expect(left).toBeLessThan(1.1 * alone);
});

it('a run ends with the bug if the others cannot be listened to', async () => {
  const world = new WorldOfTwo(async () => {
    throw new TypeError('a bug');
  });
  await expect(world.run({ manifest: list })).rejects.toThrow('a bug');
  expect(world.service.jobs.length, 'and sends nothing more').toBeLessThan(9);
});
