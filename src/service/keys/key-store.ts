/** The key store: every key that the service has given out, as far as it keeps them, and whom a request comes from. */
import { InUse } from '../../lib/files/in-use.ts';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { Sqlite } from '../../lib/sqlite/better-sqlite3.ts';
import { type Database, openForWriting } from '../../lib/sqlite/database.ts';
import type { FieldProblem } from '../model/endpoint-settings.ts';
import {
  checkKey,
  checkRotation,
  isKeyKind,
  limitsOf,
  termsOf,
  type KeyForm,
  type Rotation,
} from './check-key.ts';
import { type KeyRow, keySchema, prepareKeyStatements, type Session } from './key-tables.ts';
import {
  digestOf,
  fitsHeader,
  makeKeyText,
  presentedKey,
  unlimited,
  type KeyHolder,
  type KeyKind,
  type KeyLimits,
  noLimits,
  type KeyRecord,
  OwnWorkerKeys,
} from '../model/key.ts';

/** A key that comes from outside, such as from the environment: it holds for as long as the store is open. */
export interface GivenKey {
  name: string;
  key: string;
  kind: KeyKind;
}

export interface KeyStoreOptions {
  /** Not stored, and neither listed nor revoked. Their names are their ids. */
  given?: readonly GivenKey[];
  /** Of the workers that the service has started, neither stored nor listed. */
  ownWorkers?: readonly OwnWorkerKeys[];
  /** Wall clock, epoch ms. */
  now: () => number;
  /** How long a change waits for another program's; it takes milliseconds, so that who holds the file longer is stuck. */
  busyMs?: number;
}

/** A key that cannot be made or revoked as asked for; the message says all that is wrong. */
export class KeyRefused extends Error {
  readonly problems: FieldProblem[];

  constructor(problems: FieldProblem[]) {
    super(problems.map(({ text }) => text).join('; '));
    this.problems = problems;
  }
}

/** Another program has been writing to the file for longer than anybody should wait. */
export class KeyStoreBusy extends InUse {}

const maxKeys = 1_000;

const defaultBusyMs = 2_000;

const msBetweenUses = 60_000;

/** A stored key as it was read last. */
interface ReadKey {
  holder: KeyHolder;
  lastUsedAt: number | null;
  /** Epoch ms at which its text is no longer accepted; null for never. */
  until: number | null;
}

/**
 * Several programs may have it open and change it. Keys that were found are remembered until anybody changes the file: a
 * key that another program has made or revoked counts from the next request on.
 */
export class KeyStore {
  readonly #db: Database;
  readonly #sql: ReturnType<typeof prepareKeyStatements>;
  readonly #now: () => number;
  readonly #busyMs: number;
  readonly #given: readonly { holder: KeyHolder; digest: Buffer }[];
  readonly #ownWorkers: readonly OwnWorkerKeys[];
  /** When the use of a key was written last, by its id. */
  readonly #notedAt = new Map<string, number>();
  /** Keys that were found since the file changed, by their digests. */
  readonly #read = new Map<string, ReadKey>();
  /** SQLite's number for the changes by other connections, as of what was read. */
  #version: number | undefined;

