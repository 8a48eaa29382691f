/** Jobs in flight: at most `concurrency` at a time, refilled from the checkpoint as slots become free. */
import pLimit from 'p-limit';
import type { Attempt, Lost, Submitted } from '../core/attempt.ts';
import type { IdleReason } from '../core/run-stats.ts';
import { suspectCrashes } from '../core/retry-policy.ts';
import { follow, poll } from './follow.ts';
import { freshJob, resumedJob, type Job, type PollResult } from './poll-scheduler.ts';
import type { Checkpoint } from './ports.ts';
import { submit } from './submit-attempt.ts';
import type { Run } from './run-parts.ts';

type Due = NonNullable<Awaited<ReturnType<Checkpoint['nextDue']>>>;

/** Maximum number of kept answers in memory. Each may be as large as `limits.body`. */
const maxKeptAtOnce = 4;
/** Time after which an idle feeder checks for work, unless woken earlier. */
const maxIdleMs = 60_000;
/** Like `maxIdleMs`, with other runners, which may take due scenes or leave work behind. */
const maxSharedIdleMs = 2_000;

export class JobSlots {
  readonly #run: Run;
  readonly #inFlight = new Set<Promise<void>>();
  #submitting = 0;
  #hasLeft = false;
  #awake = new AbortController();

