/**
 * Promise: any sequence of operations on a checkpoint makes only moves of the state tables, and its counts
 * match its rows.
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { SqliteCheckpoint } from '../../../src/runner/checkpoint/sqlite-checkpoint.ts';
import {
  type Attempt,
  attemptMoves,
  type AttemptState,
  type NextScene,
  type Settlement,
} from '../../../src/runner/core/attempt.ts';
import type { FailureKind } from '../../../src/runner/core/failure.ts';
import { sceneMoves, type SceneState } from '../../../src/runner/core/scene.ts';
import { CrashMarkersInMemory } from '../../fakes/in-hand-in-memory.ts';
import { endpoint, manifestOf, unstopped, World } from '../../fakes/world.ts';
import { runs } from '../../fakes/tier.ts';

type Step =
  | { do: 'list'; rows: [string, string][] }
  | { do: 'claim'; max: number }
  | { do: 'submit'; which: number; job: number }
  | { do: 'settle'; which: number; state: Settlement['state']; next: NextScene['state'] }
  | { do: 'recover' };

const which = fc.nat(30);
const row = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom('sea', 'hills'));
const rows = fc.uniqueArray(row, { selector: ([id]) => id, minLength: 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant('list' as const), rows }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('claim' as const), max: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('submit' as const), which, job: fc.nat(40) }) },
  { weight: 5, arbitrary: settleStep() },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('recover' as const) }) },
);

test('after any steps of a checkpoint, its states follow the tables and its counts match its rows', async () => {
  await fc.assert(
    fc.asyncProperty(rows, fc.array(step, { maxLength: 60, size: 'max' }), async (first, steps) => {
      const walk = new Walk();
      await walk.take({ do: 'list', rows: first });
      for (const each of steps) await walk.take(each);
    }),
    { numRuns: runs(40, { ms: 40 }) },
  );
});

/** Random settlements as the pipeline makes them. Saved scenes have pictures, and all others wait or fail. */
function settleStep(): fc.Arbitrary<Step> {
  const states: Settlement['state'][] = ['unanswered', 'refused', 'saved', 'failed', 'expired'];
  return fc
    .tuple(which, fc.constantFrom(...states), fc.constantFrom('waiting' as const, 'failed' as const))
    .map(([nth, state, next]) => ({
      do: 'settle',
      which: nth,
      state,
      next: state === 'saved' ? 'saved' : next,
    }));
}

class Walk {
  readonly #world = new World();
  readonly #checkpoint = checkpointOf(this.#world);
  readonly #attempts: Attempt[] = [];
  #at = 1;

  /**
   * Takes the step if the state table allows it. Otherwise expects that it is refused and changes nothing.
   */
  async take(taken: Step): Promise<void> {
    this.#at += 1;
    const before = this.#states();
    const isLegal = this.#isLegal(taken);
    const done = this.#perform(taken);
    if (isLegal) await done;
    else await expect(done).rejects.toThrow('cannot move from');
    const after = this.#states();
    if (!isLegal) expect(after).toEqual(before);
    expectLegal(before.scenes, after.scenes, sceneMoves, ['waiting'], ['waiting', 'withdrawn']);
    expectLegal(before.attempts, after.attempts, attemptMoves, ['intended'], []);
    await this.#expectSound();
  }

