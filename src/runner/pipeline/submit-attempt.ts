/** The step from an intended attempt to a job at the service. */
import { sceneNameOf } from '../core/naming.ts';
import type { AccessRequest } from './access.ts';
import type { Attempt, Lost, Submitted } from '../core/attempt.ts';
import { failureRules, type Failure } from '../core/failure.ts';
import { isRefusal, retryWaitMs } from '../core/request-rate.ts';
import type { SubmitReply } from './ports.ts';
import { settleWithoutPicture, whileInProgress } from './settle.ts';
import type { Run } from './run-parts.ts';

/**
 * Sends the attempt until the service has answered. Undefined if there is no job, which is then recorded.
 * `left`: the answer was lost, and the next run sends the attempt again. `lost` is present if an earlier run
 * has sent the attempt, or may have.
 */
export async function submit(
  run: Run,
  attempt: Attempt,
  lost?: Lost,
  isEnough: (failure: Failure) => boolean = () => false,
): Promise<Submitted | 'left' | undefined> {
  const isOfEarlierRun = lost !== undefined;
  const { clock } = run.ports;
  let soughtElapsed: number | undefined;
  for (let tries = 1; isToBeSent(run, attempt, lost); tries++) {
    run.stats.move(attempt, 'queued');
    const before = lost;
    const sent = run.repeats.instant();
    const signal = giveUpOf(run, attempt, lost);
    const reply = await run.access.pass(accessOf(run, attempt, signal), () =>
      run.limiters.submit.pass(signal, () => {
        const sending = (): Promise<SubmitReply> => send(run, attempt, before);
        // If the program crashes again meanwhile, that counts against the scene. The waits do not.
        return isOfEarlierRun ? whileInProgress(run.ports.checkpoint, attempt, sending) : sending();
      }),
    );
    if (reply === undefined) break;
    if (reply.kind === 'accepted') return recordAccepted(run, attempt, reply);
    if (reply.kind === 'not-found') {
      run.reachability.answered('submit');
      return recordNotFound(run, attempt, reply.text, lost);
    }
    if (reply.kind === 'not-listed') {
      const { kind: _kind, text, ...wait } = reply;
      run.jobs.markSought(attempt);
      soughtElapsed ??= clock.elapsed();
      if (clock.elapsed() - soughtElapsed >= longestSearchMs(run))
        return recordNotFound(run, attempt, text, lost);
      const failure: Failure = { kind: 'unanswered', text: `its job was looked for: ${text}`, ...wait };
      if (isEnough(failure) || run.stop.draining.aborted) break;
      await waitForNextTry(run, attempt, failure, tries, run.stop.draining);
      continue;
    }
    const { failure } = reply;
    if (failure !== before?.failure) learnReachability(run, failure);
    if (reply.isEachLost) run.stop.halt(failure.text);
    else if (failure.kind === 'unanswered') lost ??= { failure, ...sent, sentBy: clock.now() };
    if (reply.isEachLost || !(await isSentAgain(run, attempt, failure, lost))) {
      if (lost !== undefined && isStop(failure)) return leaveFor(run, failure);
      await recordRefusal(run, attempt, lost === undefined ? failure : lostFailure(lost, failure));
      return undefined;
    }
    if (isEnough(failure)) break;
    await waitForNextTry(run, attempt, failure, tries, giveUpOf(run, attempt, lost));
  }
  if (lost !== undefined) return 'left';
  await takeBack(run, attempt);
  return undefined;
}

/** Time after which a list that never shows the job, or cannot be read, is given up. One bad look does not decide. */
function longestSearchMs({ config: { timeouts, halt } }: Run): number {
  return timeouts.queue + timeouts.execution + halt.unreachable;
}

/** True while the attempt should be sent. A recognized lost one is sent even while draining, unless in an outage. */
function isToBeSent(run: Run, attempt: Attempt, lost: Lost | undefined): boolean {
  const { draining, leaving } = run.stop;
  if (lost === undefined) return !draining.aborted;
  const isAnswered = run.repeats.isKnown(attempt, lost) && !run.reachability.isOutage();
  return !leaving.aborted && (isAnswered || !draining.aborted);
}

function giveUpOf({ stop, repeats }: Run, attempt: Attempt, lost: Lost | undefined): AbortSignal {
  return lost !== undefined && repeats.isKnown(attempt, lost) ? stop.leaving : stop.draining;
}

function accessOf({ stats }: Run, attempt: Attempt, signal: AbortSignal): AccessRequest {
  const onWait = (): void => stats.move(attempt, 'outage');
  return { operation: 'submit', endpoint: attempt.endpoint, subject: attempt, signal, onWait };
}

/** Returns true if the request is repeated. A lost submission is repeated only if the service recognizes its key. */
async function isSentAgain(
  run: Run,
  attempt: Attempt,
  { kind }: Failure,
  lost: Lost | undefined,
): Promise<boolean> {
  if (kind !== 'unanswered' && failureRules[kind].next !== 'try-again') return false;
  return lost === undefined ? kind !== 'unanswered' : run.repeats.mayRepeat(attempt, lost);
}

function isStop({ kind }: Failure): boolean {
  return failureRules[kind].next === 'stop';
}

