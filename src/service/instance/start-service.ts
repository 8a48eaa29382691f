/** Starts the service: the job interface over HTTP, as one process or as one of several that share a store. */
import { chmodSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { isDiskFull } from '../../lib/files/disk-reserve.ts';
import { closeFilesOf } from '../../lib/files/filed-text.ts';
import { type HttpResponse, refusal } from '../../lib/http/http-response.ts';
import { type AnswerRequest, type HttpServer, startHttpServer } from '../../lib/http/http-server.ts';
import { TrustedProxies } from '../../lib/net/addresses.ts';
import { openForWriting } from '../../lib/sqlite/database.ts';
import { Connections } from '../http/connections.ts';
import { lockDataFolder } from '../jobs/data-folder.ts';
import { jobSchema } from '../jobs/job-schema.ts';
import { unlimited } from '../model/key.ts';
import { Deposed, Leadership, type LedService, trustMs, type Write } from '../replication/leadership.ts';
import type { LeadingSession } from '../replication/leading-session.ts';
import { BucketFiles, PageStore, SharedFiles } from '../replication/page-store.ts';
import { jobsFile, keysFile, openService, type OpenService, type Surroundings } from './open-service.ts';
import { notLeading, onlyReads, Relay, type Relayed } from './relay.ts';
import {
  type CheckedOptions,
  checkServiceOptions,
  type ServiceOptions,
  type SharedOptions,
} from './service-options.ts';

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

type Around = Omit<Surroundings, 'dataDir' | 'shared'>;

/** Joins the service. Resolves when it is known which process leads. Throws `PostgresFailure`, or like `openService`. */
async function shareService(
  options: CheckedOptions,
  { address, bucket, reachedAt, onChange }: SharedOptions,
  around: Around,
): Promise<Pick<OpenService, 'answer' | 'drain' | 'close'>> {
  const { onProblem } = options;
  const store = await PageStore.open(address);
  try {
    const secret = await store.prepare();
    if (existsSync(join(options.dataDir, jobsFile)))
      onProblem(
        `the jobs and keys in ${options.dataDir} belong to a service without \`store\`, and stay there`,
      );
    const relay = new Relay(secret, around.proxies);
    const url = reachedAt ?? around.url;
    let isStopping = false;
    // A process that no longer leads keeps its connections, because it forwards requests.
    const closeConnections = async () => void (isStopping && (await around.closeConnections()));
    const files = bucket && new BucketFiles(bucket, secret);
    const open = async (session: LeadingSession, write: Write): Promise<OpenService> => {
      const dataDir = join(options.dataDir, 'shared');
      await restore(session, dataDir);
      const shared = { name: store.shown, secret, write, texts: new SharedFiles(files ?? store, onProblem) };
      // All machines use the database's clock, so that the age of jobs does not change with the leader.
      const aheadMs = (await session.now()) - options.now();
      const now = (): number => options.now() + aheadMs;
      return openService({ ...options, now }, { ...around, url, dataDir, closeConnections, shared });
    };
    const onTerm = (): void => relay.giveUp();
    const onStuck = (): void => answers.giveUp();
    const leadership = new Leadership({ store, url, open, onProblem, onChange, onTerm, onStuck });
    const answers = new SharedAnswers(leadership, relay, around.connections, onProblem);
    await leadership.start();
    const close = async (): Promise<void> => {
      isStopping = true;
      await leadership.stop();
      await around.closeConnections();
      await Promise.all([relay.close(), store.close(), bucket?.close()]);
    };
    return { answer: answers.answer, drain: () => leadership.drain(), close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Restores the databases from the shared store. Files of an earlier lead are outdated and are deleted. */
async function restore(session: LeadingSession, dataDir: string): Promise<void> {
  rmSync(dataDir, { recursive: true, force: true });
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  for (const file of [jobsFile, keysFile]) {
    const path = join(dataDir, file);
    if (!(await session.restore(file, path))) rmSync(path);
  }
}

export interface AnsweringService extends LedService {
  answer: AnswerRequest;
  /** Resolves when all changes so far are in the shared store. */
  settled(): Promise<void>;
}

/** Time for which requests wait for a leading process. */
const patienceMs = 20_000;

/** Deadline until which one request waits for a leading process (monotonic ms). */
class Patience {
  #until = performance.now() + patienceMs;

  get isOver(): boolean {
    return performance.now() > this.#until;
  }

  /** Starts the wait again after a long answer, because a process was leading during that time. `since`: its begin. */
  noteWaited(since: number): void {
    const now = performance.now();
    if (now - since > patienceMs) this.#until = now + patienceMs;
  }
}

const again = { 'Retry-After': '5' };
const nobody = refusal(503, 'no process of the service leads at the moment; try again', again);
const notDone = refusal(503, 'the leading process cannot answer: nothing was done; try again', again);
const unknown = refusal(502, 'the process that leads did not answer: this was done, or it was not');

/** Key of forwarded requests in this process. The leading process checks the real key and its limits. */
const handedOn = { ...unlimited, id: 'handed on', name: 'handed on', kind: 'admin' } as const;

type Leads = Pick<Leadership<AnsweringService>, 'serviceFor' | 'leads' | 'leaderUrl' | 'news'>;

/** Answers requests: the leading process by its own service, other processes by forwarding. */
export class SharedAnswers {
  readonly #leadership: Leads;
  readonly #relay: Relay;
  readonly #connections: Connections;
  readonly #onProblem: (text: string) => void;
  /** Requests that this process's own service is answering. */
  readonly #answering = new Set<IncomingMessage>();
  #told: string | undefined;

  constructor(leadership: Leads, relay: Relay, connections: Connections, onProblem: (text: string) => void) {
    this.#leadership = leadership;
    this.#relay = relay;
    this.#connections = connections;
    this.#onProblem = onProblem;
  }

  /** Closes connections that wait for an answer of this process, because their outcome is unknown. */
  giveUp(): void {
    for (const { socket } of this.#answering) socket.destroy();
  }

  readonly answer: AnswerRequest = async (request, sendContinue, gone) => {
    const isRelayed = this.#relay.believe(request);
    const isAlive = isRelayed ? this.#relay.answerAlive(request) : undefined;
    if (isAlive !== undefined) return isAlive;
    let since = performance.now();
    const patience = new Patience();
    let relayed: ReturnType<Relay['prepare']> | undefined;
    for (; !gone.aborted; await this.#leadership.news()) {
      const { leads, leaderUrl } = this.#leadership;
      const service = relayed === undefined ? this.#leadership.serviceFor(since) : undefined;
      if (isRelayed && !leads) return notLeading;
      // The leading process answers 503 itself: with `notLeading`, the forwarding process would wait again.
      if (patience.isOver) return this.#nobodyAt(leads ? undefined : leaderUrl);
      const begunAt = performance.now();
      let answer: Relayed | undefined;
      if (service !== undefined) {
        answer = await this.#answerHere(service, { since, patience }, request, sendContinue, gone);
        // The forwarding process must find out the outcome itself, so it gets no answer.
        if (answer === 'unknown' && isRelayed) return undefined;
      } else {
        if (leaderUrl === undefined || (leads && relayed === undefined)) continue;
        if (relayed === undefined) sendContinue();
        // If the body was read for forwarding and this process leads by now, it forwards the request to itself.
        relayed ??= this.#relay.prepare(request, gone);
        this.#connections.take(request, handedOn, false);
        answer = await relayed.send(leaderUrl);
        if (typeof answer === 'object' && answer.status === 401) this.#connections.distrust(request);
        patience.noteWaited(begunAt);
      }
      if (answer !== 'again') return answered(answer);
      since = performance.now();
    }
    return undefined;
  };

  /** Reports once for each leading process that it does not answer. */
  #nobodyAt(leaderUrl: string | undefined): HttpResponse {
    if (leaderUrl !== undefined && this.#told !== leaderUrl)
      this.#onProblem(`the process that leads does not answer at ${leaderUrl}, its \`peerUrl\``);
    this.#told = leaderUrl;
    return nobody;
  }

  /** Answers by the own service. Returns the answer only if this process was surely leading at that time. */
  async #answerHere(
    service: AnsweringService,
    { since, patience }: { since: number; patience: Patience },
    ...asked: Parameters<AnswerRequest>
  ): Promise<Relayed | undefined> {
    const [request] = asked;
    const begunAt = performance.now();
    this.#answering.add(request);
    try {
      const answer = await service.answer(...asked).finally(() => patience.noteWaited(begunAt));
      // An answer that waited for news is as recent as its end.
      const latest = Math.max(since, performance.now() - trustMs);
      await service.settled();
      if (await this.#isSure(service, latest, patience)) return answer;
      await closeFilesOf(answer?.body);
    } catch (error) {
      if (!(error instanceof Deposed) && (await this.#isSure(service, since, patience))) throw error;
    } finally {
      this.#answering.delete(request);
    }
    return onlyReads(request) ? 'again' : 'unknown';
  }

  /** Waits until the store confirms that this process leads with this service; false if it does not. */
  async #isSure(service: AnsweringService, since: number, patience: Patience): Promise<boolean> {
    for (; ; await this.#leadership.news()) {
      if (this.#leadership.serviceFor(since) === service) return true;
      if (!this.#leadership.leads || patience.isOver) return false;
    }
  }
}

function answered(answer: Exclude<Relayed, 'again'> | undefined): HttpResponse | undefined {
  if (answer === 'unknown') return unknown;
  return answer === 'not done' ? notDone : answer;
}
