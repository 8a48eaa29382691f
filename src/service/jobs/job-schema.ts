/** Schema and migrations of the job store, `service.sqlite`. */
import type { Schema } from '../../lib/sqlite/database.ts';

/** Returns trigger SQL that adds `by` to a counter of an endpoint. */
const counting = (endpointId: string, what: string, by: number): string => `
       INSERT INTO tally (endpointId, what, jobs) VALUES (${endpointId}, ${what}, ${by})
         ON CONFLICT DO UPDATE SET jobs = jobs + ${by};`;

/** Step to a version that no release has written. The step after it also upgrades stores of that version. */
const partOfNext = '';

/** Columns of a job since version 3. */
const servedJobColumns = `
       number      INTEGER PRIMARY KEY,
       id          TEXT NOT NULL UNIQUE,
       endpointId  TEXT NOT NULL,
       state       TEXT NOT NULL
         CHECK (state IN ('IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT')),
       acceptedAt  INTEGER NOT NULL,
       queuedAt    INTEGER NOT NULL,
       startedAt   INTEGER,
       endedAt     INTEGER,
       expiresAt   INTEGER NOT NULL,
       ttlMs       INTEGER NOT NULL,
       executionTimeoutMs INTEGER NOT NULL,
       isLowPriority INTEGER NOT NULL,
       maxRetries  INTEGER NOT NULL,
       retries     INTEGER NOT NULL,
       keyId       TEXT NOT NULL,
       workerId    TEXT,
       isPulled    INTEGER NOT NULL,
       error       TEXT,
       log         TEXT,
       outputFile  TEXT,
       summary     TEXT NOT NULL,
       progress    TEXT,
       input       TEXT NOT NULL,
       output      TEXT`;

const servedJobTables = `
     CREATE INDEX jobOpen ON job (endpointId, state, isLowPriority, number) WHERE endedAt IS NULL;
     CREATE INDEX jobEnded ON job (endedAt) WHERE endedAt IS NOT NULL;
     CREATE INDEX jobExpiring ON job (expiresAt) WHERE endedAt IS NULL;
     CREATE INDEX jobOverdue ON job (startedAt + executionTimeoutMs) WHERE state = 'IN_PROGRESS';
     CREATE INDEX jobListed ON job (endpointId, number);
     CREATE TABLE part (
       number INTEGER PRIMARY KEY,
       job    INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
       output TEXT NOT NULL
     ) STRICT;
     CREATE INDEX partOfJob ON part (job);
     CREATE TABLE webhook (
       job   INTEGER PRIMARY KEY REFERENCES job (number) ON DELETE CASCADE,
       url   TEXT NOT NULL,
       tries INTEGER NOT NULL,
       dueAt INTEGER
     ) STRICT;
     CREATE INDEX webhookDue ON webhook (dueAt) WHERE dueAt IS NOT NULL;
     CREATE TABLE usage (
       keyId      TEXT NOT NULL,
       endpointId TEXT NOT NULL,
       jobs       INTEGER NOT NULL,
       gpuMs      INTEGER NOT NULL,
       PRIMARY KEY (keyId, endpointId)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE endpoint (
       id        TEXT PRIMARY KEY,
       settings  TEXT NOT NULL,
       madeAt    INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;`;

const longTextTables = `
     CREATE TABLE input (
       job   INTEGER PRIMARY KEY,
       file  TEXT,
       bytes INTEGER,
       text  TEXT CHECK ((text IS NULL) = (file IS NOT NULL))
     ) STRICT;
     DROP INDEX partOfJob;
     ALTER TABLE part RENAME TO formerPart;
     CREATE TABLE part (
       number INTEGER PRIMARY KEY,
       job    INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
       file   TEXT,
       text   TEXT CHECK ((text IS NULL) = (file IS NOT NULL))
     ) STRICT;`;

