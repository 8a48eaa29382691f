/** The key book's statements, prepared once. */
import type { Database } from '../../lib/sqlite/database.ts';
import type { KeyKind } from './key.ts';

/** A key as it stands in the file. */
export interface KeyRow {
  id: string;
  name: string;
  kind: KeyKind;
  /** JSON text; null for all. */
  endpoints: string | null;
  createdAt: number;
  lastUsedAt: number | null;
  revokedAt: number | null;
}

/** No more than every request needs. */
export type FoundKey = Omit<KeyRow, 'createdAt' | 'revokedAt'>;

type NewKeyRow = Omit<KeyRow, 'lastUsedAt' | 'revokedAt'> & { digest: Buffer };

const columns = 'id, name, kind, endpoints, createdAt, lastUsedAt, revokedAt';

export function prepareKeyStatements(db: Database) {
  return {
    find: db.prepare<[Buffer], FoundKey>(
      `SELECT id, name, kind, endpoints, lastUsedAt FROM apiKey WHERE digest = ? AND revokedAt IS NULL`,
    ),
    /** Names are compared without regard to case. */
    named: db.prepare<[{ nameOrId: string }], KeyRow>(
      `SELECT ${columns} FROM apiKey WHERE name = @nameOrId OR id = @nameOrId`,
    ),
    all: db.prepare<[], KeyRow>(`SELECT ${columns} FROM apiKey ORDER BY number`),
    valid: db.prepare<[], { keys: number }>('SELECT count(*) AS keys FROM apiKey WHERE revokedAt IS NULL'),
    insert: db.prepare<[NewKeyRow]>(
      `INSERT INTO apiKey (id, name, kind, endpoints, digest, createdAt)
       VALUES (@id, @name, @kind, @endpoints, @digest, @createdAt)`,
    ),
    revoke: db.prepare<[{ id: string; now: number }]>('UPDATE apiKey SET revokedAt = @now WHERE id = @id'),
    use: db.prepare<[{ id: string; now: number }]>('UPDATE apiKey SET lastUsedAt = @now WHERE id = @id'),
  };
}
