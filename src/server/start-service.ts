/** The local service: the job interface over HTTP, on one's own machine. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiKeys } from './api-keys.ts';
import { lockDataFolder } from './data-lock.ts';
import { type HttpServer, startHttpServer } from './http-server.ts';
import { JobBook } from './job-book.ts';
import { JobOperations } from './job-operations.ts';
import { checkServiceOptions, type ServiceOptions } from './service-options.ts';
import { Sweeper } from './sweeper.ts';
import { WorkerPool } from './worker-pool.ts';

export type { ServiceOptions } from './service-options.ts';

export interface Service {
  /** Without a slash at the end. */
  url: string;
  /** Running workloads are told to stop, and their jobs go back to the queue for the next start. */
  close(): Promise<void>;
}

/**
 * Opens the book in the data folder, goes on with what is in its queue, and listens. Throws where the options are of
 * no use, `DataFolderInUse` where another service runs on the folder, and what the system says of folder and port.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const checked = checkServiceOptions(options);
  mkdirSync(checked.dataDir, { recursive: true, mode: 0o700 });
  const lock = lockDataFolder(join(checked.dataDir, 'lock.sqlite'));
  try {
    const book = new JobBook(join(checked.dataDir, 'service.sqlite'), checked);
    try {
      return await openForBusiness(checked, book, () => lock.release());
    } catch (error) {
      book.close();
      throw error;
    }
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function openForBusiness(
  options: Required<ServiceOptions>,
  book: JobBook,
  release: () => void,
): Promise<Service> {
  const { endpoints, onTrouble } = options;
  const pools = new Map(
    endpoints.map((endpoint) => [endpoint.id, new WorkerPool(book, endpoint, onTrouble)]),
  );
  const operations = new JobOperations({ ...options, keys: new ApiKeys(options.keys), book, pools });
  const answerRequest = operations.answer.bind(operations);
  const http = await startHttpServer({ ...options, answerRequest });
  const sweeper = new Sweeper(book, options.retentionMs, onTrouble);
  for (const pool of pools.values()) pool.wake();

  let closing: Promise<void> | undefined;
  const close = () => closeDown({ http, pools: [...pools.values()], sweeper, book, release, onTrouble });
  return { url: http.url, close: () => (closing ??= close()) };
}

interface Parts {
  http: HttpServer;
  pools: WorkerPool[];
  sweeper: Sweeper;
  book: JobBook;
  release: () => void;
  onTrouble: (text: string) => void;
}

async function closeDown({ http, pools, sweeper, book, release, onTrouble }: Parts): Promise<void> {
  http.stopListening();
  sweeper.stop();
  for (const pool of pools) pool.stop();
  // Whoever has submitted a job that is committed learns its id before the connections end.
  await book.flush();
  await nextTurn();
  await http.close();
  try {
    book.close();
  } catch (error) {
    // Nothing is lost: the next start does what could not be done here.
    onTrouble(`the book could not be left tidy: ${String(error)}`);
  } finally {
    release();
  }
}
