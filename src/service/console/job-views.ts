/** Reads jobs from the store in the form in which the console shows them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JobAction, JobPage, JobRow, JobView } from '../../protocol/console-data.ts';
import { isFile, type OpenText, type Text, wholeOf } from '../../lib/files/filed-text.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { JobRecord } from '../jobs/job-statements.ts';
import { isReached, reachedBy, shownWorker } from '../model/job.ts';
import { maxJsonDepth, scanJson } from '../../lib/text/scan-json.ts';

/** Returns the name of a key by its id; null if the job was submitted without a key. */
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
  /** Text to find in the id or the summary; empty for all jobs. */
  text: string;
  /** Id of a job: only jobs that were submitted before it are listed. Null for all jobs. */
  before: string | null;
}

const pageLength = 50;

/** Rows that a search reads before other requests get a turn. After `maxLooks` such steps, it must be continued. */
const rowsAtOnce = 1_000;
const maxLooks = 20;

/** Maximum number of jobs that one bulk action changes. */
const maxBulk = 10_000;

/** Maximum size of a shown input or output: a little more than the pictures that are shown. */
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

  async list(query: JobQuery, nameOf: KeyName): Promise<JobPage> {
    const { found, next } = await this.#search(query, pageLength);
    return { jobs: found.map((row) => rowOf(row, nameOf)), next };
  }

  /** Returns the jobs of existing endpoints that can be cancelled or retried, newest first. */
  async reachable(
    what: JobAction,
    query: JobQuery,
    isThere: (endpointId: string) => boolean,
  ): Promise<{ jobs: { id: string; endpointId: string }[]; isMore: boolean }> {
    const jobs: StoredRow[] = [];
    let isMore = false;
    for (const status of reachedBy[what]) {
      if (query.status !== null && query.status !== status) continue;
      const { found, next } = await this.#search({ ...query, status }, maxBulk);
      jobs.push(...found.filter(({ endpointId }) => isThere(endpointId)));
      isMore ||= next !== null;
    }
    return { jobs: jobs.slice(0, maxBulk), isMore: isMore || jobs.length > maxBulk };
  }

  /** Searches jobs, newest first. `next`: value of `before` that continues the search; null at the end. */
  async #search(query: JobQuery, most: number): Promise<{ found: StoredRow[]; next: string | null }> {
    const { text, before } = query;
    const named = before === null && text !== '' ? this.#sql.job.get(text) : undefined;
    if (named !== undefined) return { found: isAsked(named, query) ? [named] : [], next: null };
    const wanted = text.toLowerCase();
    const atOnce = wanted === '' ? Math.min(most, rowsAtOnce) : rowsAtOnce;
    const found: StoredRow[] = [];
    let newest = before === null ? Number.MAX_SAFE_INTEGER : (this.#sql.number.get(before)?.number ?? 0);
    let last: StoredRow | undefined;
    for (let looks = 0; looks < maxLooks; looks++) {
      const rows = this.#find(query, newest, atOnce);
      for (last of rows) {
        if (`${last.id}\n${last.summary.toLowerCase()}`.includes(wanted)) found.push(last);
        if (found.length === most) return { found, next: last.id };
      }
      if (last === undefined || rows.length < atOnce) return { found, next: null };
      newest = last.number;
      await nextTurn();
    }
    return { found, next: last?.id ?? null };
  }

  #find({ endpoint, status }: JobQuery, newest: number, atOnce: number): StoredRow[] {
    const { all, ofEndpoint, endpoints, open, settled } = this.#sql;
    if (status === null)
      return endpoint === null ? all.all({ newest, atOnce }) : ofEndpoint.all({ endpoint, newest, atOnce });
    const ids = endpoint === null ? endpoints.all().map(({ id }) => id) : [endpoint];
    const found = isReached('cancel', status) ? open : settled;
    return ids
      .flatMap((id) => found.all({ endpoint: id, status, newest, atOnce }))
      .toSorted((one, other) => other.number - one.number)
      .slice(0, atOnce);
  }

  /** Returns a job with its input, output and log; undefined if there is no such job. */
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
    const output =
      found.state === 'COMPLETED' || found.state === 'FAILED'
        ? await this.#inTurn(() => this.#outputOf(found))
        : null;
    const shownOutput = await readJson(output);
    return {
      ...row,
      input: shownJson(await readJson(input)),
      output: shownJson(output === null ? await readJson(job.progress) : shownOutput),
      pictures: picturesIn(shownOutput),
      error: job.error,
      log: logOf(job, job.endedAt === null ? liveLog(row) : []),
    };
  }

  /** Returns what `make` makes of the first picture of a job's output; undefined if there is none. */
  async ofPicture(id: string, make: (picture: Buffer) => Promise<Buffer | undefined>) {
    const endpointId = this.endpointOf(id);
    const job = endpointId === undefined ? undefined : this.#store.reads.find(endpointId, id);
    if (job?.state !== 'COMPLETED' || job.endedAt === null) return undefined;
    const made = await this.#inTurn(async () => {
      const picture = firstPicture((await this.#outputOf(job)) ?? '');
      return picture && (await make(picture));
    });
    return made && { made, endedAt: job.endedAt };
  }

  /** Returns the endpoint of a job; undefined if there is no such job. */
  endpointOf(id: string): string | undefined {
    return this.#sql.endpoint.get(id)?.endpointId;
  }

  /** Reads large texts one at a time, because each is completely in memory for a moment. */
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