function leaveFor(run: Run, failure: Failure): 'left' {
  run.stop.forFailure(failure, 'drain');
  return 'left';
}

/** Combines both failures, because a later refusal does not tell the outcome of the lost submission. */
function lostFailure({ failure }: Lost, later: Failure): Failure {
  if (later.kind === 'unanswered') return failure;
  return { ...failure, text: `${failure.text}; sent again, it brought: ${later.text}` };
}

/** Sends the request, unless it is too late to send a lost submission again. */
async function send(run: Run, attempt: Attempt, lost: Lost | undefined): Promise<SubmitReply> {
  if (lost !== undefined && !run.repeats.isKnown(attempt, lost))
    return { kind: 'failure', failure: lost.failure };
  run.stats.countSubmission(attempt);
  const { endpoint, input, idempotency } = attempt;
  const { service, checkpoint } = run.ports;
  const isTaken = (jobId: string): Promise<boolean> => checkpoint.hasJob({ endpoint, jobId });
  const { queue, execution } = run.config.timeouts;
  const before = lost && {
    sentAt: lost.sentAt,
    sentBy: lost.sentBy,
    overWithinMs: queue + execution,
    isTaken,
  };
  const reply = await service.submit(endpoint, input, run.abandoned, idempotency?.key, before);
  const isRefused = reply.kind === 'failure' && isRefusal(reply.failure);
  const advice = run.refusals.add(isRefused, run.ports.clock.elapsed());
  if (advice !== undefined) run.ports.emit({ type: 'warning', text: advice });
  return reply;
}

async function recordAccepted(
  run: Run,
  attempt: Attempt,
  reply: SubmitReply & { kind: 'accepted' },
): Promise<Submitted | undefined> {
  const { checkpoint, clock, emit } = run.ports;
  const { kind: _kind, ...job } = reply;
  const { jobId, kept } = job;
  const at = clock.now();
  run.repeats.learn(job.idempotencyMs);
  run.stats.accepted();
  run.firstRefusals.countAccepted();
  run.liveness.add(attempt.endpoint);
  const recorded = await checkpoint.recordSubmitted(attempt, { ...job, at });
  if (recorded !== 'recorded') {
    const text = `the service answered with the id of another job, ${jobId}: its result may belong to either scene${unansweredFailure(recorded.doubtful)}`;
    const failure: Failure = { kind: 'unanswered', text };
    run.sharedIds.add(attempt, jobId, failure);
    await recordRefusal(run, attempt, failure);
    return undefined;
  }
  run.sharedIds.endRow();
  run.reachability.answered('submit', true);
  emit({ type: 'scene-submitted', scene: attempt.sceneId, attempt: attempt.number, jobId });
  const { endpoint } = attempt;
  return { ...attempt, job: { endpoint, jobId, submittedAt: at, ...(kept !== undefined && { kept }) } };
}

/** Records a lost submission that was not found as unanswered, because it may still run. */
async function recordNotFound(
  run: Run,
  attempt: Attempt,
  text: string,
  lost: Lost | undefined,
): Promise<undefined> {
  const before = lost === undefined ? '' : `${lost.failure.text}; `;
  await recordRefusal(run, attempt, { kind: 'unanswered', text: before + text });
}

function unansweredFailure(sceneId: string | undefined): string {
  if (sceneId === undefined) return '';
  return `; scene ${sceneId} was saved by it meanwhile and may have the wrong picture: \`nightrender retry <pipeline> --id ${sceneId} --again\``;
}

function learnReachability(run: Run, { kind, text }: Failure): void {
  // No request was sent.
  if (kind === 'file-changed' || kind === 'checkpoint-gone') return;
  if (kind === 'unanswered' || kind === 'not-reached') run.halts.countSilence('submit', text);
  else run.reachability.answered('submit');
}

async function recordRefusal(run: Run, attempt: Attempt, failure: Failure): Promise<void> {
  if (isStop(failure)) run.stop.forFailure(failure, 'drain');
  if (failure.kind === 'input-refused' && (await run.firstRefusals.isForAll(attempt, failure)))
    return takeBack(run, attempt, firstRefusalWaitMs);
  await settleWithoutPicture(run, attempt, failure.kind === 'unanswered' ? 'unanswered' : 'refused', failure);
}

/** Longer than the first five submissions take, so other scenes are sent before this one is repeated. */
const firstRefusalWaitMs = 20_000;

/** Settles an attempt that the service did not accept: no job, no bill. Its scene waits. */
async function takeBack(run: Run, attempt: Attempt, waitMs = 0): Promise<void> {
  const at = run.ports.clock.now();
  run.budget.countRefused();
  await run.ports.checkpoint.settle(attempt, {
    state: 'refused',
    at,
    scene: { state: 'waiting', dueAt: at + waitMs },
  });
}

async function waitForNextTry(
  run: Run,
  attempt: Attempt,
  failure: Failure,
  tries: number,
  until: AbortSignal,
): Promise<void> {
  const { clock, random, emit } = run.ports;
  run.stats.backOff(attempt, failure);
  const waitMs = retryWaitMs(failure, tries, run.config.retry, random());
  emit({ type: 'request-troubled', ...sceneNameOf(attempt), kind: failure.kind, text: failure.text, waitMs });
  await clock.sleep(waitMs, until);
}