  constructor(run: Run) {
    this.#run = run;
    run.stop.draining.addEventListener('abort', () => this.#wake(), { once: true });
    run.jobs.onSlotFreed = () => this.#wake();
    run.access.onOpen = () => this.#wake();
  }

  /** True if a job in flight is left to the next run. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /**
   * Polls every job that earlier runs left in flight, oldest first, and follows those that still run. They do
   * not count against `concurrency`, because a waiting result may expire. Only jobs that were in progress
   * during crashes wait for the others and for each other.
   */
  async resume(attempts: Submitted[]): Promise<void> {
    const isSuspect = ({ crashes }: Submitted): boolean => crashes >= suspectCrashes;
    const calm = attempts.filter((attempt) => !isSuspect(attempt));
    // Kept answers are read before the service is asked. They show first whether a setting is still wrong.
    const few = pLimit(maxKeptAtOnce);
    const isHeld = ({ job: { held } }: Submitted): boolean =>
      held !== undefined && (held.kind !== 'download-failed' || held.answer !== undefined);
    await Promise.all(calm.filter(isHeld).map((one) => few(() => this.#resumeOne(one))));
    await Promise.all(calm.filter((one) => !isHeld(one)).map((one) => this.#resumeOne(one)));
    for (const attempt of attempts.filter(isSuspect)) await this.#resumeOne(attempt);
  }

  /**
   * Sends what earlier runs may have sent. Attempts in progress during crashes are sent last, one by one. What
   * is not listed yet is looked for beside the others.
   */
  async sendAgain(intended: { attempt: Attempt; lost: Lost }[]): Promise<void> {
    const isSuspect = ({ attempt }: { attempt: Attempt }): boolean => attempt.crashes >= suspectCrashes;
    const send = ({ attempt, lost }: { attempt: Attempt; lost: Lost }): Promise<unknown> => {
      const submission = this.#submit(attempt, lost);
      this.#track(attempt, this.#render(attempt, submission));
      const isSought = this.#run.jobs.untilSought(attempt);
      return Promise.race([submission.catch(() => undefined), isSought]);
    };
    const calm = intended.filter((one) => !isSuspect(one)).map(send);
    const suspects = intended.filter(isSuspect);
    if (suspects.length > 0) await Promise.all(calm);
    for (const suspect of suspects) await send(suspect);
  }

  /** Like `resume`, for the jobs of another runner that has crashed. */
  takeUp(attempts: Submitted[]): void {
    for (const attempt of attempts) {
      this.#run.stats.resume(attempt);
      this.#track(attempt, this.#follow(resumedJob(this.#run.ports.clock, attempt), { waitMs: 0 }));
    }
  }

  /** Submits and collects until no scene is waiting and no job is in flight, or the run is stopped. */
  async renderWaiting(): Promise<void> {
    const { stop, ports, deadline, pollScheduler } = this.#run;
    deadline.begin();
    while (!stop.draining.aborted) {
      const awake = this.#awake.signal;
      const next = await ports.checkpoint.nextDue();
      pollScheduler.hasMore = next !== undefined;
      // Computed before the checks, so the sleep does not miss a time that passes during them.
      const idleMs = this.#idleMs(next?.at);
      if (next === undefined && this.#inFlight.size === 0) return;
      // Submissions that wait for a full service have not been accepted yet either.
      if (next !== undefined || this.#submitting > 0) this.#stopAtLimit(next !== undefined);
      if (next !== undefined && (await this.#submitDue(next))) continue;
      this.#run.stats.setIdleReason(this.#idleReason(next));
      await ports.clock.sleep(idleMs, awake);
    }
    this.#run.stats.setIdleReason(this.#idleReason(undefined));
  }

  /** Resolves when this run has no job in flight: each is settled or left to the next run. */
  async finish(): Promise<void> {
    this.#run.pollScheduler.hasMore = false;
    await Promise.all(this.#inFlight);
  }

  async #resumeOne(attempt: Submitted): Promise<void> {
    const job = resumedJob(this.#run.ports.clock, attempt);
    this.#run.stats.resume(attempt);
    const first = poll(this.#run, job);
    this.#track(attempt, this.#follow(job, first));
    // The error ends the run elsewhere; here the run still waits for the other jobs.
    await first.catch(() => undefined);
  }

  #stopAtLimit(hasMore: boolean): void {
    const { budget, deadline, holds, stop } = this.#run;
    const isSpent = hasMore && this.#submitting === 0 && budget.allowedSubmissions(holds.count) <= 0;
    const text = deadline.leftMs() <= 0 ? deadline.text : isSpent ? budget.spentText() : undefined;
    if (text !== undefined) stop.request('drain', { kind: 'limit-reached', text });
  }

  /** Returns true if anything was submitted. */
  async #submitDue(next: Due): Promise<boolean> {
    const allowed = this.#allowedSubmissions();
    const attempts = allowed === 0 ? [] : await this.#claim(allowed, next);
    this.#run.budget.countSubmissions(attempts.length);
    // The spending of other runners is only known from the checkpoint.
    if (this.#run.ports.others !== undefined) await this.#run.budget.load(this.#run.ports.checkpoint);
    for (const attempt of attempts) this.#track(attempt, this.#render(attempt));
    return attempts.length > 0;
  }

  async #claim(allowed: number, next: Due): Promise<Attempt[]> {
    const { checkpoint, clock } = this.#run.ports;
    const { endpoint, retry } = this.#run.config;
    this.#run.stats.setIdleReason('disk');
    const now = clock.now();
    // A retry later than any possible wait means that the clock was set back. It is not waited for.
    const isStray = next.at > now + retry.longestWait;
    // Nothing else is left that could show whether the first refusals apply to all scenes.
    const isLast = this.#inFlight.size === 0 && this.#run.firstRefusals.hasAny;
    if (next.at > now && !isStray && !isLast) return [];
    if (!next.isSuspect) return checkpoint.claim(allowed, endpoint, now, Math.max(now, next.at));
    // A suspect scene starts only when a crash could lose no other work. Uncertain jobs have nothing to lose.
    const isAlone = this.#inFlight.size === this.#run.jobs.uncertain.size;
    const suspect = isAlone ? await checkpoint.claimSuspect(endpoint, now) : undefined;
    return suspect === undefined ? [] : [suspect];
  }

  async #render(attempt: Attempt, submission = this.#submit(attempt)): Promise<void> {
    const submitted = await submission;
    if (submitted === 'left') this.#hasLeft = true;
    if (submitted === undefined || submitted === 'left') return;
    const job: Job = freshJob(this.#run.ports.clock, submitted);
    this.#wake();
    await this.#follow(job);
  }

  /** `lost` is present if an earlier run may have sent the attempt. */
  async #submit(attempt: Attempt, lost?: Lost): ReturnType<typeof submit> {
    this.#submitting += 1;
    this.#run.stats.enter(attempt);
    return await submit(this.#run, attempt, lost).finally(() => {
      this.#submitting -= 1;
      this.#run.jobs.sought.delete(attempt);
    });
  }

  async #follow(job: Job, first?: PollResult | Promise<PollResult>): Promise<void> {
    if ((await follow(this.#run, job, first)) === 'left') this.#hasLeft = true;
    // The service now has one job less and may accept another.
    this.#run.limiters.submit.resume();
  }

  #track(attempt: Attempt, work: Promise<void>): void {
    this.#run.jobs.count += 1;
    const kept: Promise<void> = work
      .catch((thrown: unknown) => this.#run.stop.forThrown(thrown))
      .finally(() => {
        this.#inFlight.delete(kept);
        this.#run.jobs.count -= 1;
        this.#run.stats.leave(attempt);
        this.#wake();
      });
    this.#inFlight.add(kept);
  }

  #allowedSubmissions(): number {
    const { config, access, reachability, budget, holds, jobs, stop, limiters } = this.#run;
    if (stop.draining.aborted || access.isDoubted(config.endpoint)) return 0;
    // If the endpoint is uncertain, one submission settles it, and uncertain jobs do not block it.
    // As many lost submissions as there are slots may be looked for besides.
    const sought = Math.min(jobs.sought.size, config.concurrency);
    const known = this.#inFlight.size - jobs.uncertain.size - jobs.awaited.size - jobs.late.size - sought;
    // At most `concurrency` results may depend on their hosts alone.
    const free = Math.max(0, jobs.allowedBesideLate(known, config.concurrency) - holds.addresses);
    const probing = jobs.uncertain.size > 0 || holds.isProbing ? Math.max(0, 1 - known) : Infinity;
    return Math.min(
      free,
      probing,
      limiters.submit.allowedRequests(),
      reachability.allowedSubmissions(this.#submitting - sought, known === 0),
      budget.allowedSubmissions(this.#inFlight.size + holds.count),
    );
  }

  #idleReason(next: Due | undefined): IdleReason {
    const { stop, ports, config, access, budget, holds, jobs, reachability, limiters } = this.#run;
    if (stop.draining.aborted) return stop.ending?.kind === 'limit-reached' ? 'limits' : 'stopping';
    // Suspects wait for each other, however many slots are free.
    if (next === undefined || next.isSuspect) return 'nothingLeft';
    if (next.at > ports.clock.now()) return 'retries';
    if (budget.allowedSubmissions(this.#inFlight.size + holds.count) === 0) return 'limits';
    if (access.isDoubted(config.endpoint)) return 'outage';
    if (limiters.submit.allowedRequests() === 0) return limiters.submit.isPaused ? 'slowed' : 'rate';
    const isTesting = jobs.uncertain.size > 0 || jobs.isHostInDoubt || holds.isProbing;
    if (isTesting || holds.addresses >= config.concurrency) return 'outage';
    if (reachability.allowedSubmissions(this.#submitting, false) > 0) return 'disk';
    return reachability.isRefusing ? 'load' : 'outage';
  }

  #idleMs(dueAt: number | undefined): number {
    const { ports, reachability, deadline } = this.#run;
    const untilDueMs = dueAt === undefined ? Infinity : dueAt - ports.clock.now();
    const wakeMs = [reachability.pauseMs(), untilDueMs, deadline.leftMs()].filter((ms) => ms > 0);
    return Math.min(ports.others === undefined ? maxIdleMs : maxSharedIdleMs, ...wakeMs);
  }

  #wake(): void {
    // With a given reason, the abort does not create an error with a stack trace.
    this.#awake.abort('woken');
    this.#awake = new AbortController();
  }
}
