/** Records how an attempt ended, and emits the event. */
import { sceneNameOf } from '../core/prompt.ts';
import type { Attempt, Submitted } from '../core/attempt.ts';
import { failureRules, FatalFailure, type Failure } from '../core/failure.ts';
import type { SavedPicture } from '../core/picture.ts';
import { sceneAfter, type AfterFailure } from '../core/retry.ts';
import type { JobEnd } from '../core/spending.ts';
import type { SavedSettlement } from '../core/settlement.ts';
import type { Checkpoint } from './ports.ts';
import type { Run } from './run.ts';
import type { JobFacts } from './job.ts';

type StateWithoutPicture = 'unanswered' | 'refused' | 'failed' | 'expired';

export async function settleWithoutPicture(
  run: Run,
  attempt: Attempt,
  state: StateWithoutPicture,
  failure: Failure,
  facts: JobFacts = {},
): Promise<void> {
  const scene = await recordWithoutPicture(run, attempt, state, failure, facts);
  if (failureRules[failure.kind].next === 'stop') return;
  const cost = run.budget.cost();
  run.ports.emit({
    type: 'attempt-failed',
    ...sceneNameOf(attempt),
    attempt: attempt.number,
    ...(facts.jobId !== undefined && { jobId: facts.jobId }),
    kind: failure.kind,
    text: failure.text,
    next: scene.state === 'waiting' ? 'waiting' : 'failed',
    ...(scene.state === 'waiting' && { dueAt: scene.dueAt }),
    ...executionTime(facts),
    ...(cost !== undefined && { cost }),
  });
  if (scene.state === 'waiting' && scene.isAtBound === true) run.stop.halt(unansweredText(attempt, failure));
  // Lost or unanswered attempts say nothing about the work. Silence is counted separately.
  if (state === 'failed' || state === 'refused') run.halts.countFailed(failure);
}

/**
 * Returns the reason to halt: the scene is at its limit of submissions, and each further one may be billed
 * for nothing.
 */
function unansweredText({ sceneId, number }: Attempt, { text }: Failure): string {
  return `scene ${sceneId} was submitted ${number} times and the service answers no submission (\`retry.submissions\`); the latest: ${text}`;
}

/** Settles the attempt in the checkpoint and returns the new state of its scene. */
export async function recordWithoutPicture(
  run: Run,
  attempt: Attempt,
  state: StateWithoutPicture,
  failure: Failure,
  facts: JobFacts = {},
): Promise<AfterFailure> {
  const { checkpoint, clock, random } = run.ports;
  const now = clock.now();
  const isOutage = run.reachability.isOutage();
  const scene = sceneAfter(failure, attempt.before, run.config.retry, { now, random: random(), isOutage });
  run.stats.move(attempt, 'disk');
  await checkpoint.settle(attempt, { ...recorded(facts), state, at: now, failure, scene });
  await run.ports.answers.remove(attempt);
  run.holds.countLost(failure.kind);
  if (state === 'refused') run.budget.countRefused();
  else run.budget.countEnd(endOf(facts, state === 'failed' ? failure.kind : 'unknown'));
  return scene;
}

export function savedSettlement(pictures: SavedPicture[], facts: JobFacts, at: number): SavedSettlement {
  return { ...recorded(facts), state: 'saved', at, pictures, scene: { state: 'saved' } };
}

export async function settleSaved(
  run: Run,
  attempt: Submitted,
  settlement: SavedSettlement,
  facts: JobFacts,
): Promise<void> {
  const { checkpoint, emit } = run.ports;
  const { pictures } = settlement;
  await checkpoint.settle(attempt, settlement);
  await run.ports.answers.remove(attempt);
  run.budget.countEnd(endOf(facts, pictures));
  run.stats.saved(pictures);
  const seed = pictures[0]?.seed;
  const cost = run.budget.cost();
  emit({
    type: 'scene-saved',
    ...sceneNameOf(attempt),
    attempt: attempt.number,
    jobId: attempt.job.jobId,
    files: pictures.map((picture) => picture.file),
    ...(seed !== undefined && { seed }),
    ...executionTime(facts),
    ...(cost !== undefined && { cost }),
  });
}

function executionTime({ executionTimeMs }: JobFacts): { executionTimeMs?: number } {
  return executionTimeMs === undefined ? {} : { executionTimeMs };
}

function recorded({
  jobId: _id,
  executedMs: _ms,
  ...facts
}: JobFacts): Omit<JobFacts, 'jobId' | 'executedMs'> {
  return facts;
}

function endOf({ executionTimeMs, executedMs }: JobFacts, made: JobEnd['made']): JobEnd {
  return { reportedMs: executionTimeMs, seenMs: executedMs, made };
}

/** Runs `work` with the attempt's crash marker set, so a crash meanwhile counts against its scene. */
export async function whileInProgress<T>(
  checkpoint: Pick<Checkpoint, 'setInProgress'>,
  attempt: Attempt,
  work: () => Promise<T>,
): Promise<T> {
  await checkpoint.setInProgress(attempt, true);
  const result = await work().catch(async (thrown: unknown) => {
    // A full disk ends the run in order and is not a crash.
    if (thrown instanceof FatalFailure) await checkpoint.setInProgress(attempt, false);
    throw thrown;
  });
  await checkpoint.setInProgress(attempt, false);
  return result;
}
