/** The journal of a batch in PostgreSQL, shared by many runners. Implements the pipeline's `Checkpoint` port. */
import { setTimeout as delay } from 'node:timers/promises';
import { GroupedWrites } from '../../../lib/postgres/grouped-writes.ts';
import { type Postgres, PostgresFailure, type PostgresSession } from '../../../lib/postgres/postgres.ts';
import type { Database } from '../../../lib/sqlite/database.ts';
import type {
  Attempt,
  Endpoint,
  JobAtService,
  SavedSettlement,
  Settlement,
  Submitted,
  UnfinishedWriting,
} from '../../core/attempt.ts';
import type { Plan } from '../../core/batch-plan.ts';
import { FatalFailure } from '../../core/failure.ts';
import { nameKey } from '../../core/naming.ts';
import type { AdoptedScene } from '../../core/provenance.ts';
import { suspectCrashes } from '../../core/retry-policy.ts';
import type { Part } from '../../core/scene.ts';
import type { BatchSpending } from '../../core/spending.ts';
import type { AcceptedJob, Checkpoint, ManifestScenes, PictureMove } from '../../pipeline/ports.ts';
import { prepareAttemptWrites, recordAdopted } from '../attempt-records.ts';
import { foundValue, readComparedList } from '../batch-identity.ts';
import { choosePart } from '../due-scenes.ts';
import { hasOldOutcomes, planOfSame, reconcile } from '../reconcile.ts';
import { hasDeferredSeeds, deferSeedsNow, RecordedBatch } from '../recorded-batch.ts';
import type { NameOwner } from './group-function.ts';
import type { Claimed, GroupContext, Write } from './lease.ts';
import {
  asFatalDatabaseFailure,
  Orphans,
  readIntended,
  readSharedSpending,
  readSubmitted,
  readWritings,
} from './read-shared.ts';
import { changeBatch, type Replica } from './replica.ts';
import { isBatchGone } from './shared-schema.ts';
import { raiseOwnVersion, writeGroup } from './write-group.ts';

/** How often to look again while other runners have jobs in flight, whose scenes may have to be sent again. */
const recheckMs = 2_000;

const never = new AbortController().signal;

export class PostgresCheckpoint extends RecordedBatch implements Checkpoint {
  readonly #context: GroupContext;
  readonly #db: Postgres;
  readonly #schema: string;
  readonly #run: number;
  readonly #replica: Replica;
  readonly #writes: GroupedWrites<Write>;
  /** Answer of the latest claim, so that it need not be asked again. */
  #hasMore = false;
  readonly others: Orphans;
  /** Attempts that this run began and has not settled. */
  readonly #own = new Set<number>();
  readonly #marked = new Set<number>();
  /** Recorded time for which the service remembers a key, in ms. */
  #shownMs: number | undefined;
  readonly #givenUp = new AbortController();

