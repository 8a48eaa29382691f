/** The hostile service's jobs and its account: what it took on, what became of it, what it handed out. */
import { createHash } from 'node:crypto';
import type { Account, Cursed, JobRecord, ServiceSettings } from './account.ts';
import { chance } from '../faults/chance.ts';
import { curseOf, type Curse } from './curses.ts';
import { drawFate, endOf, good, kindOf, lost, pictureOf, sameAgain, type End } from './fates.ts';

export interface Job extends JobRecord {
  input: { scene: string };
  beginsAt: number;
  /** Whether somebody looked when it should long have ended; the looks after that are no further faults. */
  wasSeenStalled: boolean;
  /** Whether a look was told that it is unknown, and it was not: never twice, since that could not be told from the truth. */
  wasDenied: boolean;
}

/** How a job stands: its status, and all fields of an honest answer. */
export interface Standing {
  isEnded: boolean;
  fields: Record<string, unknown>;
}

/** What takes much longer has stalled. */
export const longestExecutionMs = 2_000;

export class HostileJobs {
  readonly #settings: ServiceSettings;
  readonly #jobs = new Map<string, Job>();
  readonly #cursed = new Map<string, Curse>();
  readonly #faults: Record<string, number> = {};
  #answers = 0;
  #faultyAnswers = 0;

  constructor(settings: ServiceSettings) {
    this.#settings = settings;
  }

  /** The scene's curse, which from now on is in the account; undefined for most. */
  curseOf(input: { scene: string }): Curse | undefined {
    const scene = idOf(input);
    const curse = curseOf(this.#settings.seed, scene);
    if (curse !== undefined) this.#cursed.set(scene, curse);
    return curse;
  }

  accept(input: { scene: string }): Job {
    const { seed, faultShare } = this.#settings;
    const number = this.#jobs.size + 1;
    const random = chance(seed, 'job', number);
    const drawn = drawFate(random, faultShare);
    const scene = idOf(input);
    const fate = curseOf(seed, scene) === sameAgain ? sameAgain : drawn;
    const acceptedAt = Date.now();
    const beginsAt = fate === 'stalls in the queue' ? Infinity : acceptedAt + random.between(5, 60);
    const isSlow = random.hits(0.05);
    const endsAt = beginsAt + (isSlow ? random.between(600, longestExecutionMs) : random.between(30, 250));
    const end = endOf(fate, seed, number, scene);
    const job: Job = {
      id: `${createHash('sha256').update(`${seed} ${number}`).digest('hex').slice(0, 12)}-u${number}`,
      number,
      scene,
      fate,
      kind: kindOf(fate),
      sha256: fate === good ? sha256(pictureOf(seed, number)) : null,
      brought: end?.image ? sha256(end.image) : null,
      acceptedAt,
      isNamed: false,
      endedAt: end === undefined ? null : endsAt,
      deliveredAt: null,
      isAged: false,
      isCancelled: false,
      denied: 0,
      input,
      beginsAt,
      wasSeenStalled: false,
      wasDenied: false,
    };
    this.#jobs.set(job.id, job);
    return job;
  }

  /** Undefined where it was never there or has been deleted. */
  find(id: string): Job | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined || !this.#isDeleted(job)) return job;
    job.denied += 1;
    return undefined;
  }

  standingOf(job: Job): Standing {
    const { id, beginsAt, endedAt, input, isCancelled, acceptedAt } = job;
    const now = Date.now();
    const end = endedAt !== null && endedAt <= now ? this.#endOf(job) : undefined;
    if (end !== undefined && endedAt !== null) {
      const times = { delayTime: beginsAt - acceptedAt, executionTime: endedAt - beginsAt };
      return { isEnded: true, fields: { ...times, id, ...end.fields } };
    }
    if (isCancelled) return { isEnded: true, fields: { id, status: 'CANCELLED' } };
    if (beginsAt > now) return { isEnded: false, fields: { id, status: 'IN_QUEUE' } };
    const delayTime = beginsAt - acceptedAt;
    return { isEnded: false, fields: { delayTime, id, input, status: 'IN_PROGRESS' } };
  }

  /** Deletes every result that is there, as if long enough had passed for it. */
  age(): void {
    const now = Date.now();
    for (const job of this.#jobs.values()) {
      if (job.endedAt !== null && job.endedAt <= now && !this.#isDeleted(job)) job.isAged = true;
    }
  }

  countAnswer(fault?: string): void {
    this.#answers += 1;
    if (fault === undefined) return;
    this.#faultyAnswers += 1;
    this.#faults[fault] = (this.#faults[fault] ?? 0) + 1;
  }

  account(): Omit<Account, 'strays' | 'strayKeys'> {
    const jobs = [...this.#jobs.values()];
    const cursed: Cursed[] = [...this.#cursed].map(([scene, curse]) => ({ scene, curse }));
    const counts = { answers: this.#answers, faultyAnswers: this.#faultyAnswers, faults: this.#faults };
    return { ...counts, jobs, cursed };
  }

  #endOf({ fate, number, scene }: Job): End | undefined {
    return endOf(fate, this.#settings.seed, number, scene);
  }

  #isDeleted({ fate, acceptedAt, endedAt, isAged }: Job): boolean {
    const now = Date.now();
    const isLost = fate === lost && acceptedAt + beforeLossMs < now;
    return isLost || isAged || (endedAt !== null && endedAt + this.#settings.retentionMs < now);
  }
}

/** Younger, a job may be unknown to any service. */
const beforeLossMs = 100;

function idOf(input: { scene: string }): string {
  return input.scene.split(':')[0] ?? '';
}

function sha256(what: Buffer | string): string {
  return createHash('sha256').update(what).digest('hex');
}