function isAsked({ endpointId, status }: StoredRow, query: JobQuery): boolean {
  return (query.endpoint ?? endpointId) === endpointId && (query.status ?? status) === status;
}

/** Returns a stored text; null if it was deleted or is too large to show. */
async function shownText(value: Text | OpenText | undefined): Promise<string | null> {
  if (value === undefined) return null;
  if (!isFile(value) || value.byteCount <= maxShownBytes) return (await wholeOf([value])).toString();
  await value.close();
  return null;
}

function logOf({ log }: StoredJob, live: readonly string[]): string[] {
  if (live.length > 0) return [...live];
  return log === null ? [] : log.split('\n');
}

function rowOf(stored: StoredRow, nameOf: KeyName): JobRow {
  const { id, endpointId, status, acceptedAt, queuedAt, endedAt, retries, keyId, summary } = stored;
  // A requeued job counts as not started, although a former worker had started it.
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

/** Prepares the statements. Exported for the test that none of them scans all jobs. */
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
    // One index lookup for each endpoint, independent of the number of its jobs.
    endpoints: db.prepare<[], { id: string }>(
      `WITH RECURSIVE found (endpoint) AS (SELECT min(endpointId) FROM job
         UNION ALL SELECT (SELECT min(endpointId) FROM job WHERE endpointId > endpoint) FROM found WHERE endpoint IS NOT NULL)
       SELECT endpoint AS id FROM found WHERE endpoint IS NOT NULL`,
    ),
    // The queue's index sorts by priority first, so each priority is read by itself.
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

/** Maximum length of a text that the page shows. */
const maxTextLength = 256 * 1024;
const maxStringLength = 4_000;

/** Maximum number of JSON values to parse. More would not fit into the shown text, and would block the service. */
const maxShownValues = 200_000;

/** Parses a text as JSON; undefined if it is null, invalid or has too many values to show. */
async function readJson(text: string | null): Promise<unknown> {
  if (text === null) return undefined;
  const limits = { maxDepth: maxJsonDepth, maxValues: maxShownValues };
  const { kind } = await scanJson(Buffer.from(text), [], limits);
  return kind === 'object' || kind === 'other' ? JSON.parse(text) : undefined;
}

/** Returns indented JSON with long strings cut; null if there is no value, or the text is too long to show. */
function shownJson(value: unknown): string | null {
  if (value === undefined) return null;
  const shown = textOf(value);
  return shown !== undefined && shown.length <= maxTextLength ? shown : null;
}

/** Returns indented JSON; undefined if the value is nested too deeply for `JSON.stringify`. */
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
  return text.length <= kept
    ? text
    : `${text.slice(0, kept)}… (${text.length.toLocaleString('en')} characters)`;
}

const maxPictures = 12;
const maxPictureBytes = 40 * 1024 * 1024;

/** Returns data URIs of the pictures in an output, within the limits of number and size. */
function picturesIn(output: unknown): string[] {
  // Outputs often contain the same picture under two names.
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

/** First characters of each picture format in base64. */
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

/** Matches the beginning of a JSON string that holds a picture. */
const pictureOpening = /"(?:data:image\/(?:png|jpeg|webp);base64,)?(?=iVBORw0KGgo|\/9j\/|UklGR)/g;

/** Returns the first picture in an output (JSON text); undefined if there is none. Does not parse the JSON. */
export function firstPicture(output: string): Buffer | undefined {
  for (const { 0: opening, index } of output.matchAll(pictureOpening)) {
    const start = index + opening.length;
    // A regular expression for the whole picture would overflow the stack from 8 MB on.
    const base64 = output.slice(start, Math.max(start, output.indexOf('"', start)));
    if (base64.length >= 60 && !/[^\w+/=]/.test(base64)) return Buffer.from(base64, 'base64');
  }
  return undefined;
}
