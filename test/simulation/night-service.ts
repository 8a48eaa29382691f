/** A job service in virtual time that does everything wrong by chance, and keeps the account of what it was asked for. */
import { createHash } from 'node:crypto';
import type { Endpoint } from '../../src/runner/core/attempt.ts';
import type { Failure } from '../../src/runner/core/failure.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { FoundPicture } from '../../src/runner/core/picture.ts';
import { fingerprintOf } from '../../src/runner/core/scene.ts';
import type {
  CancelReply,
  HealthReply,
  RenderService,
  StatusReply,
  SubmitReply,
} from '../../src/runner/pipeline/ports.ts';
import type { Chance } from '../faults/chance.ts';
import { png } from '../faults/picture-damages.ts';

/** Shares (0 to 1) of the requests or jobs that go wrong in a way. */
export interface Weather {
  overloaded: number;
  notReached: number;
  /** The submission is accepted, and its answer gets lost. */
  answerLost: number;
  /** A 5xx, and no job came of it. */
  submitBroken: number;
  /** The job is accepted, and the answer names another one. */
  foreignAnswer: number;
  statusBroken: number;
  /** No job is known and nothing else works either. */
  isGone: boolean;
  /** Jobs are not known for so long after their submission, ms. */
  freshMs: number;
  /** A 404 by accident on the way, one a job. */
  missed: number;
  /** A replica that is behind says IN_QUEUE of what is done or deleted. */
  stale: number;
  failed: number;
  badPicture: number;
  noOutput: number;
  slow: number;
  cancelBroken: number;
}

export const calm: Weather = {
  overloaded: 0,
  notReached: 0,
  answerLost: 0,
  submitBroken: 0,
  foreignAnswer: 0,
  statusBroken: 0,
  isGone: false,
  freshMs: 0,
  missed: 0,
  stale: 0,
  failed: 0,
  badPicture: 0,
  noOutput: 0,
  slow: 0,
  cancelBroken: 0,
};

export interface NightJob {
  id: string;
  fingerprint: string;
  input: JsonObject;
  submittedAt: number;
  completesAt: number;
  executionMs: number;
  end: 'picture' | 'job-failed' | 'bad-picture' | 'no-output';
  isCancelled: boolean;
  /** Whether its submission was answered with its id. */
  isAnswered: boolean;
  /** Its id was told of another submission, too. */
  isShared?: true;
  polls: number;
  /** Whether it had its 404 by accident. */
  wasMissed: boolean;
}

export const retentionMs = 30 * 60_000;

export class NightService implements RenderService {
  readonly jobs: NightJob[] = [];
  weather: Weather = calm;
  /** Submissions that got no answer though no job came of them, by fingerprint. */
  readonly unansweredWithoutJob: string[] = [];
  /** True time, which no clock of the machine changes, epoch ms. */
  now: () => number = () => 0;
  #chance: Chance;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** The same account, for another end of the story. */
  copy(chance: Chance): NightService {
    const other = new NightService(chance);
    other.jobs.push(...this.jobs.map((job) => ({ ...job })));
    other.unansweredWithoutJob.push(...this.unansweredWithoutJob);
    return other;
  }

  async submit(_: Endpoint, input: JsonObject, signal: AbortSignal): Promise<SubmitReply> {
    const { hits, pick } = this.#chance;
    const { weather } = this;
    if (signal.aborted || weather.isGone || hits(weather.notReached)) return refused('not-reached');
    if (hits(weather.overloaded)) return refused('overloaded');
    const fingerprint = fingerprintOf(input);
    if (hits(weather.submitBroken)) {
      this.unansweredWithoutJob.push(fingerprint);
      return refused('unanswered');
    }
    const others = this.jobs.filter((job) => job.polls > 0);
    const job = this.#accept(input, fingerprint);
    if (hits(weather.answerLost)) return refused('unanswered');
    if (others.length > 0 && hits(weather.foreignAnswer)) {
      const other = pick(others);
      other.isShared = true;
      return accepted(other.id);
    }
    job.isAnswered = true;
    return accepted(job.id);
  }

