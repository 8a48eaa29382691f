/** The hostile service's jobs and its account: what it took on, what became of it, what it handed out. */
import { createHash } from 'node:crypto';
import type { Account, JobRecord, ServiceSettings } from './account.ts';
import { chance } from './chance.ts';
import { drawFate, endOf, type End } from './fates.ts';
import { pictureOf } from './pictures.ts';

export interface Job extends JobRecord {
  input: { scene: string };
  beginsAt: number;
  /** Whether somebody looked when it should long have ended; the looks after that are no further faults. */
  wasSeenStalled: boolean;
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
  readonly #faults: Record<string, number> = {};
  #answers = 0;
  #faultyAnswers = 0;

  constructor(settings: ServiceSettings) {
    this.#settings = settings;
  }

  accept(input: { scene: string }): Job {
    const { seed, faultShare } = this.#settings;
    const number = this.#jobs.size + 1;
    const random = chance(seed, 'job', number);
    const fate = drawFate(random, faultShare);
    const acceptedAt = Date.now();
    const beginsAt = fate === 'stalls in the queue' ? Infinity : acceptedAt + random.between(5, 60);
    const isSlow = random.hits(0.05);
    const endsAt = beginsAt + (isSlow ? random.between(600, longestExecutionMs) : random.between(30, 250));
    const isEndless = endOf(fate, seed, number) === undefined;
    const job: Job = {
      id: `${createHash('sha256').update(`${seed} ${number}`).digest('hex').slice(0, 12)}-u${number}`,
      number,
      scene: input.scene.split(':')[0] ?? '',
      fate,
      sha256: fate === 'good' ? sha256(pictureOf(seed, number)) : null,
      acceptedAt,
      isNamed: false,
      endedAt: isEndless ? null : endsAt,
      deliveredAt: null,
      isAged: false,
      isCancelled: false,
      deniedTruly: 0,
      deniedFalsely: 0,
      input,
      beginsAt,
      wasSeenStalled: false,
    };
    this.#jobs.set(job.id, job);
    return job;
  }

  /** Undefined where it was never there or has been deleted. */
  find(id: string): Job | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined || !this.#isDeleted(job)) return job;
    job.deniedTruly += 1;
    return undefined;
  }

  standingOf(job: Job): Standing {
    const { id, beginsAt, endedAt, input, isCancelled, acceptedAt } = job;
    const now = Date.now();
    const end = endedAt !== null && endedAt <= now ? this.#endOf(job) : undefined;
    if (end !== undefined && endedAt !== null) {
      const times = { delayTime: beginsAt - acceptedAt, executionTime: endedAt - beginsAt };
      return { isEnded: true, fields: { ...times, id, ...end } };
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

  account(): Account {
    const jobs = [...this.#jobs.values()];
    return { answers: this.#answers, faultyAnswers: this.#faultyAnswers, faults: this.#faults, jobs };
  }

  #endOf(job: Job): End | undefined {
    return endOf(job.fate, this.#settings.seed, job.number);
  }

  #isDeleted({ endedAt, isAged }: Job): boolean {
    return isAged || (endedAt !== null && endedAt + this.#settings.retentionMs < Date.now());
  }
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
