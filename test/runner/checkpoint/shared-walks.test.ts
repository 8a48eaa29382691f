/**
 * Promise: several runners share a batch, some die or are taken for dead, and the database's answers to their
 * writes get lost or the writes arrive late. No scene is submitted twice, none is lost, and no runner fails.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { PostgresFailure } from '../../../src/lib/postgres/postgres.ts';
import {
  findSharedBatch,
  joinBatch,
  type JoinedBatch,
  type SharedBatch,
} from '../../../src/runner/checkpoint/postgres/shared-batch.ts';
import type { Attempt, Submitted } from '../../../src/runner/core/attempt.ts';
import { FatalFailure, type Failure } from '../../../src/runner/core/failure.ts';
import type { TakenOver } from '../../../src/runner/pipeline/ports.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../engines/postgres.ts';
import { random, runs } from '../../fakes/tier.ts';
import { endpoint, manifestOf, plainBatch, unstopped } from '../../fakes/world.ts';

const scenes = 12;
const leaseMs = 600_000;
const runners = 3;
const steps = 40;
const unanswered: Failure = { kind: 'unanswered', text: 'its runner died' };

let server: PostgresServer;
const rounds = Array.from({ length: runs(8, { ms: 4_000 }) }, (_, i) => i + 1);

describe.skipIf(noPostgres !== undefined)(
  `in PostgreSQL${noPostgres ? ` (skipped: ${noPostgres})` : ''}`,
  () => {
    beforeAll(async () => {
      server = await startPostgres('fsync=off', 'jit=off');
    });
    afterAll(() => server.stop());

    it.each(rounds)(
      'each scene is submitted once at most, in any order of events: round %i',
      async (round) => {
        const walk = new Walk(`walk ${round}`);
        await walk.join();
        for (let step = 0; step < steps; step++) await walk.step();
        await walk.finish();
      },
    );
  },
);

/** A runner as its pipeline uses the checkpoint. */
interface Runner {
  run: number;
  shared: SharedBatch;
  joined: JoinedBatch;
  intended: Attempt[];
  submitted: Attempt[];
  takenOver: TakenOver[];
}

class Walk {
  readonly #batch: string;
  readonly #runners: Runner[] = [];
  /** Ids of the scenes that were sent. */
  readonly #sent: string[] = [];
  /** Writes that the network still holds. */
  readonly #late: (() => Promise<unknown>)[] = [];
  #elapsed = 0;
  #isLossy = true;

  constructor(batch: string) {
    this.#batch = batch;
  }

  async join(): Promise<void> {
    const dir = mkdtempSync(join(tmpdir(), 'nightrender-walk-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const url = `${server.url}?lease=${leaseMs / 1000}&batch=${encodeURIComponent(this.#batch)}`;
    const shared = await findSharedBatch(url, dir, true);
    if (shared === undefined) throw new Error('the batch was to be created');
    this.#loseAnswers(shared);
    const joined = await joinBatch(shared, {
      program: 'test',
      batch: plainBatch,
      limits: {},
      pricing: undefined,
      clock: { now: () => Date.now(), elapsed: () => this.#elapsed },
    });
    const over = new AbortController();
    onTestFinished(async () => {
      over.abort();
      await joined.close();
    });
    const [row] = await shared.db.query<{ run: number }>(`SELECT max(run) AS run FROM ${shared.schema}.runs`);
    const runner: Runner = { run: row?.run ?? 0, shared, joined, intended: [], submitted: [], takenOver: [] };
    const { checkpoint } = joined;
    const list = Array.from({ length: scenes }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]);
    await checkpoint.reconcile(manifestOf(list), unstopped);
    this.#runners.push(runner);
    await this.#orGone(runner, async () => {
      for (const attempt of await checkpoint.recover()) await this.#giveUp(runner, attempt);
      runner.submitted.push(...(await checkpoint.openAttempts()));
    });
    void this.#takeOver(runner, over.signal);
  }