  constructor(context: Omit<GroupContext, 'hasPart'>, replica: Replica) {
    super();
    this.#context = { ...context, hasPart: () => this.hasPart };
    this.#db = context.db;
    this.#schema = context.schema;
    this.#run = context.run;
    this.#replica = replica;
    this.#writes = new GroupedWrites((group, number) =>
      writeGroup(this.#context, group, number).catch((error: unknown) => {
        if (error instanceof PostgresFailure && error.kind === 'gone') context.lease.missed();
        throw error;
      }),
    );
    this.others = new Orphans(context, (work) => this.#read(work));
    // Written together with the next group, so that groups stay one after another.
    context.lease.on({
      onBehind: () => void this.#writeBack().catch(() => undefined),
    });
  }

  async reconcile(manifest: ManifestScenes, signal: AbortSignal, part?: Part): Promise<Plan | undefined> {
    try {
      const plan = await retryUntilReachable(() => this.#reconcile(manifest, signal, part), signal);
      await this.#keep(() => this.#reconcile(manifest, never, part));
      return plan;
    } catch (error) {
      if (signal.aborted && error === signal.reason) return undefined;
      throw error;
    }
  }

  async recover(): Promise<Attempt[]> {
    return this.#read(() => readIntended(this.#db, this.#schema, 'a.owner = $1', [this.#run]));
  }

  async openAttempts(): Promise<Submitted[]> {
    return this.#read(() => readSubmitted(this.#db, this.#schema, 'a.owner = $1', [this.#run]));
  }

  async unfinishedWriting(): Promise<UnfinishedWriting[]> {
    return this.#read(() => readWritings(this.#db, this.#schema, 'a.owner = $1', [this.#run]));
  }

  async claim(max: number, endpoint: Endpoint, at: number, dueBy = at): Promise<Attempt[]> {
    const write: Write = { do: 'claim', max, endpoint, at, dueBy, isSuspect: false };
    const { attempts, hasMore } = await this.#write<Claimed>(write);
    for (const { key } of attempts) this.#own.add(key);
    // With a budget, another runner may take the last scene. Other scenes may not belong to the part.
    const { jobs, cost } = this.#context.limits;
    const isPlain = !this.hasPart && jobs === undefined && cost === undefined;
    this.#hasMore = hasMore && attempts.length > 0 && isPlain;
    return attempts;
  }

  async claimSuspect(endpoint: Endpoint, at: number): Promise<Attempt | undefined> {
    const write: Write = { do: 'claim', max: 1, endpoint, at, dueBy: at, isSuspect: true };
    const { attempts } = await this.#write<Claimed>(write);
    return attempts[0];
  }

  async nextDue(): Promise<{ at: number; isSuspect: boolean } | undefined> {
    if (this.#hasMore) return { at: 0, isSuspect: false };
    const part = this.hasPart ? this.#run : undefined;
    const next = await this.#read(() => readNextDue(this.#db, this.#schema, this.#run, part));
    if (next.at !== null) return { at: next.at, isSuspect: false };
    if (next.hasSuspect) return { at: 0, isSuspect: true };
    const hasOthers = next.hasOthers || this.others.isBusy;
    return hasOthers ? { at: Date.now() + recheckMs, isSuspect: false } : undefined;
  }

  async recordSubmitted(
    attempt: Attempt,
    { idempotencyMs, ...job }: AcceptedJob,
  ): Promise<'recorded' | { doubtful: string | undefined }> {
    if (idempotencyMs !== undefined && idempotencyMs !== this.#shownMs)
      await this.#showIdempotency(idempotencyMs);
    return this.#write({ do: 'submitted', attempt, job });
  }

  async hasJob({ endpoint: { baseUrl, id }, jobId }: JobAtService): Promise<boolean> {
    const found = await this.#read(() =>
      this.#db.query(
        `SELECT 1 FROM ${this.#schema}.attempts WHERE job_id = $1 AND base_url = $2 AND endpoint_id = $3 LIMIT 1`,
        [jobId, baseUrl, id],
      ),
    );
    return found.length > 0;
  }

  async setInProgress({ key }: Attempt, isInProgress: boolean): Promise<void> {
    if (isInProgress) this.#marked.add(key);
    // Settling has cleared the mark.
    else if (!this.#marked.delete(key)) return;
    const written = this.#write<undefined>({ do: 'hand', attempt: key, isInHand: isInProgress });
    // For a job that was taken over, the mark has to be recorded before the work begins, so that every crash counts.
    if (isInProgress && this.#own.has(key)) written.catch(() => undefined);
    else await written;
  }

  async recordStatus(
    { key }: Attempt,
    { status, isExecuting, at, held }: Parameters<Checkpoint['recordStatus']>[1],
  ): Promise<void> {
    await this.#write({ do: 'status', attempt: key, status, executingAt: isExecuting ? at : null, held });
  }

  async recordFoundWith(settings: string): Promise<void> {
    // Copies read this table as a whole, so it needs no version, for which others would wait.
    await this.#read(() =>
      this.#db.query(
        `INSERT INTO ${this.#schema}.batch (name, value) VALUES ('found', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
        [foundValue(settings)],
      ),
    );
  }

  async beginWriting(attempt: Attempt, settlement: SavedSettlement): Promise<boolean> {
    return this.#write({ do: 'writing', attempt, settlement });
  }

  async dropWriting({ key }: Attempt): Promise<void> {
    await this.#write({ do: 'drop', attempt: key });
  }

  async settle(attempt: Attempt, settlement: Settlement): Promise<void> {
    const next = await this.#replica.read((db) => this.nextSeedAfter(db, attempt, settlement));
    await this.#write({ do: 'settle', attempt, settlement, next });
    this.#own.delete(attempt.key);
    this.#marked.delete(attempt.key);
  }

  async adopt(adopted: AdoptedScene[], at: number): Promise<void> {
    const mark = { run: this.#run, at };
    const adoptThose = (areThose: (db: Database, scene: AdoptedScene) => boolean): Promise<void> =>
      changeBatch(this.#db, this.#schema, this.#replica, (db) => {
        const sql = prepareAttemptWrites(db);
        for (const scene of adopted) if (areThose(db, scene)) recordAdopted(sql, scene, mark);
        deferSeedsNow(db);
      });
    const names = new Map<AdoptedScene, string | undefined>();
    await retryUntilReachable(() =>
      adoptThose((db, scene) => {
        names.set(scene, waitingScene(db, scene));
        return true;
      }),
    );
    await this.#keep(() =>
      adoptThose((db, scene) => {
        const name = waitingScene(db, scene);
        return name !== undefined && name === names.get(scene);
      }),
    );
  }

  /** Does `work` again if the database loses what it recorded. */
  async #keep(work: () => Promise<unknown>): Promise<void> {
    const { again, recall } = this.#context;
    const seen = await this.#read(() => raiseOwnVersion(this.#context, recall.seen.own));
    recall.seen.own = Math.max(recall.seen.own, seen?.own ?? 0);
    again.push({ work, version: seen?.own ?? Infinity });
  }

  /** Returns the scene that has the name or gets it from another runner. This runner's are not recorded yet. */
  ownerOf(file: string): Promise<NameOwner | undefined> {
    return this.#write({ do: 'owner', key: nameKey(file) });
  }

  pendingMoves(): Promise<PictureMove[]> {
    return this.#read(() => readMoves(this.#db, this.#schema));
  }

  async recordMoved(move: PictureMove): Promise<void> {
    const record = (): Promise<void> =>
      this.#db.transaction((session) => recordMove(session, this.#schema, move));
    await this.#read(record);
    await this.#keep(record);
  }

  spending(at?: string): Promise<BatchSpending> {
    return this.#read(() => readSharedSpending(this.#db, this.#schema, { ...this.#context.pricing, at }));
  }

  /** Ends all waiting for a database that does not answer. */
  giveUp(): void {
    const text =
      'the run had to end, and the shared checkpoint does not answer: the latest results are not recorded, and another run collects them';
    this.#givenUp.abort(new FatalFailure({ kind: 'output-unwritable', text }));
    this.#writes.giveUp();
  }

  /** Waits until writes on their way have finished. */
  close(): Promise<void> {
    this.giveUp();
    return this.#writes.idle();
  }

  async #showIdempotency(ms: number): Promise<void> {
    const text = `UPDATE ${this.#schema}.runs SET idempotency_ms = $2 WHERE run = $1`;
    await this.#read(() => this.#db.query(text, [this.#run, ms]));
    this.#shownMs = ms;
  }

  async #reconcile(manifest: ManifestScenes, signal: AbortSignal, part?: Part): Promise<Plan> {
    await this.#replica.pull();
    signal.throwIfAborted();
    const same = await this.#replica.read((db) => {
      const compared = readComparedList(db);
      const isListed = compared !== undefined && compared.digest === manifest.digest;
      return isListed && !hasDeferredSeeds(db) && !hasOldOutcomes(db) ? planOfSame(compared) : undefined;
    });
    const plan =
      same ??
      (await changeBatch(this.#db, this.#schema, this.#replica, async (copy) => {
        const { isEdited: _isEdited, ...made } = await reconcile(copy, manifest, signal);
        return made;
      }));
    await this.#replica.pull();
    await this.#replica.changeLocally((db) => choosePart(db, part, signal));
    this.hasPart = part !== undefined;
    if (part !== undefined) await this.#recordPart();
    return plan;
  }

  async #recordPart(): Promise<void> {
    const s = this.#schema;
    const scenes = this.#replica.db.prepare<[], number>('SELECT scene FROM temp.part').pluck().all();
    await this.#db.query(`INSERT INTO ${s}.parts SELECT $1, unnest($2::bigint[]) ON CONFLICT DO NOTHING`, [
      this.#run,
      scenes,
    ]);
  }

  refresh(): Promise<void> {
    return this.#read(() => this.#replica.pull());
  }

  protected async recorded<T>(read: (db: Database) => T): Promise<T> {
    await this.refresh();
    return this.#replica.read(read);
  }

  /** Waits while the database does not answer. */
  #read<T>(work: () => Promise<T>): Promise<T> {
    this.#context.lease.assertHeld();
    return retryUntilReachable(
      () =>
        work().catch(async (error: unknown) => {
          if (!isBatchGone(error)) throw error;
          await this.#writeBack();
          return work();
        }),
      this.#givenUp.signal,
    );
  }

  /** Writes back what the database has lost. Any group does that first, even an empty one. */
  #writeBack(): Promise<void> {
    return this.#write({ do: 'hand', attempt: 0, isInHand: false });
  }

  async #write<T>(write: Write): Promise<T> {
    try {
      return (await this.#writes.ask(write)) as T;
    } catch (error) {
      this.#givenUp.signal.throwIfAborted();
      throw asFatalDatabaseFailure(error);
    }
  }
}

