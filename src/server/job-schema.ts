/** The file of the job book: what stands in `service.sqlite`. */
import type { Schema } from '../sqlite/database.ts';
import { jobMoves } from './job-moves.ts';

const states = Object.keys(jobMoves)
  .map((state) => `'${state}'`)
  .join(', ');

/**
 * One table, one row a job, deleted once its result has been kept long enough. `number` grows with every accepted
 * job and is the queue's order. Instants are epoch ms: `queuedAt` is when it was accepted or last put back,
 * `startedAt` when a worker took it, `endedAt` when it settled. `input` and `output` are JSON as text; they come
 * last, so that a long one is not read past when only the state is wanted.
 */
export const jobSchema: Schema = {
  applicationId: 0x6e725356,
  migrations: [
    `CREATE TABLE job (
       number     INTEGER PRIMARY KEY,
       id         TEXT NOT NULL UNIQUE,
       endpointId TEXT NOT NULL,
       state      TEXT NOT NULL CHECK (state IN (${states})),
       acceptedAt INTEGER NOT NULL,
       queuedAt   INTEGER NOT NULL,
       startedAt  INTEGER,
       endedAt    INTEGER,
       error      TEXT,
       input      TEXT NOT NULL,
       output     TEXT
     ) STRICT;
     CREATE INDEX jobOpen ON job (endpointId, state, number) WHERE endedAt IS NULL;
     CREATE INDEX jobEnded ON job (endedAt) WHERE endedAt IS NOT NULL;`,
  ],
};
