/** The stand-in of the service as a night has it: it does everything wrong by chance, and keeps the account of that. */
import { createHash } from 'node:crypto';
import type { Failure } from '../../src/runner/core/failure.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { FoundPicture } from '../../src/runner/core/picture.ts';
import { fingerprintOf } from '../../src/runner/core/scene.ts';
import type { HealthReply, StatusReply, SubmitReply } from '../../src/runner/pipeline/ports.ts';
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
  /** Completed jobs whose output comes a few answers later. */
  late: number;
  /** A 401, 402 or 404 by accident. */
  refused: number;
  refusal: Refusal | undefined;
}

type Request = 'submit' | 'status';

/** For some time of a start, such requests are refused. */
interface Refusal {
  kind: 'key-refused' | 'account-unusable' | 'endpoint-unknown';
  requests: readonly Request[];
  /** Counted from the start of the program. */
  fromMs: number;
  lastMs: number;
}

/** Where a worker may put its pictures, as paths of `output.image`. */
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
  /** Where its jobs put their pictures. */
  workersPlace: string = places[0];
  /** Refusals of the present start, in true time. `hadWorked`: a request of it was answered before. */
  refusals: { at: number; hadWorked: boolean }[] = [];
  #hasWorked = false;
  #startedAt = 0;
  readonly #chance: Chance;

  /** Its `now` is the true time, which no clock of the machine changes. */
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

  /** The program starts. */
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
    // A kept answer shows nothing of the service.
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
