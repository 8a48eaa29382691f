/** The hostile service's jobs and its records: how each is to go, what became of it, what was handed out. */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { ServiceReport, JobRecord, ServiceSettings } from './service-report.ts';
import type { HttpPlan } from '../fakes/http-service.ts';
import { sceneOf, type Job } from '../fakes/service-jobs.ts';
import { chance } from '../faults/chance.ts';
import { curseOf, type Curse } from './curses.ts';
import { drawFate, endOf, good, kindOf, lost, pictureOf, sameAgain } from './fates.ts';

/** With what the report says of the job, save what its course says. */
export interface HostilePlan
  extends HttpPlan, Omit<JobRecord, 'id' | 'acceptedAt' | 'polls' | 'endedAt' | 'isCancelled'> {
  /** Whether somebody looked when it should long have ended; the looks after that are no further faults. */
  wasSeenStalled: boolean;
  /** Whether a look was told that it is unknown, and it was not: never twice, since that could not be told from the truth. */
  wasDenied: boolean;
}

export type HostileJob = Job<HostilePlan>;

/** What takes much longer has stalled. */
export const longestExecutionMs = 2_000;

/** Younger, a job may be unknown to any service. */
const beforeLossMs = 100;

/** How the job of this number goes. */
export function planOf(
  { seed, faultShare }: ServiceSettings,
  number: number,
  input: JsonObject,
): HostilePlan {
  const random = chance(seed, 'job', number);
  const drawn = drawFate(random, faultShare);
  const scene = idOf(input);
  const fate = curseOf(seed, scene) === sameAgain ? sameAgain : drawn;
  const queueMs = fate === 'stalls in the queue' ? Infinity : random.between(5, 60);
  const isSlow = random.hits(0.05);
  const executionMs = isSlow ? random.between(600, longestExecutionMs) : random.between(30, 250);
  const end = endOf(fate, seed, number, scene);
  return {
    queueMs,
    executionMs: end === undefined ? Infinity : executionMs,
    ...(fate === lost && { lostAfterMs: beforeLossMs }),
    end: () => endOf(fate, seed, number, scene)?.fields ?? {},
    number,
    scene,
    fate,
    kind: kindOf(fate),
    sha256: fate === good ? sha256(pictureOf(seed, number)) : null,
    brought: end?.image ? sha256(end.image) : null,
    isNamed: false,
    deliveredAt: null,
    isAged: false,
    denied: 0,
    wasSeenStalled: false,
    wasDenied: false,
  };
}

export class HostileRecords {
  readonly #seed: number;
  readonly #cursed = new Map<string, Curse>();
  readonly #faults: Record<string, number> = {};
  #answers = 0;
  #faultyAnswers = 0;

  constructor({ seed }: ServiceSettings) {
    this.#seed = seed;
  }

  /** The scene's curse, which from now on is in the report; undefined for most. */
  curseOf(input: JsonObject): Curse | undefined {
    const scene = idOf(input);
    const curse = curseOf(this.#seed, scene);
    if (curse !== undefined) this.#cursed.set(scene, curse);
    return curse;
  }

  countAnswer(fault?: string): void {
    this.#answers += 1;
    if (fault === undefined) return;
    this.#faultyAnswers += 1;
    this.#faults[fault] = (this.#faults[fault] ?? 0) + 1;
  }

  of(jobs: HostileJob[]): Omit<ServiceReport, 'strays' | 'strayKeys'> {
    return {
      answers: this.#answers,
      faultyAnswers: this.#faultyAnswers,
      faults: this.#faults,
      jobs: jobs.map(recordOf),
      cursed: [...this.#cursed].map(([scene, curse]) => ({ scene, curse })),
    };
  }
}

function recordOf({ id, plan, submittedAt, completesAt, isCancelled, polls }: HostileJob): JobRecord {
  const endedAt = isCancelled || completesAt === Infinity ? null : completesAt;
  return { ...plan, id, acceptedAt: submittedAt, endedAt, isCancelled, polls };
}

export function hostileIdOf(seed: number, number: number): string {
  return `${sha256(`${seed} ${number}`).slice(0, 12)}-u${number}`;
}

function idOf(input: JsonObject): string {
  return sceneOf(input).split(':')[0] ?? '';
}

function sha256(what: Buffer | string): string {
  return createHash('sha256').update(what).digest('hex');
}
