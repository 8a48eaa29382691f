/** A service of several processes: this one leads, or hands on what it is asked to the one that does. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { IncomingMessage } from 'node:http';
import { jobsFile, keysFile, openService, type OpenService, type Surroundings } from './open-service.ts';
import type { CheckedOptions, SharedOptions } from './service-options.ts';
import { Leadership, type Write, Deposed, type LedService, trustMs } from '../replication/leadership.ts';
import type { LeadingSession } from '../replication/leading-session.ts';
import { BucketFiles, PageStore, SharedFiles } from '../replication/page-store.ts';
import { Relay, notLeading, onlyReads, type Relayed } from './relay.ts';
import type { Connections } from '../http/connections.ts';
import { closeFilesOf } from '../../lib/files/filed-text.ts';
import { type HttpResponse, refusal } from '../../lib/http/http-response.ts';
import type { AnswerRequest } from '../../lib/http/http-server.ts';
import { unlimited } from '../model/key.ts';

type Around = Omit<Surroundings, 'dataDir' | 'shared'>;

/** Resolves when it is known who leads. Throws `PostgresFailure`, or as `openService`. */
export async function shareService(
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
    // One that leads no more goes on to hand requests on.
    const closeConnections = async () => void (isStopping && (await around.closeConnections()));
    const files = bucket && new BucketFiles(bucket, secret);
    const open = async (session: LeadingSession, write: Write): Promise<OpenService> => {
      const dataDir = join(options.dataDir, 'shared');
      await restore(session, dataDir);
      const shared = { name: store.shown, secret, write, texts: new SharedFiles(files ?? store, onProblem) };
      // The ages of jobs are by one clock, whichever machine leads.
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

/** What an earlier time has left in the folder is nobody's any more. */
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
  /** Resolves when all that it changed is in the store. */
  settled(): Promise<void>;
}

/** Requests wait so long for somebody to lead. */
const patienceMs = 20_000;

/** Of one request: until when (as `performance.now()`) it waits for somebody to lead. */
class Patience {
  #until = performance.now() + patienceMs;

  get isOver(): boolean {
    return performance.now() > this.#until;
  }

  /** Says for whom it has waited since: while that one lived nobody was missed. */
  noteWaited(since: number): void {
    const now = performance.now();
    if (now - since > patienceMs) this.#until = now + patienceMs;
  }
}

const again = { 'Retry-After': '5' };
const nobody = refusal(503, 'no process of the service leads at the moment; try again', again);
const notDone = refusal(503, 'the leading process cannot answer: nothing was done; try again', again);
const unknown = refusal(502, 'the process that leads did not answer: this was done, or it was not');

/** The process that leads knows the key, and bounds what it has in progress. */
const handedOn = { ...unlimited, id: 'handed on', name: 'handed on', kind: 'admin' } as const;

type Leads = Pick<Leadership<AnsweringService>, 'serviceFor' | 'leads' | 'leaderUrl' | 'news'>;

/** Answers requests: in the process that leads by its own service, in the others by asking that process. */
export class SharedAnswers {
  readonly #leadership: Leads;
  readonly #relay: Relay;
  readonly #connections: Connections;
  readonly #onProblem: (text: string) => void;
  /** Here. */
  readonly #answering = new Set<IncomingMessage>();
  #told: string | undefined;

  constructor(leadership: Leads, relay: Relay, connections: Connections, onProblem: (text: string) => void) {
    this.#leadership = leadership;
    this.#relay = relay;
    this.#connections = connections;
    this.#onProblem = onProblem;
  }

  /** Ends the connections of all who wait for an answer from here: nobody knows what comes of it. */
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
      // Where the one that leads says so, whoever asks it would only wait anew.
      if (patience.isOver) return this.#nobodyAt(leads ? undefined : leaderUrl);
      const begunAt = performance.now();
      let answer: Relayed | undefined;
      if (service !== undefined) {
        answer = await this.#answerHere(service, { since, patience }, request, sendContinue, gone);
        // Its own client learns what another process of the service is to find out.
        if (answer === 'unknown' && isRelayed) return undefined;
      } else {
        if (leaderUrl === undefined || (leads && relayed === undefined)) continue;
        if (relayed === undefined) sendContinue();
        // Who has read the body of a request, and leads by now, asks itself.
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

  /** That it cannot be reached is told once of each. */
  #nobodyAt(leaderUrl: string | undefined): HttpResponse {
    if (leaderUrl !== undefined && this.#told !== leaderUrl)
      this.#onProblem(`the process that leads does not answer at ${leaderUrl}, its \`peerUrl\``);
    this.#told = leaderUrl;
    return nobody;
  }

  /** What it says is of a time at which this process led for sure. */
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
      // What has waited is as new as its end.
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

  /** Waits for the store to say so. */
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