  async step(): Promise<void> {
    // Time passes, so that a runner that missed an answer may claim again.
    this.#elapsed += leaseMs + 1;
    const runner = this.#runners[random(this.#runners.length)];
    if (runner === undefined || (this.#runners.length < runners && random(8) === 0)) return this.join();
    const acts = [
      () => this.#claim(runner),
      () => this.#claim(runner),
      () => this.#submit(runner),
      () => this.#settle(runner),
      () => runner.joined.lease.renew(),
      () => this.#takeUp(runner),
      () => this.#arrive(),
    ];
    if (random(6) === 0) return this.#kill(runner, random(2) === 0);
    await this.#orGone(runner, acts[random(acts.length)] ?? acts[0] ?? (() => this.#arrive()));
  }

  /** Lets one runner finish the batch, and checks the records. */
  async finish(): Promise<void> {
    for (const runner of this.#runners.slice()) await this.#kill(runner, true);
    while (this.#late.length > 0) await this.#arrive();
    this.#isLossy = false;
    await this.join();
    const [last] = this.#runners;
    if (last === undefined) throw new Error('a runner has joined');
    for (let turn = 0; turn < scenes; turn++) {
      await this.#claim(last);
      while (last.intended.length > 0) await this.#submit(last);
      while (last.submitted.length > 0) await this.#settle(last);
    }
    const { saved, failed } = await last.joined.checkpoint.counts();
    expect(saved + failed).toBe(scenes);
    const { db, schema } = last.shared;
    const [{ open, jobs } = { open: 0, jobs: 0 }] = await db.query<{ open: number; jobs: number }>(
      `SELECT count(*) FILTER (WHERE state IN ('intended', 'submitted')) AS open, count(DISTINCT job_id) AS jobs FROM ${schema}.attempts`,
    );
    expect(open).toBe(0);
    expect(jobs).toBeLessThanOrEqual(this.#sent.length);
    expect(jobs).toBeGreaterThanOrEqual(saved);
  }

  async #claim({ joined, intended }: Runner): Promise<void> {
    intended.push(...(await joined.checkpoint.claim(1 + random(3), endpoint, 10)));
  }

  async #submit(runner: Runner): Promise<void> {
    const [attempt] = runner.intended.splice(random(runner.intended.length), 1);
    if (attempt === undefined) return;
    expect(this.#sent, `${attempt.sceneId} is sent`).not.toContain(attempt.sceneId);
    this.#sent.push(attempt.sceneId);
    const job = { jobId: `job of ${attempt.sceneId}`, status: 'IN_QUEUE', at: 20 };
    expect(await runner.joined.checkpoint.recordSubmitted(attempt, job)).toBe('recorded');
    runner.submitted.push(attempt);
  }

  async #settle({ joined: { checkpoint }, submitted }: Runner): Promise<void> {
    const attempt = submitted[random(submitted.length)];
    if (attempt === undefined) return;
    const file = `${attempt.sceneId}.png`;
    const pictures = [{ file, width: 1, height: 1, bytes: 9, sha256: file }];
    const settlement = { state: 'saved' as const, at: 30, pictures, scene: { state: 'saved' as const } };
    expect(await checkpoint.beginWriting(attempt, settlement)).toBe(true);
    if (random(3) === 0) return checkpoint.dropWriting(attempt);
    await checkpoint.settle(attempt, settlement);
    submitted.splice(submitted.indexOf(attempt), 1);
  }

  /** Takes up what the lease has taken over from others. */
  async #takeUp(runner: Runner): Promise<void> {
    for (const left of runner.takenOver.splice(0)) {
      for (const { attempt } of left.writing) await runner.joined.checkpoint.dropWriting(attempt);
      for (const attempt of left.intended) await this.#giveUp(runner, attempt);
      const open: Submitted[] = await left.submitted();
      runner.submitted.push(...open);
    }
  }

  /** Settles an attempt that may have been sent. Its scene is not sent again, as with `retry: {unanswered: hold}`. */
  async #giveUp({ joined }: Runner, attempt: Attempt): Promise<void> {
    await joined.checkpoint.settle(attempt, {
      state: 'unanswered',
      at: 40,
      failure: unanswered,
      scene: { state: 'failed', failure: unanswered },
    });
  }

  /** The lease of a runner is over. A suspended runner goes on later, a dead one does not. */
  async #kill(runner: Runner, isDead: boolean): Promise<void> {
    const { db, schema } = runner.shared;
    await db.query(`UPDATE ${schema}.runners SET lease_until = now() - interval '1 minute' WHERE run = $1`, [
      runner.run,
    ]);
    if (isDead) this.#remove(runner);
  }

  #remove(runner: Runner): void {
    this.#runners.splice(this.#runners.indexOf(runner), 1);
  }

  /** Lets one late write arrive. */
  async #arrive(): Promise<void> {
    const [write] = this.#late.splice(random(this.#late.length), 1);
    await write?.();
  }

  /** Does `work` unless others have taken over what the runner had, which ends it. */
  async #orGone(runner: Runner, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof FatalFailure)) throw error;
      this.#remove(runner);
    }
  }

  async #takeOver({ joined, takenOver }: Runner, signal: AbortSignal): Promise<void> {
    for (;;) {
      const left = await joined.checkpoint.others.takeOver(signal);
      if (left === undefined) return;
      takenOver.push(left);
    }
  }

  /** Loses the answers to some groups of writes. Some of these arrive only after others, or twice. */
  #loseAnswers({ db }: SharedBatch): void {
    const query = db.query.bind(db);
    db.query = async (text, values) => {
      if (!this.#isLossy || !text.includes('write_group(') || random(3) > 0) return query(text, values);
      const isLate = random(2) === 0;
      if (isLate || random(2) === 0) this.#late.push(() => query(text, values));
      if (!isLate) await query(text, values);
      throw new PostgresFailure('gone', 'the connection was lost', undefined);
    };
  }
}
