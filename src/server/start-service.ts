/** The service: the job interface over HTTP, on one's own machine. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { lockDataFolder } from './data-lock.ts';
import { Endpoints } from './endpoints.ts';
import { Gate } from './gate.ts';
import { type HttpServer, startHttpServer } from './http-server.ts';
import { JobBook } from './job-book.ts';
import { JobOperations } from './job-operations.ts';
import { JobResults } from './job-results.ts';
import { KeyBook } from './keys/key-book.ts';
import { RateLimit } from './rate-limit.ts';
import { ResultFiles } from './result-files.ts';
import { checkServiceOptions, isLoopback, type ServiceOptions } from './service-options.ts';
import { Sweeper } from './sweeper.ts';
import { Webhooks } from './webhooks.ts';
import { WorkerOperations } from './worker-operations.ts';

export type { ServiceOptions } from './service-options.ts';

export interface Service {
  /** Without a slash at the end. */
  url: string;
  /** Running workloads are told to stop, and their jobs go back to the queue for the next start. */
  close(): Promise<void>;
}

type Checked = ReturnType<typeof checkServiceOptions>;

/**
 * Opens the book in the data folder, goes on with what is in its queue, and listens. Throws where the options are of
 * no use, `DataFolderInUse` where another service runs on the folder, and what the system says of folder and port.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const checked = checkServiceOptions(options);
  mkdirSync(checked.dataDir, { recursive: true, mode: 0o700 });
  const opened: (() => void)[] = [];
  try {
    const lock = lockDataFolder(join(checked.dataDir, 'lock.sqlite'));
    opened.push(() => lock.release());
    const workerKey = randomBytes(24).toString('hex');
    const keys = openKeys(checked, workerKey);
    opened.push(() => keys.close());
    const files = new ResultFiles(join(checked.dataDir, 'results'));
    const deleteFiles = (names: string[]): void => files.delete(names);
    const book = new JobBook(join(checked.dataDir, 'service.sqlite'), { ...checked, deleteFiles });
    opened.push(() => book.close());
    files.deleteAllBut(book.resultFiles());
    return await openForBusiness(checked, { keys, files, book, workerKey, opened });
  } catch (error) {
    for (const close of opened.toReversed()) close();
    throw error;
  }
}

/** Throws where anybody could use the service without a key. */
function openKeys({ dataDir, keys, now, host }: Checked, workerKey: string): KeyBook {
  const given = keys.map((key, index) => ({ name: `given-${index + 1}`, key, kind: 'admin' as const }));
  const workers = { name: 'own-workers', key: workerKey, kind: 'worker' as const };
  const book = new KeyBook(join(dataDir, 'keys.sqlite'), { given: [...given, workers], now });
  const hasKey = keys.length > 0 || book.list().some(({ revokedAt }) => revokedAt === null);
  if (hasKey) return book;
  book.close();
  const where = isLoopback(host)
    ? ''
    : `; nobody but this machine may use it without one, and ${host} is no loopback address`;
  throw new Error(`the service needs at least one key${where}`);
}

interface Opened {
  keys: KeyBook;
  files: ResultFiles;
  book: JobBook;
  workerKey: string;
  /** Closes what is open, last first. */
  opened: (() => void)[];
}

async function openForBusiness(
  options: Checked,
  { keys, files, book, workerKey, opened }: Opened,
): Promise<Service> {
  const { workloadOf, silenceMs, onTrouble, maxResultBytes, maxRequestBytes, rate } = options;
  const results = new JobResults(book, files, maxResultBytes);
  let url = '';
  const context = { url: () => url, workerKey };
  const gate = (endpoints: Endpoints): Gate =>
    new Gate({
      keys,
      endpoints,
      rates: new RateLimit(rate),
      jobs: new JobOperations({
        book,
        files,
        maxRequestBytes,
      }),
      work: new WorkerOperations({
        book,
        results,
        maxResultBytes: maxResultBytes + 1e6,
      }),
    });
  let open: Gate | undefined;
  const http = await startHttpServer({
    ...options,
    answerRequest: async (...asked) => await open?.answer(...asked),
  });
  ({ url } = http);
  const endpoints = new Endpoints({
    book,
    results,
    silenceMs,
    onTrouble,
    given: options.endpoints,
    workloadOf: (settings) => workloadOf(settings, context),
  });
  open = gate(endpoints);
  const sweeper = new Sweeper(book, options.retentionMs, onTrouble);
  const webhooks = new Webhooks({ book, files, onTrouble, now: options.now });
  let closing: Promise<void> | undefined;
  const close = () => closeDown({ http, endpoints, sweeper, webhooks, book, opened, onTrouble });
  return { url, close: () => (closing ??= close()) };
}

interface Parts extends Pick<Opened, 'book' | 'opened'> {
  http: HttpServer;
  endpoints: Endpoints;
  sweeper: Sweeper;
  webhooks: Webhooks;
  onTrouble: (text: string) => void;
}

async function closeDown({
  http,
  endpoints,
  sweeper,
  webhooks,
  book,
  opened,
  onTrouble,
}: Parts): Promise<void> {
  http.stopListening();
  sweeper.stop();
  await Promise.all([endpoints.stop(), webhooks.stop()]);
  // Whoever has submitted a job that is committed learns its id before the connections end.
  await book.flush();
  await nextTurn();
  await http.close();
  for (const closeOne of opened.toReversed()) {
    try {
      closeOne();
    } catch (error) {
      // Nothing is lost: the next start does what could not be done here.
      onTrouble(`the service could not be left tidy: ${String(error)}`);
    }
  }
}
