/** The file of the job store: what stands in `service.sqlite`. */
import type { Schema } from '../../lib/sqlite/database.ts';

/** Adds to the tally of an endpoint, for a trigger. */
const counting = (endpointId: string, what: string, by: number): string => `
       INSERT INTO tally (endpointId, what, jobs) VALUES (${endpointId}, ${what}, ${by})
         ON CONFLICT DO UPDATE SET jobs = jobs + ${by};`;

/** Step to a version that no release has written. The step after it also upgrades stores of that version. */
const partOfNext = '';

/** A job as it is kept since the third version. */
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

/** Since the fourth version. */
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
 * One row a job, deleted once its result has been kept long enough. `number` grows with every accepted
 * job and is the queue's order, within jobs of the same priority. Instants are epoch ms: `queuedAt` is when it was
 * accepted or last put back, `startedAt` when a worker took it since then, `endedAt` when it settled, `expiresAt` when it is too
 * old to be worked on (`ttlMs` after it was accepted or retried). `retries` is how often it was put back because its
 * worker died. `isPulled`: its worker is one that asked for it over the network, and may outlive the service.
 * `errorValue` is JSON of an error that is no text. `output` and `progress` are JSON as text; they come last, so that a long one is not read past when only
 * the state is wanted. A long output stands in the file `outputFile` instead. `log` is what its worker wrote, and
 * `summary` the beginning of what it was asked for.
 *
 * `input` holds what a job was asked for: every move writes the row of the job anew with all that is in it, and this
 * never changes. It goes with its job, to which it does not refer, as that would be looked up each time; `bytes` is how
 * long one in a file is. `part` holds what of a job's stream nobody has read yet. `webhook` is what is to be told to
 * whom: `dueAt` is null until the job has ended, and once it was delivered or given up; `why` is why the latest try failed. `endpoint` holds the endpoints that were made in the console,
 * `credentials` what a worker needs to put results into a bucket, until its job has ended, and null from then on,
 * `paused` those whose jobs wait until a person lets them go on, `idempotent` since when submissions are known by their
 * keys, which is 0 in a new store. `idempotencyKey` and `body` are digests, by which a job is found whose submission comes
 * again.
 *
 * `tally` counts an endpoint's jobs by state, and how often one was put back into the queue (`retried`), so that its
 * health is told without counting rows; what has ended stays in it when the job is deleted. `usage` adds up what is
 * done for a key: submissions, and how many ms its jobs took in the workers that ended them. `dayMs` is as much of it as
 * ended on `day`, in days since 1970 (UTC). `queued` counts jobs in the queue, `queuedBytes` their inputs
 * (`inputBytes`), and `openMs` is the sum of the execution timeouts of all that have not ended.
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
    // From key to key, so that each has its turn.
    `DROP INDEX jobOpen;
     CREATE INDEX jobOpen ON job (endpointId, state, isLowPriority, keyId, number) WHERE endedAt IS NULL;`,
    'CREATE TABLE paused (endpointId TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;',
    `CREATE TABLE credentials (
       job      INTEGER PRIMARY KEY REFERENCES job (number) ON DELETE CASCADE,
       s3Config TEXT
     ) STRICT;`,
    // What a worker lost is not its key's to pay, nor the time that the service was down meanwhile.
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
    // What was accepted before is known by no key.
    `ALTER TABLE input ADD COLUMN idempotencyKey BLOB;
     ALTER TABLE input ADD COLUMN body BLOB;
     CREATE UNIQUE INDEX inputByKey ON input (idempotencyKey) WHERE idempotencyKey IS NOT NULL;
     CREATE TABLE idempotent (since INTEGER NOT NULL) STRICT;
     INSERT INTO idempotent SELECT CASE WHEN EXISTS (SELECT 1 FROM job) THEN (unixepoch() + 1) * 1000 ELSE 0 END;`,
    // What a cluster was asked for and has not answered.
    'CREATE TABLE clusterIntent (endpointId TEXT PRIMARY KEY, mark TEXT NOT NULL) STRICT, WITHOUT ROWID;',
    // How far the system clock was ahead of the clock of jobs.
    `CREATE TABLE clock (aheadMs INTEGER NOT NULL) STRICT;
     INSERT INTO clock VALUES (0);`,
    // The receivers of earlier webhooks are not known here: each of their addresses has a queue.
    `ALTER TABLE webhook ADD COLUMN queue TEXT NOT NULL DEFAULT '';
     ALTER TABLE webhook ADD COLUMN why TEXT;
     UPDATE webhook SET queue = url;
     DROP INDEX webhookDue;
     CREATE INDEX webhookDue ON webhook (queue, dueAt) WHERE dueAt IS NOT NULL;
     CREATE INDEX webhookFailed ON webhook (dueAt, job) WHERE why IS NOT NULL;`,
    // What waits and runs counts for the limits of its key.
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
