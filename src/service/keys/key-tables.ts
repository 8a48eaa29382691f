/** Schema and prepared statements of `keys.sqlite`. */
import type { Schema, Database } from '../../lib/sqlite/database.ts';
import type { KeyKind } from '../model/key.ts';

/**
 * Tables of the key store. Times are epoch ms.
 *
 * `apiKey` has one row for each key. Revoked keys stay, because usage is listed by name, and a name is never used
 * again. `endpoints` is a JSON array of ids, NULL for all. `ownJobs` is 1 if the key sees only its own jobs.
 * `digest` is the SHA-256 of the key, which is not stored. `previousDigest` is that of its text before the
 * rotation, which is accepted until `previousUntil`.
 */
export const keySchema: Schema = {
  applicationId: 0x6e724b59,
  migrations: [
    `CREATE TABLE apiKey (
       number     INTEGER PRIMARY KEY,
       id         TEXT NOT NULL UNIQUE,
       name       TEXT NOT NULL COLLATE NOCASE UNIQUE,
       kind       TEXT NOT NULL CHECK (kind IN ('client', 'worker', 'admin')),
       endpoints  TEXT,
       digest     BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
       createdAt  INTEGER NOT NULL,
       lastUsedAt INTEGER,
       revokedAt  INTEGER
     ) STRICT;`,
    'ALTER TABLE apiKey ADD COLUMN quotaMs INTEGER; ALTER TABLE apiKey ADD COLUMN price REAL;',
    // Sessions of the console. `id` is the digest of cookie and token, `keyDigest` that of the key.
    'CREATE TABLE session (id BLOB PRIMARY KEY, keyDigest BLOB NOT NULL, signedInAt INTEGER NOT NULL) STRICT, WITHOUT ROWID;',
    'ALTER TABLE apiKey ADD COLUMN ownJobs INTEGER NOT NULL DEFAULT 0;',
    `ALTER TABLE apiKey ADD COLUMN readOnly INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE apiKey ADD COLUMN expiresAt INTEGER;
     ALTER TABLE apiKey ADD COLUMN lastUsedFrom TEXT;
     ALTER TABLE apiKey ADD COLUMN previousDigest BLOB;
     ALTER TABLE apiKey ADD COLUMN previousUntil INTEGER;
     CREATE INDEX previousDigest ON apiKey (previousDigest) WHERE previousDigest IS NOT NULL;`,
    // JSON of the limits that are set; NULL for none.
    'ALTER TABLE apiKey ADD COLUMN limits TEXT;',
  ],
};

export interface KeyRow {
  id: string;
  name: string;
  kind: KeyKind;
  /** JSON array of endpoint ids; null for all. */
  endpoints: string | null;
  createdAt: number;
  lastUsedAt: number | null;
  lastUsedFrom: string | null;
  revokedAt: number | null;
  expiresAt: number | null;
  quotaMs: number | null;
  price: number | null;
  ownJobs: 0 | 1;
  readOnly: 0 | 1;
  /** JSON text of `KeyLimits`; null for none. */
  limits: string | null;
}

/** Columns that each request needs. */
export interface FoundKey extends Omit<
  KeyRow,
  'createdAt' | 'revokedAt' | 'price' | 'lastUsedFrom' | 'expiresAt'
> {
  /** Time from which the digest no longer finds the key; null for never. */
  until: number | null;
}

/** A session of the console. `signedInAt` is epoch ms. */
export interface Session {
  id: Buffer;
  keyDigest: Buffer;
  signedInAt: number;
}

type NewKeyRow = Omit<KeyRow, 'lastUsedAt' | 'lastUsedFrom' | 'revokedAt'> & { digest: Buffer };

const columns =
  'id, name, kind, endpoints, createdAt, lastUsedAt, lastUsedFrom, revokedAt, expiresAt, quotaMs, price, ownJobs, readOnly, limits';
const found = 'id, name, kind, endpoints, lastUsedAt, quotaMs, ownJobs, readOnly, limits';
const isValid = 'revokedAt IS NULL AND (expiresAt IS NULL OR expiresAt > @now)';

export function prepareKeyStatements(db: Database) {
  return {
    find: db.prepare<[{ digest: Buffer; now: number }], FoundKey>(
      `SELECT ${found}, expiresAt AS until FROM apiKey WHERE digest = @digest AND ${isValid}`,
    ),
    /** Changes when another connection has changed the file. */
    version: db.prepare<[], number>('PRAGMA data_version').pluck(),
    /** Finds a key by its text before the rotation. */
    findEarlier: db.prepare<[{ digest: Buffer; now: number }], FoundKey>(
      `SELECT ${found}, min(previousUntil, coalesce(expiresAt, previousUntil)) AS until
       FROM apiKey WHERE previousDigest = @digest AND previousUntil > @now AND ${isValid}`,
    ),
    name: db.prepare<[{ digest: Buffer }], { name: string }>(
      'SELECT name FROM apiKey WHERE digest = @digest OR previousDigest = @digest',
    ),
    digests: db.prepare<[{ id: string; now: number }], { digest: Buffer; previous: Buffer | null }>(
      `SELECT digest, iif(previousUntil > @now, previousDigest, NULL) AS previous FROM apiKey WHERE id = @id`,
    ),
    /** Names are compared without regard to case. */
    named: db.prepare<[{ nameOrId: string }], KeyRow>(
      `SELECT ${columns} FROM apiKey WHERE name = @nameOrId OR id = @nameOrId`,
    ),
    all: db.prepare<[], KeyRow>(`SELECT ${columns} FROM apiKey ORDER BY number`),
    valid: db.prepare<[{ now: number }], { keys: number }>(
      `SELECT count(*) AS keys FROM apiKey WHERE ${isValid}`,
    ),
    insert: db.prepare<[NewKeyRow]>(
      `INSERT INTO apiKey (id, name, kind, endpoints, digest, createdAt, expiresAt, quotaMs, price, ownJobs, readOnly, limits)
       VALUES (@id, @name, @kind, @endpoints, @digest, @createdAt, @expiresAt, @quotaMs, @price, @ownJobs, @readOnly, @limits)`,
    ),
    revoke: db.prepare<[{ id: string; now: number }]>('UPDATE apiKey SET revokedAt = @now WHERE id = @id'),
    rotate: db.prepare<[{ id: string; digest: Buffer; until: number; expiresAt: number | null }]>(
      `UPDATE apiKey SET previousDigest = digest, previousUntil = @until, digest = @digest, expiresAt = @expiresAt
       WHERE id = @id`,
    ),
    use: db.prepare<[{ id: string; now: number; from: string | undefined }]>(
      'UPDATE apiKey SET lastUsedAt = @now, lastUsedFrom = coalesce(@from, lastUsedFrom) WHERE id = @id',
    ),
    signIn: db.prepare<[Session]>('INSERT INTO session VALUES (@id, @keyDigest, @signedInAt)'),
    session: db.prepare<[Buffer], Session>('SELECT id, keyDigest, signedInAt FROM session WHERE id = ?'),
    signOut: db.prepare<[Buffer]>('DELETE FROM session WHERE id = ?'),
    /** Deletes expired sessions, and the oldest ones beyond the maximum. */
    forgetSessions: db.prepare<[{ until: number; max: number }]>(
      `DELETE FROM session WHERE signedInAt <= @until
         OR id NOT IN (SELECT id FROM session ORDER BY signedInAt DESC LIMIT @max)`,
    ),
  };
}
