/** Which request and which job meets which fault: seeded, and by script. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { chance } from './chance.ts';
import type { ClockedSettings, FaultPlace, ScriptedFault } from './fault-settings.ts';
import { readFaultTarget } from './fault-target.ts';
import { endOf, FaultyJobs, type Outcome } from './faulty-jobs.ts';
import type { HonestAnswer, RequestPlace } from './request-fault.ts';
import { requestFaults } from './request-faults.ts';
import { faultTable } from './fault-table.ts';

/** What becomes of one request. */
export interface FaultAnswer {
  fault: string;
  /** Whether it comes in the place of doing what is asked for; else with the answer to it. */
  isInstead: boolean;
  /** Puts it on the wire, or breaks the connection; `honest` where it is not `isInstead`. */
  send(response: ServerResponse, honest?: HonestAnswer): void;
}

/** A fault that was met; `number` is that of the request or job among those of its place. */
export interface MetFault {
  at: FaultPlace;
  number: number;
  fault: string;
}

export interface FaultPlanOptions extends ClockedSettings {
  onMet?: (met: MetFault) => void;
}

export class FaultPlan {
  readonly #options: FaultPlanOptions;
  readonly #draws: FaultDraws;
  readonly #jobs: FaultyJobs;
  readonly #counts: Record<FaultPlace, number> = { submit: 0, status: 0, job: 0, everything: 0 };

  /** Throws for a fault that there is not. */
  constructor(options: FaultPlanOptions) {
    this.#options = options;
    this.#draws = new FaultDraws(options);
    this.#jobs = new FaultyJobs(options);
  }

  /** Keeps in this file what happens to jobs, for the next service. Throws `UnusableDatabase`. */
  keepIn(path: string): void {
    this.#jobs.keepIn(path);
  }

  close(): void {
    this.#jobs.close();
  }

  /** Asked once of every request, before anything is done for it; undefined where it is to be answered as ever. */
  answer(request: Pick<IncomingMessage, 'url'>): FaultAnswer | undefined {
    const target = readFaultTarget(request.url ?? '');
    if (target === undefined) return undefined;
    const job = this.#jobs.numberOf(target.jobId);
    const places: readonly RequestPlace[] =
      target.place === 'everything' ? ['everything'] : [target.place, 'everything'];
    // Each is counted at all its places, whatever it meets at one of them.
    const drawn = places.map((at) => ({ at, ...this.#draw(at, { job }) }));
    const met = drawn.find(({ fault }) => fault !== undefined);
    if (met?.fault === undefined) return undefined;
    const { at, number, fault } = met;
    this.#options.onMet?.({ at, number, fault });
    return this.#answerOf(fault, at, number);
  }

  /** To be told of every job that is accepted; `input` is JSON text. */
  accepted(id: string, input: string): void {
    const { number, fault } = this.#draw('job', { input });
    this.#jobs.add(id, number, fault);
    if (fault !== undefined) this.#options.onMet?.({ at: 'job', number, fault });
  }

  /** What is to be written down of how a job ended. */
  outcome<Honest extends { state: string; output?: string }>(id: string, outcome: Honest): Honest | Outcome {
    return this.#jobs.outcome(id, outcome);
  }

  /** Whether another answer than the honest one may be told. */
  isTold(request: Pick<IncomingMessage, 'url'>): boolean {
    const target = readFaultTarget(request.url ?? '');
    return target !== undefined && this.#jobs.isTold(target);
  }

  /** The honest answer to a request, or what is to be told of its job instead. */
  told<Answer extends HonestAnswer>(
    request: Pick<IncomingMessage, 'url'>,
    answer: Answer,
  ): Answer | HonestAnswer {
    const target = readFaultTarget(request.url ?? '');
    return target === undefined ? answer : this.#jobs.told(target, answer);
  }

  /** Whether something else than the truth may be told of a job's end. */
  isToldAtEnd(id: string): boolean {
    return this.#jobs.isTold(endOf(id));
  }

  /** What whoever waits to be told of a job's end is told in place of `body`; undefined: nothing so far. */
  toldAtEnd(id: string, body: string | Buffer): string | Buffer | undefined {
    return this.#jobs.toldAtEnd(id, body);
  }

  #draw(
    at: FaultPlace,
    about: { job?: number | undefined; input?: string },
  ): { number: number; fault: string | undefined } {
    this.#counts[at] += 1;
    const number = this.#counts[at];
    return { number, fault: this.#draws.draw(at, number, about) };
  }

  #answerOf(name: string, at: FaultPlace, number: number): FaultAnswer {
    const { instead, after } = requestFaults[name] ?? {};
    const { seed, lateMs } = this.#options;
    const random = chance(seed, 'how', at, number);
    return {
      fault: name,
      isInstead: instead !== undefined,
      send: (response, honest) => {
        if (response.destroyed) return;
        response.setHeader('X-Nightrender-Fault', name);
        instead?.({ response, random, lateMs });
        if (honest !== undefined) after?.({ response, random, lateMs }, honest);
      },
    };
  }
}

/** What a script may ask of a request or a job. */
interface About {
  /** The number of the job that a request is about. */
  job?: number | undefined;
  /** Of a job: JSON text. */
  input?: string;
}

class FaultDraws {
  readonly #settings: ClockedSettings;
  readonly #startedAt: number;

  /** Throws for a fault that there is not. */
  constructor(settings: ClockedSettings) {
    this.#settings = settings;
    this.#startedAt = settings.now();
    for (const { at, fault } of settings.script) assertFault(at, fault);
    for (const [at, shares] of Object.entries(settings.rates))
      for (const fault of shares.keys()) assertFault(at as FaultPlace, fault);
  }

  /** `number` is that of the request or job among those of its place, counted from 1. */
  draw(at: FaultPlace, number: number, about: About): string | undefined {
    const sinceMs = this.#settings.now() - this.#startedAt;
    const scripted = this.#settings.script.find(
      (entry) => entry.at === at && isMetBy(entry, number, about, sinceMs),
    );
    return scripted?.fault ?? this.#drawByRate(at, number);
  }

  #drawByRate(at: FaultPlace, number: number): string | undefined {
    const shares = this.#settings.rates[at];
    if (shares.size === 0) return undefined;
    let left = chance(this.#settings.seed, at, number).draw();
    for (const [fault, share] of shares) {
      if (left < share) return fault;
      left -= share;
    }
    return undefined;
  }
}

function isMetBy(entry: ScriptedFault, number: number, { job, input }: About, sinceMs: number): boolean {
  const { nth, match } = entry;
  if (sinceMs < entry.fromMs || sinceMs >= entry.untilMs) return false;
  if (nth !== null && (number < nth.first || number > nth.last)) return false;
  if (entry.job !== null && entry.job !== job) return false;
  return match === null || (input !== undefined && holds(JSON.parse(input), match));
}

function holds(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value.includes(text);
  return (
    typeof value === 'object' && value !== null && Object.values(value).some((each) => holds(each, text))
  );
}

function assertFault(at: FaultPlace, fault: string): void {
  if (!faultTable[at].some(({ name }) => name === fault)) throw new Error(`no fault ${fault} at ${at}`);
}