const servedJobTriggers = `
     CREATE TRIGGER jobAccepted AFTER INSERT ON job BEGIN${counting('NEW.endpointId', 'NEW.state', 1)}
       INSERT INTO usage VALUES (NEW.keyId, NEW.endpointId, 1, 0) ON CONFLICT DO UPDATE SET jobs = jobs + 1;
     END;
     CREATE TRIGGER jobMoved AFTER UPDATE OF state ON job BEGIN
       UPDATE tally SET jobs = jobs - 1 WHERE endpointId = OLD.endpointId AND what = OLD.state;${counting('NEW.endpointId', 'NEW.state', 1)}
     END;
     CREATE TRIGGER jobPutBack AFTER UPDATE OF state ON job WHEN OLD.state <> 'IN_QUEUE' AND NEW.state = 'IN_QUEUE'
     BEGIN${counting('NEW.endpointId', "'retried'", 1)}
     END;
     CREATE TRIGGER jobLeftWorker AFTER UPDATE OF state ON job WHEN OLD.state = 'IN_PROGRESS' BEGIN
       INSERT INTO usage VALUES (NEW.keyId, NEW.endpointId, 0, max(0, coalesce(NEW.endedAt, NEW.queuedAt) - OLD.startedAt))
         ON CONFLICT DO UPDATE SET gpuMs = gpuMs + excluded.gpuMs;
     END;`;

/**
 * Tables of the job store. Times are epoch ms.
 *
 * `job` has one row for each job, deleted when its retention is over. `number` grows with every accepted job and
 * orders jobs of the same key and priority. `queuedAt` is when the job was accepted or last requeued, `startedAt`
 * when a worker then took it, `endedAt` when it ended. `expiresAt` is when it times out, `ttlMs` after it was
 * accepted or retried. `retries` counts requeues because its worker died. `isPulled` is 1 if its worker pulls jobs
 * over the network, so it may outlive the service. `errorValue` is JSON of an error that is not a string. `output`
 * and `progress` are JSON text. `output` is a late column, so that reading the state does not read a long text. A
 * long output is stored in the file `outputFile` instead. `log` is the log of its worker, `summary` the beginning
 * of its prompt.
 *
 * `input` holds the input of a job apart, because every move rewrites the whole row of the job, and the input never
 * changes. It has no foreign key, which would cost a lookup for each change; it is deleted with its job. `bytes` is
 * the size of a long input in a file. `idempotencyKey` and `body` are digests that find the job of a repeated
 * submission. `part` holds unread parts of a job's stream. `webhook.dueAt` is null until the job has ended, and
 * once the webhook was delivered or given up; `why` is the error of the latest try. `endpoint` holds endpoints
 * created in the console. `credentials` holds the bucket of a job's results, null once the job has ended. `paused`
 * holds paused endpoints. `idempotent.since` is when idempotency keys began to be stored; 0 in a new store.
 *
 * `tally` counts the jobs of an endpoint by state, and requeues (`retried`), so that health needs no counting.
 * Deleted jobs stay counted if they had ended. `usage` sums up submissions of a key, and the time that its jobs
 * took in the workers that ended them (`gpuMs`). `dayMs` is the part of it that ended on `day`, in days since 1970
 * (UTC). `queued` counts queued jobs, `queuedBytes` is the size of their inputs (`inputBytes`), and `openMs` is the
 * sum of the execution timeouts of all jobs that have not ended.
 */
