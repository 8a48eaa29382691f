/** Answers requests where several processes share a store: the one that leads itself, the others by asking it. */
import type { IncomingMessage } from 'node:http';
import type { Connections } from '../http/connections.ts';
import { closeFilesOf } from '../jobs/filed-text.ts';
import { type HttpResponse, refusal } from '../http/http-response.ts';
import type { AnswerRequest } from '../http/http-server.ts';
import { unlimited } from '../keys/key.ts';
import { Deposed, type LedService, type Leadership, sureMs } from './leadership.ts';
import { notLeading, onlyReads, type Relay, type Relayed } from './relay.ts';

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
const notDone = refusal(503, 'the process that leads cannot answer: nothing was done; try again', again);
const unknown = refusal(502, 'the process that leads did not answer: this was done, or it was not');

/** The process that leads knows the key, and bounds what it has in progress. */
const handedOn = { ...unlimited, id: 'handed on', name: 'handed on', kind: 'admin' } as const;

type Leads = Pick<Leadership<AnsweringService>, 'serviceFor' | 'leads' | 'leaderUrl' | 'news'>;

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
      const latest = Math.max(since, performance.now() - sureMs);
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
