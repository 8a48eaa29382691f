/** Starts the service: the job interface over HTTP, as one process or as one of several that share a store. */
import { mkdirSync, statSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import { TrustedProxies } from '../../lib/net/addresses.ts';
import { Connections } from '../http/connections.ts';
import { isDiskFull } from '../../lib/files/disk-reserve.ts';
import { type HttpResponse, refusal } from '../../lib/http/http-response.ts';
import { type AnswerRequest, type HttpServer, startHttpServer } from '../../lib/http/http-server.ts';
import { lockDataFolder } from '../jobs/data-folder.ts';
import { openForWriting } from '../../lib/sqlite/database.ts';
import { jobSchema } from '../jobs/job-schema.ts';
import { openService, type OpenService, type Surroundings } from './open-service.ts';
import { checkServiceOptions, type CheckedOptions, type ServiceOptions } from './service-options.ts';
import { shareService } from './share-service.ts';

export type { ServiceOptions } from './service-options.ts';

export interface Service {
  /** Address of the service, without a trailing slash. */
  url: string;
  /** Deletes an ended job with its result before its retention is over. Does nothing with a shared store. */
  deleteJob(id: string): Promise<void>;
  /** Waits for running jobs during the grace time, then stops workers and requeues their jobs for the next start. */
  close(): Promise<void>;
}

/** Service behind the HTTP servers, which answers their requests. */
type Answering = Pick<OpenService, 'answer' | 'drain' | 'close'> & Partial<Pick<OpenService, 'deleteJob'>>;

/** Opens the store, resumes its queue, and listens. Throws for invalid options, `DataFolderInUse`, system errors. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const checked = checkServiceOptions(options);
  mkdirSync(checked.dataDir, { recursive: true, mode: 0o700 });
  const lock = lockDataFolder(join(checked.dataDir, 'lock.sqlite'));
  const servers: HttpServer[] = [];
  const connections = new Connections(checked.maxConnections);
  const closeConnections = async () => void (await Promise.all(servers.map((server) => server.close())));
  try {
    makePrivate(checked.dataDir, checked.onProblem);
    // The servers listen before the endpoints open, because workers need their address.
    let answering: Answering | undefined;
    const answerRequest: AnswerRequest = async (...asked) => answering?.answer(...asked);
    const serving = { connections, answerRequest, answerError };
    servers.push(await startHttpServer({ ...checked, tls: checked.tls, ...serving }));
    if (checked.tls !== undefined) {
      // Workers on this machine use plain HTTP on loopback, so they need not trust the certificate.
      const here = { ...checked, tls: undefined, host: '127.0.0.1', port: 0 };
      servers.push(await startHttpServer({ ...here, ...serving }));
    }
    const [url = '', workersUrl = url] = servers.map((server) => server.url);
    const certifiedNames = () => servers.flatMap((server) => server.certifiedNames());
    const around = { url, workersUrl, certifiedNames, connections, closeConnections };
    answering = await openBehind(checked, around);
    const { drain, close, deleteJob = async () => undefined } = answering;
    let closing: Promise<void> | undefined;
    const closeOnce = async (): Promise<void> => {
      await drain();
      for (const server of servers) server.stopListening();
      await close();
      lock.release();
    };
    return { url, deleteJob, close: () => (closing ??= closeOnce()) };
  } catch (error) {
    await closeConnections();
    lock.release();
    throw error;
  }
}

function answerError(error: unknown): HttpResponse {
  return isDiskFull(error)
    ? refusal(507, 'the disk of the service is full: nothing was changed')
    : refusal(500, 'internal error');
}

function openBehind(
  checked: CheckedOptions,
  around: Omit<Surroundings, 'dataDir' | 'proxies' | 'shared'>,
): Promise<Answering> {
  const { dataDir, store } = checked;
  const proxies = new TrustedProxies(checked.proxies);
  return store === undefined
    ? openService(checked, { ...around, dataDir, proxies })
    : shareService(checked, store, { ...around, proxies });
}

/** Throws `UnusableDatabase` if a service could not use this copy of its database. */
export function assertJobDatabase(file: string): void {
  openForWriting(file, jobSchema).close();
}

/** Makes the folder private if other users can write to it and this user owns it. Reports the result. */
function makePrivate(dir: string, onProblem: (text: string) => void): void {
  const mayOthersWrite = (): boolean => process.platform !== 'win32' && (statSync(dir).mode & 0o022) !== 0;
  if (!mayOthersWrite()) return;
  try {
    if (statSync(dir).uid === process.getuid?.()) chmodSync(dir, 0o700);
  } catch {
    // Ignored: some file systems have no modes.
  }
  onProblem(
    mayOthersWrite() ? openText(dir) : `other users could write in the data folder ${dir}; it is private now`,
  );
}

function openText(dir: string): string {
  return `other users may write in the data folder ${dir}, and could replace its jobs and keys; run chmod go-w on it, as its owner`;
}
