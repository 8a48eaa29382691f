/**
 * The jobs of the hostile service and its records: how each job must go, what happened to it, and which answers were
 * sent.
 */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { ServiceReport, JobRecord, ServiceSettings } from './service-report.ts';
import type { HttpPlan } from '../fakes/http-service.ts';
import { sceneOf, type Job } from '../fakes/service-jobs.ts';
import { chance } from '../faults/chance.ts';
import { curseOf, type Curse } from './curses.ts';
import { drawFate, endOf, good, kindOf, lost, pictureOf, sameAgain } from './fates.ts';

/** Plan of a job, with the fields of the report that the course of the job does not determine. */
export interface HostilePlan
  extends HttpPlan, Omit<JobRecord, 'id' | 'acceptedAt' | 'polls' | 'endedAt' | 'isCancelled'> {
  /** True if a client polled the job after it had stalled. Later polls are not counted as further faults. */
  wasSeenStalled: boolean;
  /**
   * True if a poll was falsely told that the job is unknown. It happens at most once, because a client could not
   * distinguish a second time from the truth.
   */
  wasDenied: boolean;
}

export type HostileJob = Job<HostilePlan>;

/** Longest execution of a job that has not stalled. */
export const longestExecutionMs = 2_000;

/** Age in ms below which any service may not know a job yet. */
const beforeLossMs = 100;

/** Returns how the job of this number goes. */
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

  /** Returns the scene's curse and adds it to the report. Undefined for most scenes. */
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

  of(jobs: readonly HostileJob[]): Omit<ServiceReport, 'strays' | 'strayKeys'> {
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
