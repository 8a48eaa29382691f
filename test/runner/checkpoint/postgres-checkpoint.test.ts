/** Runs the checkpoint contract on a real PostgreSQL, and tests what applies only to several runners. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { PostgresFailure } from '../../../src/lib/postgres/postgres.ts';
import { openForWriting } from '../../../src/lib/sqlite/database.ts';
import { checkpointSchema } from '../../../src/runner/checkpoint/checkpoint-schema.ts';
import {
  findSharedBatch,
  joinBatch,
  type JoinedBatch,
  type Joining,
  type SharedBatch,
} from '../../../src/runner/checkpoint/postgres/shared-batch.ts';
import { adoptDead, Lease, type Write } from '../../../src/runner/checkpoint/postgres/lease.ts';
import { Recall } from '../../../src/runner/checkpoint/postgres/recall.ts';
import { writeGroup } from '../../../src/runner/checkpoint/postgres/write-group.ts';
import type { AdoptedScene } from '../../../src/runner/core/provenance.ts';
import type { Attempt, SavedSettlement } from '../../../src/runner/core/attempt.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../engines/postgres.ts';
import { endpoint, manifestOf, plainBatch, unstopped } from '../../fakes/world.ts';
import { checkpointContract } from './checkpoint.contract.ts';

let server: PostgresServer;
let batches = 0;

describe.skipIf(noPostgres !== undefined)(
  `in PostgreSQL${noPostgres ? ` (skipped: ${noPostgres})` : ''}`,
  () => {
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    checkpointContract(async () => {
      const folder = newFolder();
      const batch = `contract ${(batches += 1)}`;
      const pricing = { perPicture: 0.003, currency: 'USD' };
      const open = async () => (await joinNow(folder, batch, { pricing })).joined.checkpoint;
      return {
        checkpoint: await open(),
        reopen: async () => {
          await expireAll(folder, batch);
          return open();
        },
      };
    });

    const abcRows: [string, string][] = [
      ['a', 'sea'],
      ['b', 'hills'],
      ['c', 'moon'],
    ];
    const abc = manifestOf(abcRows);
    const two = async (more: Partial<Joining> = {}): Promise<[Runner, Runner]> => {
      const [folder, batch] = [newFolder(), `two ${(batches += 1)}`];
      const first = await joinNow(folder, batch, more);
      await first.joined.checkpoint.reconcile(abc, unstopped);
      return [first, await joinNow(newFolder(), batch, more)];
    };
    const job = (jobId: string) => ({ jobId, status: 'IN_QUEUE', at: 20 });
    const saved = (file: string): SavedSettlement => ({
      state: 'saved',
      at: 30,
      pictures: [{ file, width: 1, height: 1, bytes: 9, sha256: file }],
      scene: { state: 'saved' },
    });

    it('gives each scene to one runner alone', async () => {
      const runners = await two();
      const claimed = await Promise.all(
        [...runners, ...runners].map(({ joined }) => joined.checkpoint.claim(1, endpoint, 10)),
      );
      const ids = claimed.flat().map(({ sceneId }) => sceneId);
      expect(new Set(ids)).toEqual(new Set(['a', 'b', 'c']));
      expect(ids).toHaveLength(3);
    });

    it('gives the next seed to any runner once the one before it fell short, and to none if one is good', async () => {
      const values = [{ name: 'score', at: ['score'] }];
      const seeds = manifestOf(
        ['a', 'b'].flatMap((row) => [1, 2, 3].map((n): [string, string] => [`${row}-s${n}`, `${row} ${n}`])),
      );
      const [first, second] = await two({ batch: { ...plainBatch, values, until: 'score >= 0.6' } });
      for (const { joined } of [first, second])
        expect(await joined.checkpoint.reconcile(seeds, unstopped)).toMatchObject({ heldSeeds: 4 });
      const claim = async ({ joined }: Runner) =>
        (await joined.checkpoint.claim(9, endpoint, 50)).map((attempt) => ({ joined, attempt }));
      const save = async ({ joined, attempt }: Awaited<ReturnType<typeof claim>>[number], score: number) => {
        const { sceneId } = attempt;
        await joined.checkpoint.recordSubmitted(attempt, job(sceneId));
        const [picture] = saved(`${sceneId}.png`).pictures;
        if (picture === undefined) throw new Error('there is one');
        const pictures = [{ ...picture, output: { rest: { score } } }];
        await joined.checkpoint.settle(attempt, { ...saved(''), pictures });
      };
      const [a1, b1] = await claim(first);
      if (a1 === undefined || b1 === undefined) throw new Error('two were claimed');
      expect(await claim(second)).toEqual([]);
      await Promise.all([save(a1, 0.5), save(b1, 0.7)]);
      const [a2, ...more] = await claim(second);
      expect([a2?.attempt.sceneId, ...more]).toEqual(['a-s2']);
      if (a2 === undefined) throw new Error('one was claimed');
      await save(a2, 0.6);
      expect(await claim(first)).toEqual([]);
      expect(await first.joined.checkpoint.counts()).toMatchObject({ saved: 3, waiting: 0, unneeded: 3 });
      // A runner that joins later finds the same state.
      expect(await second.joined.checkpoint.reconcile(seeds, unstopped)).not.toHaveProperty('heldSeeds');
      expect(await claim(second)).toEqual([]);
    });

    it('chooses a part while another process of the machine writes to the copy', async () => {
      const { joined, shared } = await alone();
      await joined.checkpoint.reconcile(abc, unstopped);
      const { replica } = shared;
      const other = openForWriting(join(replica.dir, 'checkpoint.sqlite'), checkpointSchema);
      onTestFinished(() => void other.close());
      const pull = replica.pull.bind(replica);
      let pulls = 0;
      replica.pull = async () => {
        await pull();
        if (++pulls === 2) other.exec('BEGIN IMMEDIATE');
      };
      const exec = replica.db.exec.bind(replica.db);
      let refused = 0;
      replica.db.exec = (text) => {
        try {
          return exec(text);
        } catch (error) {
          if (++refused === 1) other.exec('COMMIT');
          throw error;
        }
      };
      expect(await joined.checkpoint.reconcile(abc, unstopped, { limit: 2 })).toMatchObject({ unchanged: 3 });
      expect(refused).toBe(1);
      expect(await joined.checkpoint.claim(9, endpoint, 10)).toHaveLength(2);
    });

    it('compares a list beside a runner that is writing, and neither has to give way', async () => {
      const [first, second] = await two();
      const { db, schema } = first.shared;
      let comparing: Promise<unknown> = Promise.resolve();
      await db.transaction(async (session) => {
        await session.query(`SELECT ${schema}.next_version()`);
        comparing = second.joined.checkpoint.reconcile(manifestOf([...abcRows, ['d', 'fog']]), unstopped);
        // The comparison waits for the writer, and holds no lock that the writer needs.
        await vi.waitFor(async () => {
          const locks = await db.query("SELECT granted FROM pg_locks WHERE mode = 'ShareRowExclusiveLock'");
          expect(locks).toEqual([{ granted: false }]);
        }, 20_000);
        await session.query(`UPDATE ${schema}.scenes SET position = position`);
      });
      await expect(comparing).resolves.toMatchObject({ added: 1 });
    });

    it('has one budget over all runners', async () => {
      const [first, second] = await two({ limits: { jobs: 2 } });
      expect(await first.joined.checkpoint.claim(1, endpoint, 10)).toHaveLength(1);
      expect(await second.joined.checkpoint.claim(3, endpoint, 10)).toHaveLength(1);
      expect(await first.joined.checkpoint.claim(3, endpoint, 10)).toEqual([]);
      expect(await first.joined.checkpoint.spending()).toMatchObject({ jobs: 2 });
    });

    it('gives a name to one scene alone', async () => {
      const [first, second] = await two();
      const [a] = await first.joined.checkpoint.claim(1, endpoint, 10);
      const [b] = await second.joined.checkpoint.claim(1, endpoint, 10);
      if (a === undefined || b === undefined) throw new Error('two were claimed');
      await first.joined.checkpoint.recordSubmitted(a, job('1'));
      await second.joined.checkpoint.recordSubmitted(b, job('2'));
      const begun = [
        await first.joined.checkpoint.beginWriting(a, saved('Sea.png')),
        await second.joined.checkpoint.beginWriting(b, saved('sea.PNG')),
      ];
      expect(begun).toEqual([true, false]);
      expect(await second.joined.checkpoint.ownerOf('sea.png')).toMatchObject({ sceneId: 'a' });
    });

    it('finds the owners of many names in one statement, without writing', async () => {
      const { joined, shared } = await alone();
      const version = (): Promise<unknown> =>
        shared.db.query(`SELECT version FROM ${shared.schema}.account`).then(([row]) => row?.['version']);
      const before = await version();
      const asked = vi.spyOn(shared.db, 'query');
      const owners = Array.from({ length: 50 }, (_, i) => joined.checkpoint.ownerOf(`${i}.png`));
      expect(new Set(await Promise.all(owners))).toEqual(new Set([undefined]));
      expect(asked).toHaveBeenCalledTimes(1);
      expect(await version()).toBe(before);
    });

    it('gives the jobs of a dead runner to another, and counts no later write of the dead one', async () => {
      const [first, second] = await two();
      const lost: string[] = [];
      first.joined.lease.on({ onLost: (failure) => lost.push(failure.message) });
      const [a, b] = await first.joined.checkpoint.claim(2, endpoint, 10);
      if (a === undefined || b === undefined) throw new Error('two were claimed');
      await first.joined.checkpoint.recordSubmitted(a, job('1'));
      await expire(first);
      const taking = second.joined.checkpoint.others.takeOver(unstopped);
      await second.joined.lease.renew();
      const left = await taking;
      expect(left?.intended).toMatchObject([{ sceneId: 'b', crashes: 1 }]);
      expect(await left?.submitted()).toMatchObject([{ sceneId: 'a', job: { jobId: '1' } }]);
      expect(first.joined.lease.isFresh()).toBe(true);
      await expect(first.joined.checkpoint.settle(a, saved('a.png'))).rejects.toThrow(
        'another run has taken over',
      );
      expect(lost).toEqual([expect.stringContaining('another run has taken over')]);
      expect(first.joined.lease.isFresh()).toBe(false);
      await second.joined.checkpoint.settle(a, saved('a.png'));
      expect(await second.joined.checkpoint.counts()).toMatchObject({ saved: 1, active: 1 });
    });

    it('takes nothing over once it is dead to others itself, so that another one does', async () => {
      const [first, second] = await two();
      const third = await joinNow(newFolder(), nameOf(first));
      const [a] = await first.joined.checkpoint.claim(1, endpoint, 10);
      if (a === undefined) throw new Error('one was claimed');
      await first.joined.checkpoint.recordSubmitted(a, job('1'));
      const { db, schema } = second.shared;
      const taking = second.joined.checkpoint.others.takeOver(unstopped);
      const real = db.transaction.bind(db);
      // The runner is paused for a long time between renewing its lease and its next step.
      vi.spyOn(db, 'transaction').mockImplementationOnce(async (work) => {
        const renewed = await real(work);
        await expire(first);
        await third.shared.db.query(
          `UPDATE ${schema}.runners SET is_dead = true, lease_until = now() WHERE run = (SELECT min(run) + 1 FROM ${schema}.runners)`,
        );
        return renewed;
      });
      await expect(second.joined.lease.renew()).rejects.toThrow('another run has taken over');
      const others = third.joined.checkpoint.others.takeOver(unstopped);
      await third.joined.lease.renew();
      expect(await (await others)?.submitted()).toMatchObject([{ sceneId: 'a', job: { jobId: '1' } }]);
      void taking;
    });

    it('takes over from a runner that is writing without blocking it', async () => {
      const [first, second] = await two();
      const [a] = await first.joined.checkpoint.claim(1, endpoint, 10);
      if (a === undefined) throw new Error('one was claimed');
      await expire(first);
      const { db, schema } = first.shared;
      const taking = second.joined.checkpoint.others.takeOver(unstopped);
      let renewing: Promise<void> | undefined;
      await db.transaction(async (session) => {
        await session.query(`SELECT ${schema}.next_version()`);
        renewing = second.joined.lease.renew();
        await expect
          .poll(() => db.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))
          .toHaveLength(1);
        await session.query(`UPDATE ${schema}.runners SET last_group = last_group + 1 WHERE run = $1`, [
          await runOf(first.shared, 'min'),
        ]);
      });
      await renewing;
      expect((await taking)?.intended).toMatchObject([{ sceneId: 'a' }]);
    });

    it('polls jobs that it took over once, although the answer to the takeover was lost', async () => {
      const [first, second] = await two();
      const [a] = await first.joined.checkpoint.claim(1, endpoint, 10);
      if (a === undefined) throw new Error('one was claimed');
      await first.joined.checkpoint.recordSubmitted(a, job('1'));
      await expire(first);
      const taking = second.joined.checkpoint.others.takeOver(unstopped);
      const { db } = second.shared;
      const transaction = db.transaction.bind(db);
      const losing = vi.spyOn(db, 'transaction');
      // The first transaction renews the lease.
      losing.mockImplementationOnce(transaction).mockImplementationOnce(async (...asked) => {
        await transaction(...asked);
        throw new PostgresFailure('gone', 'the line was cut', undefined);
      });
      await expect(second.joined.lease.renew()).rejects.toThrow('the line was cut');
      await second.joined.lease.renew();
      const left = await taking;
      expect(await left?.submitted()).toMatchObject([{ sceneId: 'a', job: { jobId: '1' } }]);
      losing
        .mockImplementationOnce(transaction)
        .mockRejectedValueOnce(new PostgresFailure('gone', '', undefined));
      await expect(second.joined.lease.renew()).rejects.toThrow();
      await second.joined.lease.renew();
      expect(second.joined.checkpoint.others.isBusy).toBe(true);
      const over = AbortSignal.abort();
      expect(await second.joined.checkpoint.others.takeOver(over)).toBeUndefined();
    });

    it('leaves a runner its jobs that was not heard of for long, while no other has taken them over', async () => {
      const [first] = await two();
      const [a] = await first.joined.checkpoint.claim(1, endpoint, 10);
      if (a === undefined) throw new Error('one was claimed');
      await expire(first);
      expect(await first.joined.checkpoint.recordSubmitted(a, job('1'))).toBe('recorded');
      await first.joined.lease.renew();
      expect(first.joined.lease.isFresh()).toBe(true);
    });

    it.each(['now', 'elapsed'] as const)('submits nothing when the lease is over by %s', async (by) => {
      const clock = { now: 1_000_000, elapsed: 0 };
      const [first] = await two({ clock: { now: () => clock.now, elapsed: () => clock.elapsed } });
      expect(first.joined.lease.isFresh()).toBe(true);
      clock[by] += 601_000;
      expect(first.joined.lease.isFresh()).toBe(false);
    });

    describe('if the answer to a group of writes is lost and the group comes again,', () => {
      const contextOf = async (shared: SharedBatch): Promise<Parameters<typeof writeGroup>[0]> => {
        const run = await runOf(shared);
        const { db, schema } = shared;
        const [row] = await db.query<{ token: string }>(
          `SELECT idempotency_key AS token FROM ${schema}.runs WHERE run = $1`,
          [run],
        );
        const recall = new Recall(row?.token ?? '', () => 0);
        return {
          ...shared,
          run,
          recall,
          again: [],
          schemaName: '',
          row: { pid: 1, host: '', program: '', startedAt: 0, boot: null, started: null },
          lease: new Lease(shared.db, { ...shared, recall, run: 0 }, { now: () => 0, elapsed: () => 0 }),
          limits: {},
          pricing: undefined,
          hasPart: () => false,
        };
      };
      const claim = (max: number): Write => ({
        do: 'claim',
        max,
        endpoint,
        at: 10,
        dueBy: 10,
        isSuspect: false,
      });

      it('a claim gets the same scenes', async () => {
        const { shared } = await alone();
        const context = await contextOf(shared);
        const once = await writeGroup(context, [claim(2)], 1);
        // The answer is also the same if no more scenes are given out now.
        await shared.db.query(`UPDATE ${shared.schema}.account SET claims_from = now() + interval '1 hour'`);
        const again = await writeGroup(context, [claim(2)], 1);
        expect(once).toMatchObject([{ result: { attempts: [{ sceneId: 'a' }, { sceneId: 'b' }] } }]);
        expect(again).toEqual(once);
      });

      it('it changes nothing, not even after later groups, and says again which names are taken', async () => {
        const { joined, shared } = await alone();
        const [a, b] = await joined.checkpoint.claim(2, endpoint, 10);
        if (a === undefined || b === undefined) throw new Error('two were claimed');
        for (const attempt of [a, b]) await joined.checkpoint.recordSubmitted(attempt, job(attempt.sceneId));
        const context = await contextOf(shared);
        const write = (attempt: Attempt, file: string): Write => ({
          do: 'writing',
          attempt,
          settlement: saved(file),
        });
        const drop: Write = { do: 'drop', attempt: a.key };
        const groups: [number, Write][] = [
          [101, write(a, 'one.png')],
          [102, write(b, 'One.png')],
          [103, drop],
          [104, write(a, 'two.png')],
        ];
        const outcomes = [true, false, undefined, true].map((result) => [{ result }]);
        for (const [i, [number, each]] of groups.entries())
          for (let times = 0; times < 2; times++)
            expect(await writeGroup(context, [each], number)).toEqual(outcomes[i]);
        for (const [number, each] of groups) await writeGroup(context, [each], number);
        expect(await joined.checkpoint.unfinishedWriting()).toMatchObject([
          { attempt: { sceneId: 'a' }, settlement: saved('two.png') },
        ]);
        expect(await writeGroup(context, [write(b, 'two.png')], 105)).toEqual([{ result: false }]);
      });

      it('the first of its claims gets all of its scenes, so that none is sent twice', async () => {
        const { shared } = await alone();
        const context = await contextOf(shared);
        await writeGroup(context, [claim(1), claim(1)], 1);
        const again = await writeGroup(context, [claim(1), claim(1)], 1);
        expect(again).toMatchObject([
          { result: { attempts: [{ sceneId: 'a' }, { sceneId: 'b' }] } },
          { result: { attempts: [] } },
        ]);
      });

      it('a claim gets no scene that a dead runner had claimed, which may be sent already', async () => {
        const [first, second] = await two();
        const context = await contextOf(second.shared);
        const { db, schema } = second.shared;
        await first.joined.checkpoint.claim(1, endpoint, 10);
        await expire(first);
        await db.transaction((session) => adoptDead(session, schema, context.run));
        const [left] = await db.query<{ group: number }>(
          `SELECT write_group AS group FROM ${schema}.attempts`,
        );
        const once = await writeGroup(context, [claim(1)], left?.group ?? 0);
        const again = await writeGroup(context, [claim(1)], left?.group ?? 0);
        expect(again).toMatchObject([{ result: { attempts: [{ sceneId: 'b' }] } }]);
        expect(again).toEqual(once);
      });
    });

    it('keeps one copy complete, however many processes of a machine keep it', async () => {
      const [folder, batch] = [newFolder(), `copies ${(batches += 1)}`];
      const runners = await Promise.all([1, 2, 3].map(() => joinNow(folder, batch)));
      const list = manifestOf(Array.from({ length: 12_000 }, (_, i) => [`s${i}`, `scene ${i}`]));
      await runners[0]?.joined.checkpoint.reconcile(list, unstopped);
      await Promise.all(
        runners.map(async ({ joined }) => {
          for (let turn = 0; turn < 4; turn++) {
            const claimed = await joined.checkpoint.claim(1_000, endpoint, 10);
            await Promise.all([
              joined.refresh(),
              ...claimed.map((attempt) =>
                joined.checkpoint.recordSubmitted(attempt, job(`job ${attempt.key}`)),
              ),
            ]);
          }
          await joined.refresh();
        }),
      );
      for (const { joined, shared } of runners) {
        expect(await joined.checkpoint.counts()).toMatchObject({ active: 12_000, waiting: 0 });
        const submitted = shared.replica.db.prepare(
          "SELECT count(*) FROM attempts WHERE state = 'submitted'",
        );
        expect(submitted.pluck().get()).toBe(12_000);
      }
    });

    it.each([false, true])(
      'keeps a run in the copy that began while another process read, having compared its list: %s',
      async (hasCompared) => {
        const [folder, batch] = [newFolder(), `copies ${(batches += 1)}`];
        const { db, schema, replica } = (await joinNow(folder, batch)).shared;
        const transaction = db.transaction.bind(db);
        vi.spyOn(db, 'transaction').mockImplementationOnce((work, mode) =>
          transaction(async (session) => {
            await session.query(`SELECT version FROM ${schema}.account`);
            const { joined } = await joinNow(folder, batch);
            if (hasCompared) await joined.checkpoint.reconcile(abc, unstopped);
            return work(session);
          }, mode),
        );
        await replica.pull();
        expect(replica.db.prepare('SELECT run FROM runs').pluck().all()).toEqual([1, 2]);
        await replica.pull();
        const scenes = replica.db.prepare('SELECT count(*) FROM scenes').pluck().get();
        expect(scenes).toBe(hasCompared ? 3 : 0);
      },
    );

    it('waits for a database that is gone, and loses nothing', async () => {
      const { joined } = await alone();
      const [a] = await joined.checkpoint.claim(1, endpoint, 10);
      if (a === undefined) throw new Error('one was claimed');
      await server.kill();
      const recorded = joined.checkpoint.recordSubmitted(a, job('1'));
      const claimed = joined.checkpoint.claim(5, endpoint, 11);
      await server.start();
      expect(await recorded).toBe('recorded');
      expect(await claimed).toHaveLength(2);
      expect(await joined.checkpoint.openAttempts()).toMatchObject([{ sceneId: 'a', job: { jobId: '1' } }]);
    });

    it('leaves others that were cut off for longer than their lease the time of one to come back', async () => {
      const time = { passed: 0 };
      const clock = { now: () => Date.now(), elapsed: () => performance.now() + time.passed };
      const [first, second] = await two({ clock });
      const [a] = await first.joined.checkpoint.claim(1, endpoint, 10);
      if (a === undefined) throw new Error('one was claimed');
      await second.joined.lease.renew();
      const over = new AbortController();
      onTestFinished(() => over.abort());
      const taking = second.joined.checkpoint.others.takeOver(over.signal);
      await server.kill();
      // The claim fails once and is repeated.
      const asked = second.joined.checkpoint.claim(0, endpoint, 10);
      await server.start();
      await asked;
      await expire(first);
      for (const tenths of [0, 4, 5]) {
        time.passed += tenths * 60_000;
        await second.joined.lease.renew();
        expect(second.joined.checkpoint.others.isBusy).toBe(false);
        expect(await second.joined.checkpoint.claim(1, endpoint, 10)).toEqual([]);
      }
      time.passed += 2 * 60_000;
      await second.joined.lease.renew();
      expect((await taking)?.intended).toMatchObject([{ sceneId: 'a', key: a.key }]);
    });

    it.each(['ALTER TABLE runners RENAME TO arriving', 'DELETE FROM account'])(
      'waits if a part of the batch is missing, as while a backup is put back, and can be stopped: %s',
      async (change) => {
        const { joined, shared } = await alone();
        await shared.db.transaction(async (session) => {
          await session.query(`SET LOCAL search_path TO ${shared.schema}`);
          await session.query(change);
        });
        const refused = expect(joined.checkpoint.claim(1, endpoint, 10)).rejects.toThrow('does not answer');
        joined.lease.giveUp();
        await refused;
      },
    );

    describe('if a failover has lost the latest commits', () => {
      const attemptsOf = ({ db, schema }: SharedBatch): Promise<Record<string, unknown>[]> =>
        db.query(
          `SELECT s.id, a.number, a.state, a.job_id AS job, a.attempt AS key FROM ${schema}.attempts a JOIN ${schema}.scenes s USING (scene) ORDER BY s.id, a.number`,
        );
      /** Ends the time during which other runners may come back. */
      const giveOut = ({ db, schema }: SharedBatch): Promise<unknown> =>
        db.query(
          `UPDATE ${schema}.account SET claims_from = now() - interval '1 second' WHERE claims_from IS NOT NULL`,
        );
      const claimOne = async ({ joined }: Runner): Promise<Attempt> => {
        const [attempt] = await joined.checkpoint.claim(1, endpoint, 10);
        if (attempt === undefined) throw new Error('one was to be claimed');
        return attempt;
      };
      const time = { passed: 0 };
      const clock = { now: () => Date.now(), elapsed: () => performance.now() + time.passed };
      /**
       * Keeps a copy of the present data for a later failover. Lets the time pass that runners have to come
       * back.
       */
      const keep = async (...runners: Runner[]): Promise<void> => {
        await server.keep();
        // After these requests, all runners have noticed that the server was down.
        for (const { joined } of runners) await joined.checkpoint.counts();
        for (const { joined } of runners) await joined.checkpoint.ownerOf('x.png');
        time.passed += 601_000;
      };
      /** Renews a lease. A request over a connection of the server that failed gets no answer. */
      const renew = async ({ joined }: Runner): Promise<void> => {
        for (let connections = 0; connections < 5; connections++) {
          try {
            return await joined.lease.renew();
          } catch (error) {
            if (!(error instanceof PostgresFailure)) throw error;
          }
        }
        await joined.lease.renew();
      };
      const words: string[] = [];
      const listen = ({ joined }: Runner): void => {
        joined.lease.on({
          onLost: (failure) => words.push(`lost: ${failure.message}`),
          onWrittenBack: (text) => words.push(text),
        });
      };

      it.each(['first', 'last'])(
        'every runner writes back what it knows, the one that lost most %s',
        async (order) => {
          words.length = 0;
          const runners = await two({ clock });
          const [first, second] = runners;
          for (const runner of runners) listen(runner);
          const a = await claimOne(first);
          await keep(first, second);
          await first.joined.checkpoint.recordSubmitted(a, job('1'));
          const b = await claimOne(second);
          await second.joined.checkpoint.recordSubmitted(b, job('2'));
          const c = await claimOne(first);
          const settlement = saved('a.png');
          await first.joined.checkpoint.beginWriting({ ...a }, settlement);
          await first.joined.checkpoint.settle(a, settlement);
          const before = await attemptsOf(first.shared);
          await server.failOver();
          const [one, other] = order === 'first' ? [first, second] : [second, first];
          await renew(one);
          await renew(other);
          await first.joined.checkpoint.recordSubmitted(c, job('3'));
          await second.joined.checkpoint.recordStatus(b, {
            status: 'IN_PROGRESS',
            isExecuting: true,
            at: 40,
          });
          const after = before.map((row) =>
            row['id'] === 'c' ? { ...row, state: 'submitted', job: '3' } : row,
          );
          expect(await attemptsOf(first.shared)).toEqual(after);
          expect(words).toEqual(
            [1, 2].map(() => expect.stringContaining('went back to an earlier state') as string),
          );
          await giveOut(first.shared);
          await first.joined.refresh();
          expect(await second.joined.checkpoint.claim(3, endpoint, 50)).toEqual([]);
          expect(await second.joined.checkpoint.counts()).toMatchObject({ saved: 1, active: 2, waiting: 0 });
          expect(await first.joined.checkpoint.spending()).toMatchObject({ jobs: 3, untold: 0 });
          expect(await first.joined.checkpoint.ownerOf('a.png')).toMatchObject({ sceneId: 'a' });
        },
      );

      it('counts submissions that no runner remembers as unanswered', async () => {
        const [first, second] = await two({ clock });
        await keep(first, second);
        await claimOne(second);
        await claimOne(first);
        await second.joined.close();
        await server.failOver();
        await renew(first);
        await expect.poll(() => attemptsOf(first.shared)).toHaveLength(1);
        expect(await first.joined.checkpoint.claim(3, endpoint, 50)).toEqual([]);
        await giveOut(first.shared);
        time.passed += 601_000;
        expect(await first.joined.checkpoint.claim(3, endpoint, 50)).toHaveLength(2);
        await first.joined.refresh();
        expect(await first.joined.untold()).toBe(1);
        expect(await first.joined.checkpoint.spending()).toMatchObject({ jobs: 4, untold: 1 });
      });

      it('gives nothing out to a runner that has lost nothing until the others are back', async () => {
        const [first, second] = await two({ clock });
        await renew(second);
        await keep(first, second);
        const a = await claimOne(first);
        await server.failOver();
        await renew(second);
        expect(await second.joined.checkpoint.claim(1, endpoint, 50)).toEqual([]);
        await first.joined.checkpoint.recordSubmitted(a, job('1'));
        expect(await attemptsOf(first.shared)).toMatchObject([{ id: 'a', state: 'submitted', key: a.key }]);
      });

      /** Loses the answer to every second group of writes. */
      const loseAnswers = ({ shared: { db } }: Runner): void => {
        const query = db.query.bind(db);
        let groups = 0;
        db.query = async (text, values) => {
          const answer = await query(text, values);
          if (text.includes('write_group(') && ++groups % 2 === 1)
            throw new PostgresFailure('gone', 'the connection was lost', undefined);
          return answer as never;
        };
      };

      const answers = ['comes', 'is lost at times'] as const;

      it.each(answers)(
        'reports a submission as unanswered if another runner has submitted its scene again, and each answer %s',
        async (answer) => {
          const [first, second] = await two({ clock });
          if (answer !== 'comes') loseAnswers(first);
          await keep(first, second);
          const a = await claimOne(first);
          await server.failOver();
          // A new runner does not know of the lost commits.
          const third = await joinNow(newFolder(), nameOf(first));
          expect(await claimOne(third)).toMatchObject({ sceneId: 'a' });
          await expect(first.joined.checkpoint.recordSubmitted(a, job('1'))).rejects.toThrow(
            'submitted scenes of this run again',
          );
          expect(await attemptsOf(third.shared)).toMatchObject([
            { id: 'a', number: 1, state: 'intended' },
            { id: 'a', number: 2, state: 'unanswered' },
          ]);
          await second.joined.refresh();
          expect(await second.joined.untold()).toBe(1);
        },
      );

      it.each(answers)(
        'goes on to submit nothing if more was lost than a runner remembers, says so, and each answer %s',
        async (answer) => {
          words.length = 0;
          const runner = await alone({ clock });
          listen(runner);
          if (answer !== 'comes') loseAnswers(runner);
          await server.keep();
          await claimOne(runner);
          time.passed += 601_000;
          const b = await claimOne(runner);
          await server.failOver();
          await expect(runner.joined.checkpoint.recordSubmitted(b, job('2'))).rejects.toThrow(
            'lost more than this run remembers',
          );
          await expect(runner.joined.checkpoint.claim(3, endpoint, 50)).rejects.toThrow();
          expect(words.join()).not.toContain('another one');
          expect(words.at(-1)).toContain('Run the same command again');
          expect(await attemptsOf(runner.shared)).toMatchObject([{ id: 'b', state: 'intended', key: b.key }]);
          await giveOut(runner.shared);
          const next = await joinNow(newFolder(), nameOf(runner));
          expect(await next.joined.checkpoint.claim(3, endpoint, 50)).toHaveLength(2);
          await next.joined.refresh();
          expect(await next.joined.untold()).toBe(1);
        },
      );

      it('takes back only jobs that it had taken over before the commit was lost', async () => {
        const [first, second] = await two({ clock });
        const third = await joinNow(newFolder(), nameOf(first), { clock });
        const [a, b] = [await claimOne(first), await claimOne(second)];
        await expire(first);
        await keep(third);
        const taking = third.joined.checkpoint.others.takeOver(unstopped);
        await renew(third);
        await taking;
        await server.failOver();
        const { db, schema } = third.shared;
        await db.query(`UPDATE ${schema}.runners SET lease_until = now() - interval '1 minute'`);
        await third.joined.checkpoint.dropWriting(a);
        expect(await third.joined.checkpoint.recover()).toMatchObject([{ key: a.key }]);
        expect(await second.joined.checkpoint.recordSubmitted(b, job('2'))).toBe('recorded');
      });

      it('keeps a list that another run has edited since, if only later commits are lost', async () => {
        const [first, second] = await two({ clock });
        const edited = manifestOf([...abcRows, ['d', 'lake']]);
        await second.joined.checkpoint.reconcile(edited, unstopped);
        await keep(first, second);
        const a = await claimOne(first);
        await server.failOver();
        await first.joined.checkpoint.recordSubmitted(a, job('1'));
        await first.joined.refresh();
        expect(await first.joined.checkpoint.counts()).toMatchObject({ active: 1, waiting: 3, withdrawn: 0 });
      });

      it('ends with a message if its list would be refused in the earlier state', async () => {
        const runner = await alone({ clock });
        await server.keep();
        const shorter = { ...manifestOf(abcRows.slice(0, 1)), allowsFewer: true };
        await runner.joined.checkpoint.reconcile(shorter, unstopped);
        const a = await claimOne(runner);
        shorter.allowsFewer = false;
        await server.failOver();
        await expect(runner.joined.checkpoint.recordSubmitted(a, job('1'))).rejects.toThrow(
          'which has a longer list',
        );
      });

      it('takes pictures in again that were lost with their scenes', async () => {
        const runner = await alone({ clock });
        await keep(runner);
        const { checkpoint } = runner.joined;
        const scenes: AdoptedScene[] = [];
        for await (const { sceneKey, id } of await checkpoint.listedScenes())
          if (id !== 'c')
            scenes.push({ sceneKey, endpoint, jobId: id, pictures: saved(`${id}.png`).pictures });
        await checkpoint.adopt(scenes, 10);
        await server.failOver();
        expect(await checkpoint.claim(3, endpoint, 50)).toEqual([]);
        expect(await checkpoint.counts()).toMatchObject({ saved: 2, waiting: 1 });
      });

      it.each(['first', 'second'])(
        'continues with a scene that failed before and was submitted again, the %s back first',
        async (which) => {
          const [first, second] = await two({ clock });
          const a = await claimOne(first);
          await first.joined.checkpoint.recordSubmitted(a, job('1'));
          await keep(first, second);
          const failure = { kind: 'job-failed', text: 'out of memory' } as const;
          const again = { state: 'waiting', dueAt: 1 } as const;
          await first.joined.checkpoint.settle(a, { state: 'failed', at: 30, failure, scene: again });
          const next = await claimOne(second);
          expect(next).toMatchObject({ sceneId: 'a', number: 2 });
          await server.failOver();
          const back = [
            () => second.joined.checkpoint.recordSubmitted(next, job('2')),
            () => first.joined.checkpoint.ownerOf('a.png'),
          ];
          for (const come of which === 'first' ? back.toReversed() : back) await come();
          expect(await attemptsOf(first.shared)).toMatchObject([
            { id: 'a', number: 1, state: 'failed', key: a.key },
            { id: 'a', number: 2, state: 'submitted', key: next.key },
          ]);
          await giveOut(first.shared);
          expect(await second.joined.checkpoint.counts()).toMatchObject({ active: 1, waiting: 2 });
          expect(await first.joined.checkpoint.spending()).toMatchObject({ jobs: 2, untold: 0 });
        },
      );

      it('gives nothing out for as long as one is writing back, or comparing a list', async () => {
        const { shared, joined } = await alone();
        const { db, schema } = shared;
        const until = async (): Promise<number> => {
          const [row] = await db.query<{ at: number }>(
            `SELECT extract(epoch FROM claims_from)::float8 AS at FROM ${schema}.account`,
          );
          return row?.at ?? 0;
        };
        await db.query(`UPDATE ${schema}.account SET claims_from = now() + interval '1 minute'`);
        const before = await until();
        await joined.checkpoint.reconcile(manifestOf([...abcRows, ['d', 'lake']]), unstopped);
        const compared = await until();
        expect(compared).toBeGreaterThan(before);
        const run = await runOf(shared);
        const [row] = await db.query<{ token: string }>(
          `SELECT idempotency_key AS token FROM ${schema}.runs`,
        );
        const recall = new Recall(row?.token ?? '', () => 0);
        recall.seen.own = 1_000_000;
        await new Lease(db, { ...shared, recall, run }, { now: () => 0, elapsed: () => 0 }).renew();
        expect(await until()).toBeGreaterThan(compared + 300);
      });

      it('renders a scene again if another picture has taken its name meanwhile', async () => {
        const first = await alone({ clock });
        const a = await claimOne(first);
        await first.joined.checkpoint.recordSubmitted(a, job('1'));
        const c = await claimOne(first);
        await keep(first);
        await first.joined.checkpoint.beginWriting(a, saved('same.png'));
        await first.joined.checkpoint.settle(a, saved('same.png'));
        await server.failOver();
        const other = await joinNow(newFolder(), nameOf(first));
        const next = await claimOne(other);
        await other.joined.checkpoint.recordSubmitted(next, job('2'));
        await other.joined.checkpoint.beginWriting(next, saved('same.png'));
        await other.joined.checkpoint.settle(next, saved('same.png'));
        await first.joined.checkpoint.recordSubmitted(c, job('3'));
        expect(await first.joined.checkpoint.counts()).toMatchObject({ saved: 1, active: 1, waiting: 1 });
        expect(await first.joined.checkpoint.ownerOf('same.png')).toMatchObject({ sceneId: next.sceneId });
      });

      it('plans again the scenes that were lost with the first plan, and keeps those that were sent', async () => {
        const folder = newFolder();
        const runner = await joinNow(folder, `alone ${(batches += 1)}`);
        await keep(runner);
        await runner.joined.checkpoint.reconcile(abc, unstopped);
        const a = await claimOne(runner);
        await server.failOver();
        await runner.joined.checkpoint.recordSubmitted(a, job('1'));
        await runner.joined.refresh();
        expect(await runner.joined.checkpoint.counts()).toMatchObject({ active: 1, waiting: 2 });
        expect(await attemptsOf(runner.shared)).toMatchObject([{ id: 'a', state: 'submitted', key: a.key }]);
      });

      it('begins the batch again if all of it was lost', async () => {
        await server.keep();
        const runner = await alone();
        const a = await claimOne(runner);
        await server.failOver();
        const due = runner.joined.checkpoint.nextDue();
        await runner.joined.checkpoint.recordSubmitted(a, job('1'));
        await due;
        await runner.joined.refresh();
        expect(await runner.joined.checkpoint.counts()).toMatchObject({ active: 1, waiting: 2 });
        expect(await attemptsOf(runner.shared)).toMatchObject([{ id: 'a', state: 'submitted', key: a.key }]);
      });

      it('continues if a runner comes back whose row was lost', async () => {
        const first = await alone();
        await server.keep();
        const second = await joinNow(newFolder(), nameOf(first));
        const a = await claimOne(second);
        await server.failOver();
        await second.joined.checkpoint.recordSubmitted(a, job('1'));
        expect(await second.joined.checkpoint.openAttempts()).toMatchObject([
          { sceneId: 'a', job: { jobId: '1' }, idempotency: { key: a.idempotency?.key } },
        ]);
      });
    });

    async function alone(more: Partial<Joining> = {}): Promise<Runner> {
      const runner = await joinNow(newFolder(), `alone ${(batches += 1)}`, more);
      await runner.joined.checkpoint.reconcile(abc, unstopped);
      return runner;
    }
  },
);