const firstWaitMs = 200;
const maxWaitMs = 5_000;

/** Retries until the database answers. Throws a `FatalFailure` if it refuses, and the reason of `signal`. */
async function retryUntilReachable<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(maxWaitMs, 2 * waitMs)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PostgresFailure)) throw error;
      if (error.kind === 'wrong') throw asFatalDatabaseFailure(error);
    }
    signal?.throwIfAborted();
    await delay(waitMs, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
  }
}

/** Returns the id and fingerprint of a scene; undefined if it does not wait. */
function waitingScene(db: Database, { sceneKey }: AdoptedScene): string | undefined {
  const text =
    "SELECT id || '/' || fingerprint FROM scenes WHERE scene = ? AND state IN ('waiting', 'unneeded')";
  return db.prepare<[number], string>(text).pluck().get(sceneKey);
}

function readMoves(session: PostgresSession, s: string): Promise<PictureMove[]> {
  return session.query<PictureMove & Record<string, unknown>>(
    `SELECT picture AS key, file AS "from", move_to AS "to", name FROM ${s}.pictures
     WHERE move_to IS NOT NULL ORDER BY move_to = name, picture`,
  );
}

/** Call within a transaction. */
async function recordMove(session: PostgresSession, s: string, move: PictureMove): Promise<void> {
  await session.query(`SELECT ${s}.next_version()`);
  await session.query(
    `UPDATE ${s}.pictures SET file = $2, file_key = $3, move_to = NULL WHERE picture = $1 AND move_to = $2`,
    [move.key, move.to, nameKey(move.to)],
  );
}