  #isLegal(taken: Step): boolean {
    if (taken.do !== 'submit' && taken.do !== 'settle') return true;
    const attempt = this.#attempt(taken.which);
    if (attempt === undefined) return true;
    const from = this.#states().attempts.get(String(attempt.key)) as AttemptState;
    const to: AttemptState = taken.do === 'submit' ? 'submitted' : taken.state;
    return (attemptMoves[from] as readonly AttemptState[]).includes(to);
  }

  async #perform(taken: Step): Promise<unknown> {
    if (taken.do === 'list') return this.#checkpoint.reconcile(manifestOf(taken.rows), unstopped);
    if (taken.do === 'recover') return this.#recover();
    if (taken.do === 'claim') {
      const claimed = await this.#checkpoint.claim(taken.max, endpoint, this.#at);
      return this.#attempts.push(...claimed);
    }
    const attempt = this.#attempt(taken.which);
    if (attempt === undefined) return undefined;
    if (taken.do === 'settle') return this.#checkpoint.settle(attempt, this.#settlement(attempt, taken));
    const job = { jobId: `job-${taken.job}`, status: 'IN_QUEUE', at: this.#at };
    return this.#checkpoint.recordSubmitted(attempt, job);
  }

  /** Recovers open attempts, as the start of a run does. */
  async #recover(): Promise<void> {
    const failure = { kind: 'unanswered', text: 'died' } as const;
    const scene = { state: 'waiting', dueAt: this.#at } as const;
    for (const attempt of await this.#checkpoint.recover())
      await this.#checkpoint.settle(attempt, { state: 'unanswered', at: this.#at, failure, scene });
  }

  #attempt(nth: number): Attempt | undefined {
    return this.#attempts.at(-1 - (nth % Math.max(1, this.#attempts.length)));
  }

  #settlement(attempt: Attempt, { state, next }: Step & { do: 'settle' }): Settlement {
    if (state === 'saved') {
      const picture = { file: `${attempt.key}.png`, width: 1, height: 1, bytes: 9, sha256: 'ab' };
      return { state, at: this.#at, pictures: [picture], scene: { state: 'saved' } };
    }
    const kind: FailureKind =
      state === 'refused' ? 'input-refused' : state === 'failed' ? 'job-failed' : state;
    const failure = { kind, text: 'as it goes' };
    const scene: NextScene =
      next === 'failed' ? { state: next, failure } : { state: 'waiting', dueAt: this.#at };
    return { state, at: this.#at, failure, scene };
  }

  #states(): { scenes: Map<string, string>; attempts: Map<string, string> } {
    const mapOf = (sql: string): Map<string, string> =>
      new Map(this.#world.rows<{ name: string; state: string }>(sql).map(({ name, state }) => [name, state]));
    return {
      scenes: mapOf("SELECT id || ' ' || fingerprint AS name, state FROM scenes"),
      attempts: mapOf('SELECT CAST(attempt AS TEXT) AS name, state FROM attempts'),
    };
  }

  async #expectSound(): Promise<void> {
    const tally: Record<string, number> = { invalid: 0 };
    for (const state of Object.keys(sceneMoves)) if (state !== 'unneeded') tally[state] = 0;
    for (const state of this.#states().scenes.values()) tally[state] = (tally[state] ?? 0) + 1;
    expect(await this.#checkpoint.counts()).toMatchObject(tally);
    for (const [rule, sql] of Object.entries(never)) expect(this.#world.rows(sql), rule).toEqual([]);
    const open = await this.#checkpoint.openAttempts();
    const submitted = this.#world.rows("SELECT 1 FROM attempts WHERE state = 'submitted'");
    expect(open).toHaveLength(submitted.length);
  }
}

const openAttempts =
  "SELECT count(*) FROM attempts a WHERE a.scene = s.scene AND a.state IN ('intended', 'submitted')";
const savedAttempts = "SELECT count(*) FROM attempts a WHERE a.scene = s.scene AND a.state = 'saved'";

/** Queries that must never return a row. */
const never = {
  'an attempt of no scene': 'SELECT 1 FROM attempts WHERE scene NOT IN (SELECT scene FROM scenes)',
  'a scene that is withdrawn, and was never sent':
    "SELECT 1 FROM scenes WHERE state = 'withdrawn' AND scene NOT IN (SELECT scene FROM attempts)",
  'two attempts of a scene are open': `SELECT id FROM scenes s WHERE (${openAttempts}) > 1`,
  'a scene is active without an open attempt': `SELECT id FROM scenes s WHERE state = 'active' AND (${openAttempts}) = 0`,
  'an open attempt of a scene that is neither active nor withdrawn': `SELECT id FROM scenes s WHERE state NOT IN ('active', 'withdrawn') AND (${openAttempts}) > 0`,
  'a scene is saved without a saved attempt': `SELECT id FROM scenes s WHERE state = 'saved' AND (${savedAttempts}) = 0`,
  'a scene waits or has failed though it was saved': `SELECT id FROM scenes s WHERE state IN ('waiting', 'failed') AND (${savedAttempts}) > 0`,
  'a scene has failed without saying why':
    "SELECT id FROM scenes WHERE state = 'failed' AND failure_kind IS NULL",
  'a withdrawn scene has a place in the list':
    "SELECT id FROM scenes WHERE state = 'withdrawn' AND position IS NOT NULL",
  'a listed scene has no place in the list':
    "SELECT id FROM scenes WHERE state <> 'withdrawn' AND position IS NULL",
  'two listed scenes have one id':
    "SELECT id FROM scenes WHERE state <> 'withdrawn' GROUP BY id HAVING count(*) > 1",
  'attempts are miscounted':
    'SELECT id FROM scenes s WHERE attempts <> (SELECT count(*) FROM attempts a WHERE a.scene = s.scene)',
  'one job belongs to two attempts':
    'SELECT job_id FROM attempts WHERE job_id IS NOT NULL GROUP BY job_id HAVING count(*) > 1',
  'an attempt is in flight without a job':
    "SELECT attempt FROM attempts WHERE state = 'submitted' AND job_id IS NULL",
};

function expectLegal(
  before: Map<string, string>,
  after: Map<string, string>,
  moves: Record<SceneState, readonly string[]> | Record<AttemptState, readonly string[]>,
  firsts: string[],
  lasts: string[],
): void {
  const table: Record<string, readonly string[]> = moves;
  for (const [name, to] of after) {
    const from = before.get(name);
    if (from === undefined) expect(firsts, `${name} begins`).toContain(to);
    else if (from !== to) expect(table[from], `${name} moves from ${from} to ${to}`).toContain(to);
  }
  for (const [name, from] of before) if (!after.has(name)) expect(lasts, `${name} is gone`).toContain(from);
}

function checkpointOf(world: World): SqliteCheckpoint {
  const run = world.db.prepare(
    "INSERT INTO runs (pid, host, program, started_at) VALUES (1, 'here', 'test', 0)",
  );
  return new SqliteCheckpoint(world.db, Number(run.run().lastInsertRowid), new CrashMarkersInMemory());
}
