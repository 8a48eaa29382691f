/** The file of the job book: what stands in `service.sqlite`. */
import type { Schema } from '../sqlite/database.ts';

/** What a job is; the states may differ from one version to the next. */
const jobColumns = (states: string): string => `
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
       output     TEXT`;

const jobIndexes = `
     CREATE INDEX jobOpen ON job (endpointId, state, number) WHERE endedAt IS NULL;
     CREATE INDEX jobEnded ON job (endedAt) WHERE endedAt IS NOT NULL;`;

/** Adds to the tally of an endpoint, for a trigger. */
const counting = (endpointId: string, what: string, by: number): string => `
       INSERT INTO tally (endpointId, what, jobs) VALUES (${endpointId}, ${what}, ${by})
         ON CONFLICT DO UPDATE SET jobs = jobs + ${by};`;

/**
 * One row a job, deleted once its result has been kept long enough. `number` grows with every accepted
 * job and is the queue's order. Instants are epoch ms: `queuedAt` is when it was accepted or last put back,
 * `startedAt` when a worker took it, `endedAt` when it settled. `input` and `output` are JSON as text; they come
 * last, so that a long one is not read past when only the state is wanted.
 *
 * `tally` counts an endpoint's jobs by state, and how often one was put back into the queue (`retried`), so that its
 * health is told without counting rows; what has ended stays in it when the job is deleted.
 */
export const jobSchema: Schema = {
  applicationId: 0x6e725356,
  migrations: [
    `CREATE TABLE job (${jobColumns("'IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED'")}) STRICT;${jobIndexes}`,
    // The states that a table allows cannot be changed in place.
    `ALTER TABLE job RENAME TO formerJob;
     CREATE TABLE job (${jobColumns("'IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'")}) STRICT;
     INSERT INTO job SELECT * FROM formerJob;
     DROP TABLE formerJob;${jobIndexes}
     CREATE TABLE tally (
       endpointId TEXT NOT NULL,
       what       TEXT NOT NULL,
       jobs       INTEGER NOT NULL,
       PRIMARY KEY (endpointId, what)
     ) STRICT, WITHOUT ROWID;
     INSERT INTO tally SELECT endpointId, state, count(*) FROM job GROUP BY endpointId, state;
     CREATE TRIGGER jobAccepted AFTER INSERT ON job BEGIN${counting('NEW.endpointId', 'NEW.state', 1)}
     END;
     CREATE TRIGGER jobMoved AFTER UPDATE OF state ON job BEGIN
       UPDATE tally SET jobs = jobs - 1 WHERE endpointId = OLD.endpointId AND what = OLD.state;${counting('NEW.endpointId', 'NEW.state', 1)}
     END;
     CREATE TRIGGER jobPutBack AFTER UPDATE OF state ON job WHEN OLD.state = 'IN_PROGRESS' AND NEW.state = 'IN_QUEUE'
     BEGIN${counting('NEW.endpointId', "'retried'", 1)}
     END;`,
  ],
};