interface NextDue {
  at: number | null;
  hasSuspect: boolean;
  /** True if other runners have something in flight, whose scenes may have to be sent again. */
  hasOthers: boolean;
}

/** Reads when a runner of a shared batch finds work next. */
async function readNextDue(
  session: PostgresSession,
  s: string,
  run: number,
  part: number | undefined,
): Promise<NextDue> {
  const inPart = inPartOf(s, part);
  const [row] = await session.query<{ at: number | null; suspect: boolean; others: boolean }>(
    `SELECT (SELECT due_at FROM ${s}.scenes WHERE state = 'waiting' AND deaths < ${suspectCrashes} ${inPart} ORDER BY due_at LIMIT 1) AS at,
       EXISTS (SELECT 1 FROM ${s}.scenes WHERE deaths >= ${suspectCrashes} AND state = 'waiting' ${inPart}) AS suspect,
       EXISTS (SELECT 1 FROM ${s}.attempts WHERE state IN ('intended', 'submitted') AND owner <> $1) AS others`,
    [run],
  );
  return { at: row?.at ?? null, hasSuspect: row?.suspect ?? false, hasOthers: row?.others ?? false };
}

function inPartOf(s: string, part: number | undefined): string {
  return part === undefined ? '' : `AND scene IN (SELECT scene FROM ${s}.parts WHERE run = ${part})`;
}
