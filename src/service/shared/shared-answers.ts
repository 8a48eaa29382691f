/** Answers requests where several processes share a store: the one that leads itself, the others by asking it. */
import { setTimeout as delay } from 'node:timers/promises';
import { closeFilesOf } from '../jobs/filed-text.ts';
import { type HttpResponse, refusal } from '../http/http-response.ts';
import type { AnswerRequest } from '../http/http-server.ts';
import { Deposed, type LedService, type Leadership } from './leadership.ts';
import { mayComeTwice, notLeading, type Relay } from './relay.ts';

export interface AnsweringService extends LedService {
  answer: AnswerRequest;
  /** Resolves when all that it changed is in the store. */
  settled(): Promise<void>;
}

/** Requests wait so long for somebody to lead. */
const patienceMs = 20_000;
const lookMs = 50;

const nobody = refusal(503, 'no process of the service leads at the moment; try again', {
  'Retry-After': '5',
});
const unknown = refusal(502, 'the connection to the leading process broke: this was done, or it was not');

export class SharedAnswers {
  readonly #leadership: Pick<Leadership<AnsweringService>, 'service' | 'leaderUrl'>;
  readonly #relay: Relay;
  readonly #onProblem: (text: string) => void;
  #told: string | undefined;

  constructor(
    leadership: Pick<Leadership<AnsweringService>, 'service' | 'leaderUrl'>,
    relay: Relay,
    onProblem: (text: string) => void,
  ) {
    this.#leadership = leadership;
    this.#relay = relay;
    this.#onProblem = onProblem;
  }

  readonly answer: AnswerRequest = async (request, sendContinue, gone) => {
    const isRelayed = this.#relay.believe(request);
    let relayed: ReturnType<Relay['prepare']> | undefined;
    for (const until = performance.now() + patienceMs; !gone.aborted; await delay(lookMs)) {
      const { service, leaderUrl } = this.#leadership;
      if (service !== undefined && relayed === undefined)
        return this.#answerHere(service, request, sendContinue, gone);
      if (isRelayed) return notLeading;
      if (performance.now() > until) return this.#nobodyAt(leaderUrl);
      if (leaderUrl === undefined) continue;
      if (relayed === undefined) sendContinue();
      // Who has read the body of a request, and leads by now, asks itself.
      relayed ??= this.#relay.prepare(request, gone);
      const answer = await relayed.send(leaderUrl);
      if (answer !== 'again') return answer === 'unknown' ? unknown : answer;
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

  /** Undefined, which ends the connection, where nobody knows what came of it. */
  async #answerHere(
    service: AnsweringService,
    ...asked: Parameters<AnswerRequest>
  ): Promise<HttpResponse | undefined> {
    try {
      const answer = await service.answer(...asked);
      await service.settled();
      if (this.#leadership.service === service || !mayComeTwice(asked[0])) return answer;
      // Another may have changed since what was read here.
      await closeFilesOf(answer?.body);
      return undefined;
    } catch (error) {
      if (error instanceof Deposed || this.#leadership.service !== service) return undefined;
      throw error;
    }
  }
}
