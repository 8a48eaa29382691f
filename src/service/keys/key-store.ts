/** The key store: finds the key of a request, and adds, rotates and revokes keys. */
import { InUse } from '../../lib/files/temporary-files.ts';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { type Database, isBusy, openForWriting, Sqlite } from '../../lib/sqlite/database.ts';
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
  presentedKey,
  unlimited,
  type KeyHolder,
  type KeyKind,
  type KeyLimits,
  noLimits,
  type KeyRecord,
  OwnWorkerKeys,
} from '../model/key.ts';

/** A key from outside, such as from the environment. It is valid while the store is open. */
export interface GivenKey {
  name: string;
  key: string;
  kind: KeyKind;
}

export interface KeyStoreOptions {
  /** Keys that are not stored, and cannot be listed or revoked. Their names are their ids. */
  given?: readonly GivenKey[];
  /** Keys of the service's own workers. They are neither stored nor listed. */
  ownWorkers?: readonly OwnWorkerKeys[];
  now: () => number;
  /** Ms to wait for another program's change, which takes milliseconds unless that program hangs. */
  busyMs?: number;
}

/** A key cannot be created or changed as requested. The message lists all problems. */
export class KeyRefused extends Error {
  readonly problems: FieldProblem[];

  constructor(problems: FieldProblem[]) {
    super(problems.map(({ text }) => text).join('; '));
    this.problems = problems;
  }
}

/** Another program has locked the file for too long. */
export class KeyStoreBusy extends InUse {}

const maxKeys = 1_000;

const defaultBusyMs = 2_000;

const msBetweenUses = 60_000;

interface CachedKey {
  holder: KeyHolder;
  lastUsedAt: number | null;
  /** Time (epoch ms) from which the text is no longer accepted; null for never. */
  until: number | null;
}

/** Keys in `keys.sqlite`, cached until the file changes, which several programs may do. */
export class KeyStore {
  readonly #db: Database;
  readonly #sql: ReturnType<typeof prepareKeyStatements>;
  readonly #now: () => number;
  readonly #busyMs: number;
  readonly #given: readonly { holder: KeyHolder; digest: Buffer }[];
  readonly #ownWorkers: readonly OwnWorkerKeys[];
  /** Time of the last recorded use, by key id. */
  readonly #notedAt = new Map<string, number>();
  /** Keys found since the file last changed, by digest. */
  readonly #cache = new Map<string, CachedKey>();
  /** SQLite's counter of changes by other connections, when the cache was filled. */
  #version: number | undefined;

  /** Opens or creates the store. Throws `UnusableDatabase` for another kind of file, and `KeyStoreBusy`. */
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

  /** Returns the holder of the key in `Authorization`, or undefined. `from`: client address, which is recorded. */
  find(authorization: string | undefined, from?: string): KeyHolder | undefined {
    const presented = presentedKey(authorization);
    if (presented === undefined) return undefined;
    const digest = digestOf(presented);
    const own = this.#ownWorkers.map((keys) => keys.find(presented)).find((holder) => holder !== undefined);
    return own ?? this.ofDigest(digest, from);
  }

  /** Like `find`, for a key of which only the digest is known. Does not find keys of own workers. */
  ofDigest(digest: Buffer, from?: string): KeyHolder | undefined {
    return this.#findGiven(digest) ?? this.#findStored(digest, from);
  }

  /** Returns the name of a stored key, valid or not; null if no key has this digest. */
  nameOf(digest: Buffer): string | null {
    return this.#sql.name.get({ digest })?.name ?? null;
  }

  /** Returns the digests of a key, and of its earlier text while valid; empty for an unknown id. */
  digestsOf(id: string): Buffer[] {
    const given = this.#given.find(({ holder }) => holder.id === id);
    if (given !== undefined) return [given.digest];
    const { digest, previous = null } = this.#sql.digests.get({ id, now: this.#now() }) ?? {};
    return [digest ?? [], previous ?? []].flat();
  }

  /** Adds a session. Deletes sessions that began at `until` or before, and all but the newest `max`. */
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

  /** True if the key came from outside, where people may have chosen it. */
  isGiven(key: KeyHolder): boolean {
    return this.#given.some(({ holder }) => holder === key);
  }