  async status(_: Endpoint, jobId: string, signal: AbortSignal): Promise<StatusReply> {
    const { hits } = this.#chance;
    const { weather } = this;
    const now = this.now();
    if (signal.aborted || hits(weather.statusBroken)) return troubled('poll-failed');
    if (hits(weather.overloaded)) return troubled('overloaded');
    const job = this.jobs.find(({ id }) => id === jobId);
    if (job !== undefined) {
      job.polls += 1;
      if (!job.wasMissed && hits(weather.missed)) {
        job.wasMissed = true;
        return { kind: 'missing', text: 'no route' };
      }
    }
    if (job !== undefined && !weather.isGone && hits(weather.stale)) return running('IN_QUEUE');
    const isUnknown = job === undefined || now >= job.completesAt + retentionMs;
    if (isUnknown || weather.isGone || now < job.submittedAt + weather.freshMs)
      return { kind: 'missing', text: 'job not found' };
    if (job.isCancelled)
      return {
        kind: 'ended',
        status: 'CANCELLED',
        failure: { kind: 'job-cancelled', text: 'CANCELLED' },
      };
    if (now < job.completesAt - job.executionMs) return running('IN_QUEUE');
    if (now < job.completesAt) return running('IN_PROGRESS');
    return endOf(job);
  }

  async cancel(_: Endpoint, jobId: string, signal: AbortSignal): Promise<CancelReply> {
    if (signal.aborted || this.#chance.hits(this.weather.cancelBroken)) return troubled('poll-failed');
    const job = this.jobs.find(({ id }) => id === jobId);
    if (job === undefined || this.weather.isGone) return { kind: 'unsupported', text: 'job not found' };
    if (this.now() < job.completesAt) {
      job.isCancelled = true;
      job.completesAt = this.now();
    }
    return { kind: 'cancelled' };
  }

  async health(): Promise<HealthReply> {
    return this.weather.isGone ? { kind: 'unknown', text: 'no such endpoint' } : { kind: 'answers' };
  }

  #accept(input: JsonObject, fingerprint: string): NightJob {
    const { hits, between } = this.#chance;
    const { weather } = this;
    const executionMs = between(1_000, 20_000);
    const queueMs = hits(weather.slow) ? between(300_000, 3_000_000) : between(0, 30_000);
    const end = hits(weather.failed)
      ? 'job-failed'
      : hits(weather.badPicture)
        ? 'bad-picture'
        : hits(weather.noOutput)
          ? 'no-output'
          : 'picture';
    const submittedAt = this.now();
    const job: NightJob = {
      id: `job-${this.jobs.length + 1}`,
      fingerprint,
      input,
      submittedAt,
      completesAt: submittedAt + queueMs + executionMs,
      executionMs,
      end,
      isCancelled: false,
      isAnswered: false,
      polls: 0,
      wasMissed: false,
    };
    this.jobs.push(job);
    return job;
  }
}

/** A whole picture that no other job makes. */
export function pictureOf(jobId: string): Buffer {
  const noise = createHash('sha256').update(jobId).digest();
  const row = Buffer.concat([Buffer.from([0]), noise.subarray(0, 24)]);
  return png(8, 2, Buffer.concat([row, row]));
}

function endOf(job: NightJob): StatusReply {
  const { executionMs: executionTimeMs, completesAt, submittedAt } = job;
  const times = { delayTimeMs: completesAt - submittedAt - executionTimeMs, executionTimeMs };
  switch (job.end) {
    case 'job-failed':
    case 'no-output':
      return { kind: 'ended', status: 'FAILED', failure: { kind: job.end, text: job.end }, ...times };
    case 'bad-picture': {
      const cut = pictureOf(job.id).subarray(0, -20);
      return { kind: 'completed', status: 'COMPLETED', pictures: [found(cut)], ...times };
    }
    case 'picture':
      return { kind: 'completed', status: 'COMPLETED', pictures: [found(pictureOf(job.id))], ...times };
  }
}

function found(picture: Buffer): FoundPicture {
  return { base64: picture.toString('base64') };
}

function accepted(jobId: string): SubmitReply {
  return { kind: 'accepted', jobId, status: 'IN_QUEUE' };
}

function running(status: string): StatusReply {
  return { kind: 'running', status, isExecuting: status === 'IN_PROGRESS' };
}

function refused(kind: Failure['kind']): SubmitReply {
  return { kind: 'failure', failure: { kind, text: kind } };
}

function troubled(kind: Failure['kind']): { kind: 'failure'; failure: Failure } {
  return { kind: 'failure', failure: { kind, text: kind } };
}
