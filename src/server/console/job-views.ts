/** Jobs as the console shows them. */
import type { JobRow, JobView } from '../../pages/console-data.ts';
import type { JobBook } from '../job-book.ts';
import { wholeOf } from '../filed-text.ts';
import type { ResultFiles } from '../result-files.ts';
import { picturesIn, readJson, shownJson } from './shown-json.ts';

/** Who submitted a job, by the id of the key. */
type KeyName = (keyId: string) => string | null;

interface StoredRow extends Omit<JobRow, 'key' | 'delayTime' | 'executionTime'> {
  number: number;
  queuedAt: number;
  keyId: string;
}

interface StoredJob extends StoredRow {
  error: string | null;
  log: string | null;
  outputFile: string | null;
  progress: string | null;
  input: string;
  output: string | null;
}

export interface JobQuery {
  endpoint: string | null;
  status: string | null;
  /** The id of the oldest job that is known; those before it are asked for. */
  before: string | null;
}

const atOnce = 50;

/** With a filter the newest so many are looked at: a page is not worth more. */
const lookedAt = 20_000;

/** As bytes of an output; a little more than what is shown of its pictures. */
const longestShown = 48 * 1024 * 1024;

const rowColumns = `number, id, endpointId, state AS status, acceptedAt, queuedAt, startedAt, endedAt, workerId, retries,
  keyId, summary`;

export class JobViews {
  readonly #book: JobBook;
  readonly #files: ResultFiles;
  readonly #sql: ReturnType<typeof prepareStatements>;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(book: JobBook, files: ResultFiles) {
    this.#book = book;
    this.#files = files;
    this.#sql = prepareStatements(book);
  }

  /** Newest first. */
  list({ endpoint, status, before }: JobQuery, nameOf: KeyName): JobRow[] {
    const newest = before === null ? Number.MAX_SAFE_INTEGER : (this.#sql.number.get(before)?.number ?? 0);
    const values = { endpoint, status, newest, lookedAt, atOnce };
    const rows = endpoint === null ? this.#sql.all.all(values) : this.#sql.ofEndpoint.all(values);
    return rows.map((row) => rowOf(row, nameOf));
  }

  /** Undefined where there is no such job. */
  async find(
    id: string,
    nameOf: KeyName,
    liveLog: (job: JobRow) => readonly string[],
  ): Promise<JobView | undefined> {
    const job = this.#sql.job.get(id);
    if (job === undefined || !this.#book.has(job.endpointId, id)) return undefined;
    const row = rowOf(job, nameOf);
    const { outputFile } = job;
    const text = outputFile === null ? job.output : await this.#inTurn(() => this.#read(outputFile));
    const output = readJson(text);
    return {
      ...row,
      input: shownJson(readJson(job.input)),
      output: shownJson(text === null ? readJson(job.progress) : output),
      pictures: picturesIn(output),
      error: job.error,
      log: logOf(job, job.endedAt === null ? liveLog(row) : []),
    };
  }

  /** The endpoint of a job, for what is done to it. */
  endpointOf(id: string): string | undefined {
    return this.#sql.endpoint.get(id)?.endpointId;
  }

  /** Many may be looked at at once, and each is whole in memory for a moment. */
  #inTurn<T>(read: () => Promise<T>): Promise<T> {
    const done = this.#reading.then(read);
    this.#reading = done.catch(() => undefined);
    return done;
  }

  /** Null for what is gone, or more than can be shown. */
  async #read(name: string): Promise<string | null> {
    const file = await this.#files.open(name);
    if (file === undefined) return null;
    if (file.byteCount <= longestShown) return (await wholeOf([file])).toString();
    await file.close();
    return null;
  }
}

/** What is written now, or what was kept of the end or of a worker that died of it. */
function logOf({ log }: StoredJob, live: readonly string[]): string[] {
  if (live.length > 0) return [...live];
  return log === null ? [] : log.split('\n');
}

function rowOf(stored: StoredRow, nameOf: KeyName): JobRow {
  const { id, endpointId, status, acceptedAt, queuedAt, endedAt, retries, keyId, summary } = stored;
  // A job that was put back has not been started yet, whatever its former worker did.
  const startedAt = stored.startedAt !== null && stored.startedAt >= queuedAt ? stored.startedAt : null;
  const workerId = startedAt === null ? null : stored.workerId;
  const delayTime = startedAt === null ? null : startedAt - queuedAt;
  const executionTime = startedAt === null || endedAt === null ? null : Math.max(0, endedAt - startedAt);
  const times = { acceptedAt, startedAt, endedAt, delayTime, executionTime };
  return { id, endpointId, status, ...times, workerId, retries, key: nameOf(keyId), summary };
}

interface ListValues {
  endpoint: string | null;
  status: string | null;
  newest: number;
  lookedAt: number;
  atOnce: number;
}

function prepareStatements({ file: { db } }: JobBook) {
  const list = (where: string): string => `SELECT * FROM
    (SELECT ${rowColumns} FROM job WHERE ${where} number < @newest ORDER BY number DESC LIMIT @lookedAt)
    WHERE @status IS NULL OR status = @status LIMIT @atOnce`;
  return {
    all: db.prepare<[ListValues], StoredRow>(list('')),
    ofEndpoint: db.prepare<[ListValues], StoredRow>(list('endpointId = @endpoint AND')),
    endpoint: db.prepare<[string], { endpointId: string }>('SELECT endpointId FROM job WHERE id = ?'),
    number: db.prepare<[string], { number: number }>('SELECT number FROM job WHERE id = ?'),
    job: db.prepare<[string], StoredJob>(
      `SELECT ${rowColumns}, error, log, outputFile, progress, input, output FROM job WHERE id = ?`,
    ),
  };
}
