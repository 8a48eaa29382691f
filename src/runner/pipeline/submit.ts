/** The step from an intended attempt to a job at the service. */
import { sceneNameOf } from '../core/prompt.ts';
import type { Attempt, SubmittedAttempt } from '../core/attempt.ts';
import { failureRules, type Failure } from '../core/failure.ts';
import { backoffMs, fullJitterMs, orRetryAfterMs } from '../core/backoff.ts';
import type { EndpointLiveness } from './endpoint-liveness.ts';
import type { JobsInFlight } from './jobs-in-flight.ts';
import type { Checkpoint, RenderService, SubmitReply } from './ports.ts';
import type { RequestThrottle } from './request-throttle.ts';
import { settleWithoutPicture, type SettleContext } from './settle.ts';
import type { SharedIds } from './shared-ids.ts';

export type SubmitContext = SettleContext & {
  ports: {
    service: Pick<RenderService, 'submit'>;
    checkpoint: Pick<Checkpoint, 'recordSubmitted'>;
  };
  throttles: { submit: RequestThrottle };
  jobs: JobsInFlight;
  liveness: EndpointLiveness;
  sharedIds: SharedIds;
  abandoned: AbortSignal;
};

/** Sends the attempt until the service has answered; undefined where no job came of it, which is then on record. */
export async function submit(run: SubmitContext, attempt: Attempt): Promise<SubmittedAttempt | undefined> {
  for (let tries = 1; !run.stop.draining.aborted; tries++) {
    run.stats.move(attempt, 'queued');
    const reply = await run.throttles.submit.pass(run.stop.draining, () => send(run, attempt));
    if (reply === undefined) break;
    if (reply.kind === 'accepted') return recordAccepted(run, attempt, reply);
    learnReachability(run, reply.failure);
    if (reply.isEachLost) run.stop.halt(reply.failure.text);
    if (failureRules[reply.failure.kind].next !== 'try-again') {
      await recordRefusal(run, attempt, reply.failure);
      return undefined;
    }
    await waitForNextTry(run, attempt, reply.failure, tries);
  }
  await takeBack(run, attempt);
  return undefined;
}

async function send(run: SubmitContext, attempt: Attempt): Promise<SubmitReply> {
  run.stats.submitting(attempt);
  const reply = await run.ports.service.submit(attempt.endpoint, attempt.input, run.abandoned);
  if (reply.kind === 'accepted') run.jobs.held += 1;
  return reply;
}

async function recordAccepted(
  run: SubmitContext,
  attempt: Attempt,
  reply: SubmitReply & { kind: 'accepted' },
): Promise<SubmittedAttempt | undefined> {
  const { checkpoint, clock, emit } = run.ports;
  const { jobId, status } = reply;
  const at = clock.now();
  run.stats.accepted();
  run.liveness.add(attempt.endpoint);
  const recorded = await checkpoint.recordSubmitted(attempt, { jobId, status, at });
  if (recorded !== 'recorded') {
    run.jobs.held -= 1;
    run.throttles.submit.admitNext();
    const text = `the service answered with the id of another job, ${jobId}: its picture may belong to either scene${unansweredFailure(recorded.doubtful)}`;
    const failure: Failure = { kind: 'unanswered', text };
    run.halts.countSilence('submit', text);
    run.sharedIds.add(attempt, jobId, failure);
    await recordRefusal(run, attempt, failure);
    return undefined;
  }
  run.sharedIds.endRow();
  run.reachability.answered('submit');
  emit({ type: 'scene-submitted', scene: attempt.sceneId, attempt: attempt.number, jobId });
  return { ...attempt, jobId, submittedAt: at };
}

function unansweredFailure(sceneId: string | undefined): string {
  if (sceneId === undefined) return '';
  return `; scene ${sceneId} was saved by it meanwhile and may have the wrong picture: \`nightrender retry <pipeline> --id ${sceneId} --again\``;
}

function learnReachability(run: SubmitContext, { kind, text }: Failure): void {
  // No request was sent.
  if (kind === 'file-changed') return;
  if (kind === 'unanswered' || kind === 'not-reached') run.halts.countSilence('submit', text);
  else run.reachability.answered('submit');
}

async function recordRefusal(run: SubmitContext, attempt: Attempt, failure: Failure): Promise<void> {
  if (failureRules[failure.kind].next === 'stop') run.stop.forFailure(failure);
  await settleWithoutPicture(run, attempt, failure.kind === 'unanswered' ? 'unanswered' : 'refused', failure);
}

/** The run stops before the service has taken it: no job, no bill. */
async function takeBack(run: SubmitContext, attempt: Attempt): Promise<void> {
  const at = run.ports.clock.now();
  run.budget.countRefused();
  await run.ports.checkpoint.settle(attempt, {
    state: 'refused',
    at,
    scene: { state: 'waiting', dueAt: at },
  });
}

async function waitForNextTry(
  run: SubmitContext,
  attempt: Attempt,
  failure: Failure,
  tries: number,
): Promise<void> {
  const { clock, random, emit } = run.ports;
  run.stats.backOff(attempt, failure);
  const { retry } = run.settings;
  const wait = failure.kind === 'overloaded' ? fullJitterMs : backoffMs;
  const waitMs = orRetryAfterMs(failure.retryAfterMs, wait(tries, retry, random()));
  emit({ type: 'request-troubled', ...sceneNameOf(attempt), kind: failure.kind, text: failure.text, waitMs });
  await clock.sleep(waitMs, run.stop.draining);
}