  /** Opens or makes the store; throws `UnusableDatabase` for a file that is none, and `KeyStoreBusy`. */
  constructor(path: string, { given = [], ownWorkers = [], now, busyMs = defaultBusyMs }: KeyStoreOptions) {
    assertGiven(given);
    this.#ownWorkers = ownWorkers;
    this.#now = () => Math.floor(now());
    this.#given = given.map(({ name, key, kind }) => ({
      holder: { ...unlimited, id: name, name, kind },
      digest: digestOf(key),
    }));
    this.#db = orBusy(path, () => openForWriting(path, keySchema));
    this.#busyMs = busyMs;
    this.#db.pragma(`busy_timeout = ${busyMs}`);
    this.#sql = prepareKeyStatements(this.#db);
  }

  /**
   * The holder of the key in an `Authorization` header: `Bearer KEY`, or the bare key of a worker. Undefined for
   * no key, an unknown one and one that was revoked or has expired. `from`: the address of the client, which is noted.
   */
  find(authorization: string | undefined, from?: string): KeyHolder | undefined {
    const presented = presentedKey(authorization);
    if (presented === undefined) return undefined;
    const digest = digestOf(presented);
    const own = this.#ownWorkers.map((keys) => keys.find(presented)).find((holder) => holder !== undefined);
    return own ?? this.ofDigest(digest, from);
  }

  /** As above, of a key of which only the digest is known. */
  ofDigest(digest: Buffer, from?: string): KeyHolder | undefined {
    return this.#findGiven(digest) ?? this.#findStored(digest, from);
  }

  /** Returns the name of a key, valid or not; null if none has the digest. */
  nameOf(digest: Buffer): string | null {
    return this.#sql.name.get({ digest })?.name ?? null;
  }

  /** Returns the digests of a key: of its text, and of its earlier one while that is valid as well. Revoked keys have theirs; empty if no key has this id. */
  digestsOf(id: string): Buffer[] {
    const given = this.#given.find(({ holder }) => holder.id === id);
    if (given !== undefined) return [given.digest];
    const { digest, previous = null } = this.#sql.digests.get({ id, now: this.#now() }) ?? {};
    return [digest ?? [], previous ?? []].flat();
  }

  /** Forgets those that began at `until` or before, and all but the newest `max`. */
  signIn(session: Session, until: number, max: number): void {
    this.#change(() => {
      this.#sql.signIn.run(session);
      this.#sql.forgetSessions.run({ until, max });
    });
  }

  session(id: Buffer): Session | undefined {
    return this.#sql.session.get(id);
  }

  signOut(id: Buffer): void {
    this.#change(() => this.#sql.signOut.run(id));
  }

  /** Whether the key came from outside, where people may have chosen it. */
  isGiven(key: KeyHolder): boolean {
    return this.#given.some(({ holder }) => holder === key);
  }

  /** Makes a key. Its text is returned here and never again. Throws `KeyRefused` and `KeyStoreBusy`. */
  add(asked: KeyForm): { key: string; record: KeyRecord } {
    const problems = checkKey(asked);
    const { name, kind } = asked;
    if (problems.length > 0 || !isKeyKind(kind)) throw new KeyRefused(problems);
    const key = makeKeyText();
    const { expiresMs, quotaMs, price } = termsOf(asked);
    const now = this.#now();
    const limits = limitsOf(asked);
    const row = {
      id: `key-${randomBytes(8).toString('hex')}`,
      name,
      kind,
      endpoints: asked.endpoints && JSON.stringify([...new Set(asked.endpoints)]),
      createdAt: now,
      expiresAt: expiresMs && now + expiresMs,
      ownJobs: asked.ownJobs === true ? (1 as const) : (0 as const),
      readOnly: asked.readOnly === true ? (1 as const) : (0 as const),
      quotaMs,
      price,
      limits: Object.values(limits).every((limit) => limit === null) ? null : JSON.stringify(limits),
    };
    this.#change(() => {
      this.#assertRoom(name);
      this.#sql.insert.run({ ...row, digest: digestOf(key) });
    });
    return { key, record: asRead({ ...row, lastUsedAt: null, lastUsedFrom: null, revokedAt: null }) };
  }

  /**
   * Gives a key a new text, which is returned here and never again. The id stays: the successor has the same jobs, usage,
   * quota and idempotency keys. Undefined if there is no such key. Throws `KeyRefused` and `KeyStoreBusy`.
   */
  rotate(nameOrId: string, asked: Rotation): { key: string; record: KeyRecord } | undefined {
    const problems = checkRotation(asked);
    if (problems.length > 0) throw new KeyRefused(problems);
    const { overlapMs, expiresMs } = termsOf(asked);
    return this.#change(() => {
      const row = this.#sql.named.get({ nameOrId });
      if (row === undefined) return undefined;
      const now = this.#now();
      if (row.revokedAt !== null)
        throw new KeyRefused([{ field: 'name', text: `the key ${row.name} is revoked; add another one` }]);
      const expiresAt = expiresMs === null ? row.expiresAt : now + expiresMs;
      if (expiresAt !== null && expiresAt <= now)
        throw new KeyRefused([
          {
            field: 'expires',
            text: `the key ${row.name} has expired; say for how long the new one is valid`,
          },
        ]);
      const key = makeKeyText();
      this.#sql.rotate.run({ id: row.id, digest: digestOf(key), until: now + (overlapMs ?? 0), expiresAt });
      return { key, record: asRead({ ...row, expiresAt }) };
    });
  }

  /** The key is good for nothing any more; one that was revoked before stays so. Undefined where there is no such key. */
  revoke(nameOrId: string): KeyRecord | undefined {
    return this.#change(() => {
      const row = this.#sql.named.get({ nameOrId });
      if (row === undefined) return undefined;
      const now = this.#now();
      if (row.revokedAt === null) this.#sql.revoke.run({ id: row.id, now });
      return asRead({ ...row, revokedAt: row.revokedAt ?? now });
    });
  }

  /** All that are stored, revoked ones as well, in the order in which they were made. */
  list(): KeyRecord[] {
    return this.#sql.all.all().map(asRead);
  }

  /** Those that come from outside. */
  get given(): KeyHolder[] {
    return this.#given.map(({ holder }) => holder);
  }

  get file(): Database {
    return this.#db;
  }

  close(): void {
    this.#db.close();
  }

  /** People may have chosen these: the time it takes tells nothing of the digest, from which they could be guessed. */
  #findGiven(presented: Buffer): KeyHolder | undefined {
    let found: KeyHolder | undefined;
    // All are compared, also after a match.
    for (const { holder, digest } of this.#given) if (timingSafeEqual(digest, presented)) found ??= holder;
    return found;
  }

  /**
   * How long the look-up takes may tell how much of a digest was right. That helps nobody: to try digests one has to
   * find keys that have them, and no part of a digest tells anything of the 256 random bits it was made of.
   */
  #findStored(digest: Buffer, from: string | undefined): KeyHolder | undefined {
    const version = this.#sql.version.get();
    if (version !== this.#version) this.#read.clear();
    this.#version = version;
    const now = this.#now();
    const name = digest.toString('latin1');
    const known = this.#read.get(name);
    const isGood = known !== undefined && (known.until === null || now < known.until);
    const key = isGood ? known : this.#readKey(digest, now);
    if (key === undefined) return undefined;
    if (!isGood) this.#read.set(name, key);
    this.#noteUse(key.holder.id, key.lastUsedAt, from);
    return key.holder;
  }

  #readKey(digest: Buffer, now: number): ReadKey | undefined {
    // Few keys are rotated: one look in an index is enough for all others.
    const row = this.#sql.find.get({ digest, now }) ?? this.#sql.findEarlier.get({ digest, now });
    if (row === undefined) return undefined;
    const { lastUsedAt, until, ...holder } = row;
    return { holder: asRead(holder), lastUsedAt, until };
  }

  /** Once a minute at most, and neither a full disk nor another writer keeps the key from its work. */
  #noteUse(id: string, lastUsedAt: number | null, from: string | undefined): void {
    const now = this.#now();
    const notedAt = this.#notedAt.get(id) ?? lastUsedAt;
    // A clock that was set back must not keep it from being noted.
    if (notedAt !== null && Math.abs(now - notedAt) < msBetweenUses) return;
    this.#notedAt.set(id, now);
    this.#db.exec('PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL');
    try {
      this.#sql.use.run({ id, now, from: from?.replace(/^::ffff:/, '') });
    } catch (error) {
      if (!(error instanceof Sqlite.SqliteError)) throw error;
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${this.#busyMs}; PRAGMA synchronous = FULL`);
    }
  }

  #assertRoom(name: string): void {
    const stored = this.#sql.named.get({ nameOrId: name });
    const reserved = [...this.#given.map(({ holder }) => holder), { name: OwnWorkerKeys.holderName }];
    const namesake = stored ?? reserved.find((one) => one.name.toLowerCase() === name.toLowerCase());
    if (namesake !== undefined) {
      const isRevoked = stored !== undefined && stored.revokedAt !== null;
      const text = isRevoked
        ? `the name ${namesake.name} belongs to a revoked key, whose usage is still listed`
        : `the name ${namesake.name} is taken`;
      throw new KeyRefused([{ field: 'name', text: `${text}; choose another name` }]);
    }
    if ((this.#sql.valid.get({ now: this.#now() })?.keys ?? 0) < maxKeys) return;
    const text = `there are ${maxKeys.toLocaleString('en')} keys, the maximum; revoke one first`;
    throw new KeyRefused([{ field: 'name', text }]);
  }

  #change<T>(work: () => T): T {
    // SQLite's number does not count changes by this connection.
    this.#read.clear();
    return orBusy(this.#db.name, () => this.#db.transaction(work).immediate());
  }
}

/** Errors never contain the keys. */
function assertGiven(given: readonly GivenKey[]): void {
  const wrong = given.find(({ key }) => !fitsHeader(key));
  if (wrong !== undefined)
    throw new Error(`the key ${wrong.name} is empty or holds characters that a header cannot carry`);
}

function asRead<Row extends Pick<KeyRow, 'endpoints' | 'ownJobs' | 'readOnly' | 'limits'>>({
  endpoints,
  ownJobs,
  readOnly,
  limits,
  ...row
}: Row) {
  const ids = endpoints === null ? null : (JSON.parse(endpoints) as string[]);
  const bounds: KeyLimits = limits === null ? noLimits : (JSON.parse(limits) as KeyLimits);
  return {
    ...row,
    endpoints: ids,
    hasOwnJobsOnly: ownJobs === 1,
    isReadOnly: readOnly === 1,
    limits: bounds,
  };
}

function orBusy<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError) || !error.code.startsWith('SQLITE_BUSY')) throw error;
    throw new KeyStoreBusy(`another program has locked ${path}; try again when it has finished`);
  }
}
