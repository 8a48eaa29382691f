/** A batch whose checkpoint is in PostgreSQL: finds it, and joins it as one more runner. */
import { randomUUID, createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { batchName } from '../../core/naming.ts';
import type { Pricing, SpendingLimits } from '../../core/spending.ts';
import type { Database } from '../../../lib/sqlite/database.ts';
import {
  parsePostgresAddress,
  Postgres,
  type PostgresSession,
  quoted,
} from '../../../lib/postgres/postgres.ts';
import {
  wouldChangeBatch,
  readBatch,
  rememberBatch,
  rulesOf,
  type BatchIdentity,
} from '../batch-identity.ts';
import { ownRun, type RunRow } from '../batch-lock.ts';
import { copiesFolder } from '../find-loss.ts';
import type { BatchLease, OpenCheckpoint } from '../open-checkpoint.ts';
import { countUntold } from '../read-totals.ts';
import { changeBatch, Replica } from './replica.ts';
import { Lease, type LeaseClock } from './lease.ts';
import { Recall } from './recall.ts';
import { PostgresCheckpoint } from './postgres-checkpoint.ts';
import { migrate, versionOf } from './shared-schema.ts';

export interface SharedBatch {
  db: Postgres;
  /** Quoted for SQL. */
  schema: string;
  schemaName: string;
  /** Local copy for everything that only reads. */
  replica: Replica;
  leaseMs: number;
  close(): Promise<void>;
}

/** Long enough for a busy machine, and short enough for results to exist when another runner takes over. */
const defaultLeaseMs = 20_000;
const connectMs = 10_000;
/** A busy machine takes a second to open a connection, however short the lease is. */
const minDeadMs = 3_000;
const maxDeadMs = 10_000;
const minSilentMs = 5_000;
/** Time for which a reader waits for a copy that another process is using. */
const readersMs = 30_000;

/**
 * Opens the shared batch, and creates it if `toJoin`; otherwise returns undefined if there is none. `dir`: absolute.
 * Throws `PostgresFailure`, `UnusableSchema`.
 */
export async function findSharedBatch(
  address: string,
  dir: string,
  toJoin: boolean,
): Promise<SharedBatch | undefined> {
  const { db, name, leaseMs } = await openDatabase(address, dir);
  try {
    if (toJoin) await migrate(db, name);
    else if ((await versionOf(db, name)) === undefined) {
      await db.close();
      return undefined;
    }
    const schema = quoted(name);
    const replica = new Replica(join(copiesFolder(dir), hostname()), db, schema);
    if (toJoin) await replica.pull();
    // A reader does not wait while another process of this machine compares a long list. It sees the copy as it is.
    else await Promise.race([replica.pull(), delay(readersMs, undefined, { ref: false })]);
    let closed: Promise<void> | undefined;
    const close = (): Promise<void> => {
      if (closed === undefined) replica.close();
      return (closed ??= db.close());
    };
    return { db, schema, schemaName: name, replica, leaseMs, close };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Returns the database and the name of the batch's schema, without connecting. Throws as `findSharedBatch` does. */
export async function openDatabase(
  address: string,
  dir: string,
): Promise<Pick<SharedBatch, 'db' | 'leaseMs'> & { name: string }> {
  const parsed = parsePostgresAddress(address, ['batch', 'lease']);
  const seconds = Number(parsed.own.get('lease'));
  const leaseMs = seconds > 0 ? seconds * 1000 : defaultLeaseMs;
  const db = await Postgres.open(parsed, {
    connectMs,
    silentMs: Math.max(minSilentMs, leaseMs),
    deadMs: Math.max(minDeadMs, Math.min(leaseMs / 2, maxDeadMs)),
  });
  return { db, name: schemaNameOf(parsed.own.get('batch') ?? batchName(dir)), leaseMs };
}

/** True if the lease of any runner is not over. */
export async function hasRunners({ db, schema }: { db: PostgresSession; schema: string }): Promise<boolean> {
  const alive = await db.query(
    `SELECT 1 FROM ${schema}.runners WHERE NOT is_dead AND lease_until > now() LIMIT 1`,
  );
  return alive.length > 0;
}

export interface Joining {
  program: string;
  /** Undefined if the recorded identity stays. */
  batch: BatchIdentity | undefined;
  limits: SpendingLimits;
  pricing: Pricing | undefined;
  clock: LeaseClock;
}

export interface JoinedBatch extends OpenCheckpoint {
  checkpoint: PostgresCheckpoint;
  lease: BatchLease & { renew(): Promise<void> };
}

/** Joins the batch as one more runner. Takes over what runners without a lease left behind. */
export async function joinBatch(shared: SharedBatch, joining: Joining): Promise<JoinedBatch> {
  const { db, schema, schemaName, replica, leaseMs } = shared;
  const { batch, clock } = joining;
  const remember = async (): Promise<void> => {
    if (batch === undefined) return;
    if (await replica.read((copy) => wouldChangeBatch(copy, asBegun(copy, batch))))
      await changeBatch(db, schema, replica, (copy) => rememberBatch(copy, asBegun(copy, batch)));
  };
  await remember();
  const recall = new Recall(randomUUID(), () => clock.elapsed());
  const row = ownRun(joining.program, clock.now());
  const { run, version } = await recordRun(shared, row, recall.token);
  const lease = new Lease(db, { schema, run, leaseMs, recall }, clock);
  // The run begins with what the lease takes over now.
  await lease.begin();
  const checkpoint = new PostgresCheckpoint(
    {
      db,
      schema,
      schemaName,
      run,
      lease,
      recall,
      row,
      limits: joining.limits,
      pricing: joining.pricing,
      again: [{ version, work: () => replica.pull().then(remember) }],
    },
    replica,
  );
  await replica.pull();
  const known = await replica.read((copy) => ({ begun: readBatch(copy), rules: rulesOf(copy) }));
  return {
    checkpoint,
    others: checkpoint.others,
    // Several runs may write pictures at the same time, so every token counts as known.
    run: { token: `${schema}-${run}`, isKnown: () => true, lastAttempt: undefined },
    pictures: known.begun?.pictures,
    lease: {
      isFresh: () => lease.isFresh(),
      on: (events) => lease.on(events),
      giveUp: () => {
        db.shortenWaits();
        checkpoint.giveUp();
      },
      renew: () => lease.renew(),
    },
    dir: replica.dir,
    refresh: () => checkpoint.refresh(),
    names: known.begun?.names ?? 'id',
    rules: known.rules,
    untold: () => replica.read(countUntold),
    recordEnd: async ({ at, exitCode, ending, stats }) => {
      await db
        .query(
          `UPDATE ${schema}.runs SET ended_at = $2, exit_code = $3, ending = $4, stats = coalesce($5, stats) WHERE run = $1`,
          [run, at, exitCode, ending, stats === undefined ? null : JSON.stringify(stats)],
        )
        // If the run cannot reach the database, its lease shows that it has ended.
        .catch(() => undefined);
    },
    // Other runners may be at work, so each run stays recorded.
    forgetRun: () => false,
    close: async () => {
      await checkpoint.close();
      await lease.end();
      await shared.close();
    },
  };
}

/** Returns the identity with the bucket's token of the run that came first, if several runs begin a batch at once. */
function asBegun(db: Database, batch: BatchIdentity): BatchIdentity {
  const known = readBatch(db)?.pictures;
  return known !== undefined && known.url === batch.pictures?.url ? { ...batch, pictures: known } : batch;
}

async function recordRun(
  { db, schema, leaseMs }: SharedBatch,
  { pid, host, program, startedAt, boot, started }: RunRow,
  token: string,
): Promise<{ run: number; version: number }> {
  return db.transaction(async (session) => {
    const [row] = await session.query<{ run: number }>(
      `INSERT INTO ${schema}.runs (pid, host, program, started_at, boot, process_started, idempotency_key)
       VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING run`,
      [pid, host, program, startedAt, boot, started, token],
    );
    const run = row?.run ?? 0;
    const [runner] = await session.query<{ version: number }>(
      `INSERT INTO ${schema}.runners (run, lease_until, version)
       SELECT $1, now() + $2 * interval '1 ms', version FROM ${schema}.account RETURNING version`,
      [run, leaseMs],
    );
    return { run, version: runner?.version ?? 0 };
  });
}

const maxName = 63;

/** Returns a name like `nightrender_night_out`. A name that is too long is cut and ends with a digest of the whole. */
function schemaNameOf(batch: string): string {
  const slug = batch
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
  const name = `nightrender_${slug === '' ? 'batch' : slug}`;
  if (name.length <= maxName) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.slice(0, maxName - 9)}_${digest}`;
}
