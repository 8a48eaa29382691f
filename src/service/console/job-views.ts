/** Jobs as the console shows them. */
import type { JobRow, JobView } from '../../protocol/console-data.ts';
import { OpenFile, type Text, wholeOf } from '../jobs/filed-text.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { JobRecord } from '../jobs/job-statements.ts';
import { shownWorker } from '../pool/worker-view.ts';

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
  progress: string | null;
}

export interface JobQuery {
  endpoint: string | null;
  status: string | null;
  /** The id of the oldest job that is known; those before it are asked for. */
  before: string | null;
}

const atOnce = 50;

/** As bytes; a little more than what is shown of its pictures. */
const maxShownBytes = 48 * 1024 * 1024;

const rowColumns = `number, id, endpointId, state AS status, acceptedAt, queuedAt, startedAt, endedAt, workerId, retries,
  keyId, summary`;

export class JobViews {
  readonly #store: JobStore;
  readonly #sql: ReturnType<typeof prepareStatements>;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(store: JobStore) {
    this.#store = store;
    this.#sql = prepareStatements(store);
  }

  /** Newest first. */
  list({ endpoint, status, before }: JobQuery, nameOf: KeyName): JobRow[] {
    const newest = before === null ? Number.MAX_SAFE_INTEGER : (this.#sql.number.get(before)?.number ?? 0);
    return this.#find(endpoint, status, newest).map((row) => rowOf(row, nameOf));
  }

  #find(endpoint: string | null, status: string | null, newest: number): StoredRow[] {
    const { all, ofEndpoint, endpoints, open, settled } = this.#sql;
    if (status === null)
      return endpoint === null ? all.all({ newest, atOnce }) : ofEndpoint.all({ endpoint, newest, atOnce });
    const ids = endpoint === null ? endpoints.all().map(({ id }) => id) : [endpoint];
    const found = isOpen(status) ? open : settled;
    return ids
      .flatMap((id) => found.all({ endpoint: id, status, newest, atOnce }))
      .toSorted((one, other) => other.number - one.number)
      .slice(0, atOnce);
  }

  /** Undefined where there is no such job. */
  async find(
    id: string,
    nameOf: KeyName,
    liveLog: (job: JobRow) => readonly string[],
  ): Promise<JobView | undefined> {
    const job = this.#sql.job.get(id);
    const found = job && this.#store.reads.find(job.endpointId, id);
    if (job === undefined || found === undefined) return undefined;
    const row = rowOf(job, nameOf);
    const input = await this.#inTurn(async () => shownText(await this.#store.reads.inputOf(id)));
    const output = found.state === 'COMPLETED' ? await this.#inTurn(() => this.#outputOf(found)) : null;
    const shownOutput = readJson(output);
    return {
      ...row,
      input: shownJson(readJson(input)),
      output: shownJson(output === null ? readJson(job.progress) : shownOutput),
      pictures: picturesIn(shownOutput),
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

  async #outputOf(job: JobRecord): Promise<string | null> {
    const opened = await this.#store.reads.open(job);
    return await shownText(opened?.payload ?? undefined);
  }
}

/** Null for what is gone, or more than can be shown. */
async function shownText(value: Text | OpenFile | undefined): Promise<string | null> {
  if (value === undefined) return null;
  if (!(value instanceof OpenFile) || value.byteCount <= maxShownBytes)
    return (await wholeOf([value])).toString();
  await value.close();
  return null;
}

/** The live log, or what was stored of it. */
function logOf({ log }: StoredJob, live: readonly string[]): string[] {
  if (live.length > 0) return [...live];
  return log === null ? [] : log.split('\n');
}

function rowOf(stored: StoredRow, nameOf: KeyName): JobRow {
  const { id, endpointId, status, acceptedAt, queuedAt, endedAt, retries, keyId, summary } = stored;
  // A job that was put back has not been started yet, whatever its former worker did.
  const startedAt = stored.startedAt !== null && stored.startedAt >= queuedAt ? stored.startedAt : null;
  const workerId = startedAt === null ? null : stored.workerId && shownWorker(stored.workerId);
  const delayTime = startedAt === null ? null : startedAt - queuedAt;
  const executionTime = startedAt === null || endedAt === null ? null : Math.max(0, endedAt - startedAt);
  const times = { acceptedAt, startedAt, endedAt, delayTime, executionTime };
  return { id, endpointId, status, ...times, workerId, retries, key: nameOf(keyId), summary };
}