  /** Creates a key. Its text is returned only here. Throws `KeyRefused` and `KeyStoreBusy`. */
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
    return { key, record: recordOf({ ...row, lastUsedAt: null, lastUsedFrom: null, revokedAt: null }) };
  }

  /**
   * Gives a key a new text, returned only here; all else stays. Undefined if there is no such key. Throws
   * `KeyRefused` and `KeyStoreBusy`.
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
      return { key, record: recordOf({ ...row, expiresAt }) };
    });
  }

  /** Revokes a key. A key that was already revoked keeps its date. Undefined if there is no such key. */
  revoke(nameOrId: string): KeyRecord | undefined {
    return this.#change(() => {
      const row = this.#sql.named.get({ nameOrId });
      if (row === undefined) return undefined;
      const now = this.#now();
      if (row.revokedAt === null) this.#sql.revoke.run({ id: row.id, now });
      return recordOf({ ...row, revokedAt: row.revokedAt ?? now });
    });
  }

  /** Returns all stored keys, including revoked ones, oldest first. */
  list(): KeyRecord[] {
    return this.#sql.all.all().map(recordOf);
  }

  get given(): KeyHolder[] {
    return this.#given.map(({ holder }) => holder);
  }

  get file(): Database {
    return this.#db;
  }

  close(): void {
    this.#db.close();
  }

  /** Finds a key from outside in constant time: people may have chosen it, so timing must not reveal its digest. */
  #findGiven(presented: Buffer): KeyHolder | undefined {
    let found: KeyHolder | undefined;
    // Compares all of them, even after a match.
    for (const { holder, digest } of this.#given) if (timingSafeEqual(digest, presented)) found ??= holder;
    return found;
  }

  /** Finds a stored key. Lookup time may reveal parts of a digest, which say nothing about the key. */
  #findStored(digest: Buffer, from: string | undefined): KeyHolder | undefined {
    const version = this.#sql.version.get();
    if (version !== this.#version) this.#cache.clear();
    this.#version = version;
    const now = this.#now();
    const name = digest.toString('latin1');
    const known = this.#cache.get(name);
    const isCached = known !== undefined && (known.until === null || now < known.until);
    const key = isCached ? known : this.#readKey(digest, now);
    if (key === undefined) return undefined;
    if (!isCached) this.#cache.set(name, key);
    this.#noteUse(key.holder.id, key.lastUsedAt, from);
    return key.holder;
  }

  #readKey(digest: Buffer, now: number): CachedKey | undefined {
    // Looks for rotated keys second: they are rare, so one index lookup is enough for most requests.
    const row = this.#sql.find.get({ digest, now }) ?? this.#sql.findEarlier.get({ digest, now });
    if (row === undefined) return undefined;
    const { lastUsedAt, until, ...holder } = row;
    return { holder: recordOf(holder), lastUsedAt, until };
  }

  /** Records the use of a key once a minute, unless the disk is full or busy: requests must not wait. */
  #noteUse(id: string, lastUsedAt: number | null, from: string | undefined): void {
    const now = this.#now();
    const notedAt = this.#notedAt.get(id) ?? lastUsedAt;
    // Compares in both directions: a clock that was set back must not prevent it.
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
    // SQLite's counter does not include changes by this connection.
    this.#cache.clear();
    return orBusy(this.#db.name, () => this.#db.transaction(work).immediate());
  }
}

/** Throws if a header cannot carry one of the keys. The error never contains a key. */
function assertGiven(given: readonly GivenKey[]): void {
  const wrong = given.find(({ key }) => !fitsHeader(key));
  if (wrong !== undefined)
    throw new Error(`the key ${wrong.name} is empty or holds characters that a header cannot carry`);
}

function recordOf<Row extends Pick<KeyRow, 'endpoints' | 'ownJobs' | 'readOnly' | 'limits'>>({
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
    if (!isBusy(error)) throw error;
    throw new KeyStoreBusy(`another program has locked ${path}; try again when it has finished`);
  }
}

/** Lets secret scanners recognise leaked keys. */
const prefix = 'nr_';

/** As long as the digest. In base64url, 32 bytes are 43 characters. */
const keyBytes = 32;

function makeKeyText(): string {
  return prefix + randomBytes(keyBytes).toString('base64url');
}
