/** The file of the key book: what stands in `keys.sqlite`. */
import type { Schema } from '../../lib/sqlite/database.ts';

/**
 * One row a key, which stays when the key is revoked: what was done with it is told by its name, which therefore never
 * becomes another's. `endpoints` is a JSON array of ids, NULL for all. `digest` is the SHA-256 of the key, which is
 * itself kept nowhere. Instants are epoch ms.
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
  ],
};