interface ListValues {
  newest: number;
  atOnce: number;
}

/** Exported for the test that none of them looks through all jobs. */
export function prepareStatements({ file: { db } }: Pick<JobStore, 'file'>) {
  const list = (where: string): string =>
    `SELECT ${rowColumns} FROM job WHERE ${where} AND number < @newest ORDER BY number DESC LIMIT @atOnce`;
  const openOf = (isLowPriority: 0 | 1): string =>
    list(
      `endedAt IS NULL AND endpointId = @endpoint AND state = @status AND isLowPriority = ${isLowPriority}`,
    );
  return {
    all: db.prepare<[ListValues], StoredRow>(list('TRUE')),
    ofEndpoint: db.prepare<[ListValues & { endpoint: string }], StoredRow>(list('endpointId = @endpoint')),
    // One index lookup for each, however many jobs it has.
    endpoints: db.prepare<[], { id: string }>(
      `WITH RECURSIVE found (endpoint) AS (SELECT min(endpointId) FROM job
         UNION ALL SELECT (SELECT min(endpointId) FROM job WHERE endpointId > endpoint) FROM found WHERE endpoint IS NOT NULL)
       SELECT endpoint AS id FROM found WHERE endpoint IS NOT NULL`,
    ),
    // In the queue's order each priority has its own place.
    open: db.prepare<[ListValues & { endpoint: string; status: string }], StoredRow>(
      `SELECT * FROM (${openOf(0)}) UNION ALL SELECT * FROM (${openOf(1)}) ORDER BY number DESC LIMIT @atOnce`,
    ),
    settled: db.prepare<[ListValues & { endpoint: string; status: string }], StoredRow>(
      list('endedAt IS NOT NULL AND endpointId = @endpoint AND state = @status'),
    ),
    endpoint: db.prepare<[string], { endpointId: string }>('SELECT endpointId FROM job WHERE id = ?'),
    number: db.prepare<[string], { number: number }>('SELECT number FROM job WHERE id = ?'),
    job: db.prepare<[string], StoredJob>(`SELECT ${rowColumns}, error, log, progress FROM job WHERE id = ?`),
  };
}

function isOpen(status: string): boolean {
  return status === 'IN_QUEUE' || status === 'IN_PROGRESS';
}

/** What stands in the page as text. */
const maxTextLength = 256 * 1024;
const maxStringLength = 4_000;

const maxPictures = 12;
const maxPictureBytes = 40 * 1024 * 1024;

/** Undefined where there is none. */
export function readJson(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** As text with its long strings cut; null where there is nothing, or more than can be shown. */
export function shownJson(value: unknown): string | null {
  if (value === undefined) return null;
  const shown = textOf(value);
  return shown !== undefined && shown.length <= maxTextLength ? shown : null;
}

/** Undefined for what is nested so deeply that it cannot be written. */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(
      value,
      (_key, inner: unknown) => (typeof inner === 'string' ? cut(inner) : inner),
      2,
    );
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function cut(text: string): string {
  const kept = pictureOf(text) === undefined ? maxStringLength : 60;
  return text.length <= kept ? text : `${text.slice(0, kept)}… (${text.length} characters)`;
}

/** Data URIs of the pictures in an output, as far as they can be shown at once. */
export function picturesIn(output: unknown): string[] {
  // The same picture often stands under two names.
  const pictures = new Set<string>();
  let length = 0;
  const open: unknown[] = [output];
  while (open.length > 0 && pictures.size < maxPictures) {
    const value = open.pop();
    if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value).toReversed()) open.push(inner);
      continue;
    }
    const picture = typeof value === 'string' ? pictureOf(value) : undefined;
    if (picture === undefined || pictures.has(picture) || length + picture.length > maxPictureBytes) continue;
    length += picture.length;
    pictures.add(picture);
  }
  return [...pictures];
}

/** How the base64 of each format begins. */
const beginnings: Record<string, RegExp> = {
  'image/png': /^iVBORw0KGgo/,
  'image/jpeg': /^\/9j\//,
  'image/webp': /^UklGR/,
};

function pictureOf(text: string): string | undefined {
  const data = /^data:(image\/(?:png|jpeg|webp));base64,/.exec(text);
  const base64 = data === null ? text : text.slice(data[0].length);
  const [type] = Object.entries(beginnings).find(([, beginning]) => beginning.test(base64)) ?? [];
  return type === undefined || base64.length < 60 ? undefined : `data:${type};base64,${base64}`;
}