const nameOf = ({ shared }: Runner): string => shared.schema.replaceAll('"', '').replace('nightrender_', '');

interface Runner {
  shared: SharedBatch;
  joined: JoinedBatch;
}

async function find(dir: string, batch: string): Promise<SharedBatch> {
  const shared = await findSharedBatch(
    `${server.url}?lease=600&batch=${encodeURIComponent(batch)}`,
    dir,
    true,
  );
  if (shared === undefined) throw new Error('it was to be made');
  return shared;
}

async function joinNow(dir: string, batch: string, more: Partial<Joining> = {}): Promise<Runner> {
  const shared = await find(dir, batch);
  const joined = await joinBatch(shared, {
    program: 'test',
    batch: plainBatch,
    limits: {},
    pricing: undefined,
    clock: { now: () => Date.now(), elapsed: () => performance.now() },
    ...more,
  });
  onTestFinished(() => joined.close());
  return { shared, joined };
}

/** Expires the leases of all runners, as if none had renewed its lease for a long time. */
async function expireAll(dir: string, batch: string): Promise<void> {
  const shared = await find(dir, batch);
  await shared.db.query(`UPDATE ${shared.schema}.runners SET lease_until = now() - interval '1 minute'`);
  await shared.close();
}

async function expire({ shared }: Runner): Promise<void> {
  const run = await runOf(shared, 'min');
  await shared.db.query(
    `UPDATE ${shared.schema}.runners SET lease_until = now() - interval '1 minute' WHERE run = $1`,
    [run],
  );
}

/** Returns the run of the runner that joined first or last. */
async function runOf({ db, schema }: SharedBatch, which: 'min' | 'max' = 'max'): Promise<number> {
  const [row] = await db.query<{ run: number }>(`SELECT ${which}(run) AS run FROM ${schema}.runners`);
  return row?.run ?? 0;
}

function newFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-shared-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
