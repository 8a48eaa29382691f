/**
 * The stand-in for the service during a night. It makes every mistake at random, and records its jobs for the account.
 */
import { createHash } from 'node:crypto';
import type { Failure } from '../../src/runner/core/failure.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { FoundPicture } from '../../src/runner/core/picture.ts';
import { fingerprintOf } from '../../src/runner/core/scene.ts';
import type { HealthReply, StatusReply, SubmitReply } from '../../src/runner/pipeline/ports.ts';
import { FakeService, type JobPlan } from '../fakes/fake-service.ts';
import type { Chance } from '../faults/chance.ts';
import { png } from '../faults/picture-damages.ts';

/** Shares of requests or jobs that go wrong in each way, 0 to 1. */
export interface Weather {
  overloaded: number;
  notReached: number;
  /** The submission is accepted, but its answer is lost. */
  answerLost: number;
  /** The answer is a 5xx, and no job was created. */
  submitBroken: number;
  /** The job is accepted, but the answer names another job. */
  foreignAnswer: number;
  statusBroken: number;
  /** True if the service knows no job and refuses everything else. */
  isGone: boolean;
  /** Time in ms after a submission in which its job is unknown. */
  freshMs: number;
  /** A proxy answers 404 by accident, once for a job. */
  missed: number;
  /** A replica that lags behind answers IN_QUEUE for a job that is done or deleted. */
  stale: number;
  failed: number;
  badPicture: number;
  noOutput: number;
  slow: number;
  cancelBroken: number;
  /** Share of completed jobs whose output appears a few answers later. */
  late: number;
  /** A 401, 402 or 404 by accident. */
  refused: number;
  refusal: Refusal | undefined;
}

type Request = 'submit' | 'status';

/** A period of a start in which such requests are refused. */
interface Refusal {
  kind: 'key-refused' | 'account-unusable' | 'endpoint-unknown';
  requests: readonly Request[];
  /** Time since the start of the program. */
  fromMs: number;
  lastMs: number;
}

/** Paths of `output.image` where a worker may put its pictures. */
export const places = ['image', 'images[0].data'] as const;

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
  late: 0,
  refused: 0,
  refusal: undefined,
};

interface NightPlan extends JobPlan {
  fingerprint: string;
  end: 'picture' | 'job-failed' | 'bad-picture' | 'no-output';
  /** True if another submission was told its id as well. */
  isShared?: true;
  /** True if it had its accidental 404. */
  wasMissed?: true;
}

export type NightJob = FakeService<NightPlan>['jobs'][number];

export class NightService extends FakeService<NightPlan> {
  weather: Weather = calm;
  /** Fingerprints of submissions that got no answer and created no job. */
  readonly unansweredWithoutJob: string[] = [];
  /** Path where jobs put their pictures. */
  workersPlace: string = places[0];
  /** Refusals during the present start, in true time. `hadWorked`: true if a request of this start succeeded before. */
  refusals: { at: number; hadWorked: boolean }[] = [];
  #hasWorked = false;
  #startedAt = 0;
  readonly #chance: Chance;

  /** `now` is the true time, which is independent of the machine's wall clock. */
  constructor(chance: Chance) {
    super(
      () => 0,
      (_scene, _nth, input) => this.#planOf(input),
    );
    this.#chance = chance;
    this.instead = {
      submit: (_, input) => this.#refused('submit') ?? this.#noAnswer(input),
      status: (jobId) => this.#refused('status') ?? this.#wrongStatus(jobId),
      cancel: () => {
        if (chance.hits(this.weather.cancelBroken)) return failed('poll-failed');
        return this.weather.isGone ? { kind: 'unsupported', text: 'job not found' } : undefined;
      },
      health: () => this.#wrongHealth(),
    };
  }

  /** Called when the program starts. */
  begin(now: number): void {
    this.#startedAt = now;
    this.#hasWorked = false;
    this.refusals = [];
  }

  override async submit(...request: Parameters<FakeService['submit']>): Promise<SubmitReply> {
    return this.#noted(await super.submit(...request));
  }

  override async status(...request: Parameters<FakeService['status']>): Promise<StatusReply> {
    const reply = await super.status(...request);
    const [, , , kept] = request;
    // A kept answer proves nothing about the service.
    return kept === undefined ? this.#noted(reply) : reply;
  }

  #noted<Reply extends SubmitReply | StatusReply>(reply: Reply): Reply {
    this.#hasWorked ||= ['accepted', 'running', 'completed', 'ended'].includes(reply.kind);
    return reply;
  }

  #refused(request: Request): ReturnType<typeof failed> | undefined {
    const { refusal, refused } = this.weather;
    const isHit = this.#chance.hits(refused);
    if (!isHit && !(refusal?.requests.includes(request) && this.#isWithin(refusal))) return undefined;
    this.refusals.push({ at: this.now(), hadWorked: this.#hasWorked });
    return failed(refusal?.kind ?? 'key-refused');
  }

  #isWithin({ fromMs, lastMs }: Refusal): boolean {
    const since = this.now() - this.#startedAt - fromMs;
    return since >= 0 && since < lastMs;
  }

  #wrongHealth(): HealthReply | undefined {
    const { isGone, refusal } = this.weather;
    if (isGone) return { kind: 'unknown', text: 'no such endpoint' };
    return refusal?.requests.length === 2 ? this.#refused('status') : undefined;
  }

  /** Returns a copy with the same jobs, so that a test can continue in different ways. */
  copy(chance: Chance): NightService {
    const other = new NightService(chance);
    for (const job of this.jobs) other.addJob({ ...job, plan: { ...job.plan } });
    other.unansweredWithoutJob.push(...this.unansweredWithoutJob);
    return other;
  }

  protected override picturesOf({ id, plan }: NightJob): FoundPicture[] {
    const picture = pictureOf(id);
    const brought = plan.end === 'bad-picture' ? picture.subarray(0, -20) : picture;
    return [{ base64: brought.toString('base64'), output: { rest: { score: scoreOf(plan.fingerprint) } } }];
  }

  #noAnswer(input: JsonObject): ReturnType<typeof failed> | undefined {
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
    const emptyAnswers = hits(weather.late) ? between(1, 3) : 0;
    const place = this.workersPlace;
    const plan: NightPlan = {
      queueMs,
      executionMs,
      end,
      fingerprint: fingerprintOf(input),
      emptyAnswers,
      place,
    };
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

/** Score from which a picture is good. About half of all are. */
export const goodScore = 0.5;

/** Returns the score of an input, 0 to 1. The same input always has the same score. */
export function scoreOf(fingerprint: string): number {
  return Number.parseInt(fingerprint.slice(0, 2), 16) / 255;
}

/** True if the submission was answered with this job's id. */
export function isAnswered({ plan }: NightJob): boolean {
  return plan.isAnswerLost !== true && plan.answeredAs === undefined;
}

/** Returns a complete picture that no other job makes. */
export function pictureOf(jobId: string): Buffer {
  const noise = createHash('sha256').update(jobId).digest();
  const row = Buffer.concat([Buffer.from([0]), noise.subarray(0, 24)]);
  return png(8, 2, Buffer.concat([row, row]));
}

function failed(kind: Failure['kind']): { kind: 'failure'; failure: Failure } {
  return { kind: 'failure', failure: { kind, text: kind } };
}
