/** The stand-in of the service as a night has it: it does everything wrong by chance, and keeps the account of that. */
import { createHash } from 'node:crypto';
import type { Failure } from '../../src/runner/core/failure.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { FoundPicture } from '../../src/runner/core/picture.ts';
import { fingerprintOf } from '../../src/runner/core/scene.ts';
import type { StatusReply } from '../../src/runner/pipeline/ports.ts';
import { FakeService, type JobPlan } from '../fakes/fake-service.ts';
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

interface NightPlan extends JobPlan {
  fingerprint: string;
  end: 'picture' | 'job-failed' | 'bad-picture' | 'no-output';
  /** Its id was told of another submission, too. */
  isShared?: true;
  /** Whether it had its 404 by accident. */
  wasMissed?: true;
}

export type NightJob = FakeService<NightPlan>['jobs'][number];

export class NightService extends FakeService<NightPlan> {
  weather: Weather = calm;
  /** Submissions that got no answer though no job came of them, by fingerprint. */
  readonly unansweredWithoutJob: string[] = [];
  readonly #chance: Chance;

  /** Its `now` is the true time, which no clock of the machine changes. */
  constructor(chance: Chance) {
    super(
      () => 0,
      (_scene, _nth, input) => this.#planOf(input),
    );
    this.#chance = chance;
    this.instead = {
      submit: (_, input) => this.#refusal(input),
      status: (jobId) => this.#wrongStatus(jobId),
      cancel: () => {
        if (chance.hits(this.weather.cancelBroken)) return failed('poll-failed');
        return this.weather.isGone ? { kind: 'unsupported', text: 'job not found' } : undefined;
      },
      health: () => (this.weather.isGone ? { kind: 'unknown', text: 'no such endpoint' } : undefined),
    };
  }

  /** The same account, for another end of the story. */
  copy(chance: Chance): NightService {
    const other = new NightService(chance);
    other.jobs.push(...this.jobs.map((job) => ({ ...job, plan: { ...job.plan } })));
    other.unansweredWithoutJob.push(...this.unansweredWithoutJob);
    return other;
  }

  protected override picturesOf({ id, plan }: NightJob): FoundPicture[] {
    const picture = pictureOf(id);
    const brought = plan.end === 'bad-picture' ? picture.subarray(0, -20) : picture;
    return [{ base64: brought.toString('base64'), output: { rest: { score: scoreOf(plan.fingerprint) } } }];
  }

  #refusal(input: JsonObject): ReturnType<typeof failed> | undefined {
    const { hits } = this.#chance;
    const { weather } = this;
    if (weather.isGone || hits(weather.notReached)) return failed('not-reached');
    if (hits(weather.overloaded)) return failed('overloaded');
    if (!hits(weather.submitBroken)) return undefined;
    this.unansweredWithoutJob.push(fingerprintOf(input));
    return failed('unanswered');
  }

  #planOf(input: JsonObject): NightPlan {
    const { hits, between, pick } = this.#chance;
    const { weather } = this;
    const executionMs = between(1_000, 20_000);
    const queueMs = hits(weather.slow) ? between(300_000, 3_000_000) : between(0, 30_000);
    const end = this.#drawEnd();
    const plan: NightPlan = { queueMs, executionMs, end, fingerprint: fingerprintOf(input) };
    if (end === 'job-failed' || end === 'no-output') plan.failure = { kind: end, text: end };
    if (hits(weather.answerLost)) return { ...plan, isAnswerLost: true };
    const others = this.jobs.filter((job) => job.polls > 0);
    if (others.length === 0 || !hits(weather.foreignAnswer)) return plan;
    const other = pick(others);
    other.plan.isShared = true;
    return { ...plan, answeredAs: other.id };
  }

  #drawEnd(): NightPlan['end'] {
    const { hits } = this.#chance;
    if (hits(this.weather.failed)) return 'job-failed';
    if (hits(this.weather.badPicture)) return 'bad-picture';
    return hits(this.weather.noOutput) ? 'no-output' : 'picture';
  }

  #wrongStatus(jobId: string): StatusReply | undefined {
    const { hits } = this.#chance;
    const { weather } = this;
    if (hits(weather.statusBroken)) return failed('poll-failed');
    if (hits(weather.overloaded)) return failed('overloaded');
    const job = this.jobs.find(({ id }) => id === jobId);
    if (job !== undefined && job.plan.wasMissed !== true && hits(weather.missed)) {
      job.plan.wasMissed = true;
      return { kind: 'missing', text: 'no route' };
    }
    if (job !== undefined && !weather.isGone && hits(weather.stale))
      return { kind: 'running', status: 'IN_QUEUE', isExecuting: false };
    const isFresh = job !== undefined && this.now() < job.submittedAt + weather.freshMs;
    return weather.isGone || isFresh ? { kind: 'missing', text: 'job not found' } : undefined;
  }
}

/** A half of all is as good. */
export const goodScore = 0.5;

/** From 0 to 1: the same input is always as good. */
export function scoreOf(fingerprint: string): number {
  return Number.parseInt(fingerprint.slice(0, 2), 16) / 255;
}

/** Whether its submission was answered with its id. */
export function isAnswered({ plan }: NightJob): boolean {
  return plan.isAnswerLost !== true && plan.answeredAs === undefined;
}

/** A whole picture that no other job makes. */
export function pictureOf(jobId: string): Buffer {
  const noise = createHash('sha256').update(jobId).digest();
  const row = Buffer.concat([Buffer.from([0]), noise.subarray(0, 24)]);
  return png(8, 2, Buffer.concat([row, row]));
}

function failed(kind: Failure['kind']): { kind: 'failure'; failure: Failure } {
  return { kind: 'failure', failure: { kind, text: kind } };
}