export const jobSchema: Schema = {
  applicationId: 0x6e725356,
  migrations: [
    `CREATE TABLE job (
       number     INTEGER PRIMARY KEY,
       id         TEXT NOT NULL UNIQUE,
       endpointId TEXT NOT NULL,
       state      TEXT NOT NULL CHECK (state IN ('IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED')),
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
    partOfNext,
    // A store of the second version has a tally, which also counts jobs that were deleted since.
    `CREATE TABLE IF NOT EXISTS tally (
       endpointId TEXT NOT NULL,
       what       TEXT NOT NULL,
       jobs       INTEGER NOT NULL,
       PRIMARY KEY (endpointId, what)
     ) STRICT, WITHOUT ROWID;
     INSERT OR IGNORE INTO tally SELECT endpointId, state, count(*) FROM job GROUP BY endpointId, state;
     ALTER TABLE job RENAME TO formerJob;
     DROP INDEX jobOpen;
     DROP INDEX jobEnded;
     CREATE TABLE job (${servedJobColumns}) STRICT;${servedJobTables}
     INSERT INTO job (number, id, endpointId, state, acceptedAt, queuedAt, startedAt, endedAt, expiresAt, ttlMs,
         executionTimeoutMs, isLowPriority, maxRetries, retries, keyId, isPulled, error, summary, input, output)
       SELECT number, id, endpointId, state, acceptedAt, queuedAt,
         CASE WHEN startedAt >= queuedAt AND state <> 'IN_QUEUE' THEN startedAt END, endedAt,
         acceptedAt + 86400000, 86400000,
         600000, 0, 2, 0, 'none', 0, error, '', input, output FROM formerJob;
     DROP TABLE formerJob;${servedJobTriggers}`,
    partOfNext,
    // `jobOpen` finds jobs that have not ended, so `jobSettled` costs nothing when a job is accepted. Nothing may
    // remain of texts in their former places.
    `CREATE INDEX IF NOT EXISTS jobSettled ON job (endpointId, state, number) WHERE endedAt IS NOT NULL;
     PRAGMA secure_delete = ON;${longTextTables}
     INSERT INTO input (job, text) SELECT number, input FROM job;
     ALTER TABLE job DROP COLUMN input;
     INSERT INTO part (number, job, text) SELECT number, job, output FROM formerPart;
     DROP TABLE formerPart;
     CREATE INDEX partOfJob ON part (job);
     UPDATE job SET outputFile = 'results/' || outputFile WHERE outputFile IS NOT NULL;`,
    'ALTER TABLE job ADD COLUMN errorValue TEXT;',
    // The index lists each key apart, so that keys can take turns.
    `DROP INDEX jobOpen;
     CREATE INDEX jobOpen ON job (endpointId, state, isLowPriority, keyId, number) WHERE endedAt IS NULL;`,
    'CREATE TABLE paused (endpointId TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;',
    `CREATE TABLE credentials (
       job      INTEGER PRIMARY KEY REFERENCES job (number) ON DELETE CASCADE,
       s3Config TEXT
     ) STRICT;`,
    // Keys no longer pay for runs that a worker lost, nor for time while the service was down.
    `DROP TRIGGER jobAccepted;
     DROP TRIGGER jobLeftWorker;
     ALTER TABLE usage ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE usage ADD COLUMN dayMs INTEGER NOT NULL DEFAULT 0;
     CREATE TRIGGER jobAccepted AFTER INSERT ON job BEGIN${counting('NEW.endpointId', 'NEW.state', 1)}
       INSERT INTO usage (keyId, endpointId, jobs, gpuMs) VALUES (NEW.keyId, NEW.endpointId, 1, 0)
         ON CONFLICT DO UPDATE SET jobs = jobs + 1;
     END;
     CREATE TRIGGER jobLeftWorker AFTER UPDATE OF state ON job WHEN OLD.state = 'IN_PROGRESS' AND NEW.endedAt IS NOT NULL
     BEGIN
       INSERT INTO usage VALUES (NEW.keyId, NEW.endpointId, 0, max(0, NEW.endedAt - OLD.startedAt),
           NEW.endedAt / 86400000, max(0, NEW.endedAt - OLD.startedAt))
         ON CONFLICT DO UPDATE SET gpuMs = gpuMs + excluded.gpuMs, day = excluded.day,
           dayMs = excluded.dayMs + CASE WHEN day = excluded.day THEN dayMs ELSE 0 END;
     END;`,
    // Earlier jobs have no idempotency key.
    `ALTER TABLE input ADD COLUMN idempotencyKey BLOB;
     ALTER TABLE input ADD COLUMN body BLOB;
     CREATE UNIQUE INDEX inputByKey ON input (idempotencyKey) WHERE idempotencyKey IS NOT NULL;
     CREATE TABLE idempotent (since INTEGER NOT NULL) STRICT;
     INSERT INTO idempotent SELECT CASE WHEN EXISTS (SELECT 1 FROM job) THEN (unixepoch() + 1) * 1000 ELSE 0 END;`,
    // Jobs that were requested from a cluster, and not confirmed yet.
    'CREATE TABLE clusterIntent (endpointId TEXT PRIMARY KEY, mark TEXT NOT NULL) STRICT, WITHOUT ROWID;',
    // Difference between the system clock and the clock of jobs.
    `CREATE TABLE clock (aheadMs INTEGER NOT NULL) STRICT;
     INSERT INTO clock VALUES (0);`,
    // SQL cannot parse the receivers of earlier webhooks: each of their URLs gets its own queue.
    `ALTER TABLE webhook ADD COLUMN queue TEXT NOT NULL DEFAULT '';
     ALTER TABLE webhook ADD COLUMN why TEXT;
     UPDATE webhook SET queue = url;
     DROP INDEX webhookDue;
     CREATE INDEX webhookDue ON webhook (queue, dueAt) WHERE dueAt IS NOT NULL;
     CREATE INDEX webhookFailed ON webhook (dueAt, job) WHERE why IS NOT NULL;`,
    // Queued and running jobs count towards the limits of their key.
    `ALTER TABLE job ADD COLUMN inputBytes INTEGER NOT NULL DEFAULT 0;
     UPDATE job SET inputBytes = coalesce(
         (SELECT coalesce(bytes, length(CAST(text AS BLOB))) FROM input WHERE input.job = job.number), 0)
       WHERE endedAt IS NULL;
     ALTER TABLE usage ADD COLUMN queued INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE usage ADD COLUMN queuedBytes INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE usage ADD COLUMN openMs INTEGER NOT NULL DEFAULT 0;
     INSERT OR IGNORE INTO usage (keyId, endpointId, jobs, gpuMs) SELECT DISTINCT keyId, endpointId, 0, 0 FROM job;
     UPDATE usage SET queued = jobsQueued, queuedBytes = bytesQueued, openMs = msOpen
       FROM (SELECT keyId AS keyOfJobs, endpointId AS endpointOfJobs, sum(state = 'IN_QUEUE') AS jobsQueued,
           sum(inputBytes * (state = 'IN_QUEUE')) AS bytesQueued, sum(executionTimeoutMs) AS msOpen
         FROM job WHERE endedAt IS NULL GROUP BY keyId, endpointId)
       WHERE keyId = keyOfJobs AND endpointId = endpointOfJobs;
     DROP TRIGGER jobAccepted;
     DROP TRIGGER jobLeftWorker;
     CREATE TRIGGER jobAccepted AFTER INSERT ON job BEGIN${counting('NEW.endpointId', 'NEW.state', 1)}
       INSERT INTO usage (keyId, endpointId, jobs, gpuMs, queued, queuedBytes, openMs)
           VALUES (NEW.keyId, NEW.endpointId, 1, 0, 1, NEW.inputBytes, NEW.executionTimeoutMs)
         ON CONFLICT DO UPDATE SET jobs = jobs + 1, queued = queued + 1,
           queuedBytes = queuedBytes + excluded.queuedBytes, openMs = openMs + excluded.openMs;
     END;
     CREATE TRIGGER jobCounted AFTER UPDATE OF state ON job BEGIN
       UPDATE usage SET queued = queued + (NEW.state = 'IN_QUEUE') - (OLD.state = 'IN_QUEUE'),
           queuedBytes = queuedBytes + NEW.inputBytes * ((NEW.state = 'IN_QUEUE') - (OLD.state = 'IN_QUEUE')),
           openMs = openMs + NEW.executionTimeoutMs * ((NEW.endedAt IS NULL) - (OLD.endedAt IS NULL))
         WHERE keyId = NEW.keyId AND endpointId = NEW.endpointId;
     END;
     CREATE TRIGGER jobLeftWorker AFTER UPDATE OF state ON job WHEN OLD.state = 'IN_PROGRESS' AND NEW.endedAt IS NOT NULL
     BEGIN
       UPDATE usage SET gpuMs = gpuMs + max(0, NEW.endedAt - OLD.startedAt), day = NEW.endedAt / 86400000,
           dayMs = max(0, NEW.endedAt - OLD.startedAt)
             + CASE WHEN day = NEW.endedAt / 86400000 THEN dayMs ELSE 0 END
         WHERE keyId = NEW.keyId AND endpointId = NEW.endpointId;
     END;`,
  ],
};
