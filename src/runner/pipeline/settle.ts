/** Putting on record how an attempt ended, and saying it. */
import type { Attempt, SubmittedAttempt } from '../core/attempt.ts';
import { failureRules, type Failure } from '../core/failure.ts';
import type { SavedPicture } from '../core/picture.ts';
import { sceneAfter, type AfterFailure } from '../core/retry.ts';
import type { SavedSettlement, Settlement } from './ports.ts';
import type { Run } from './run.ts';

/** What is known of the job besides how it ended. */
export type JobFacts = Pick<
  Settlement,
  'completedAt' | 'status' | 'delayTimeMs' | 'executionTimeMs' | 'polls'
> & {
  jobId?: string;
  /** How long this run saw it executing. */
  executedMs?: number;
};

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
    scene: attempt.sceneId,
    attempt: attempt.number,
    ...(facts.jobId !== undefined && { jobId: facts.jobId }),
    kind: failure.kind,
    text: failure.text,
    next: scene.state === 'waiting' ? 'waiting' : 'failed',
    ...(scene.state === 'waiting' && { dueAt: scene.dueAt }),
    ...executionTime(facts),
    ...(cost !== undefined && { cost }),
  });
  if (scene.state === 'waiting' && scene.isAtBound === true) run.stopForSilence(attempt, failure);
  // What got lost on the way says nothing against the work; silence is counted for itself.
  if (state === 'failed' || state === 'refused') run.countFailed(failure);
}

/** Returns where it leaves the scene. */
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
  const scene = sceneAfter(failure, attempt.before, run.settings.retry, { now, random: random(), isOutage });
  run.stats.move(attempt, 'disk');
  await checkpoint.settle(attempt, { ...recorded(facts), state, at: now, failure, scene });
  if (state === 'refused') run.budget.countRefused();
  else run.budget.countEnd(state === 'failed' ? timesOf(facts) : 'untold');
  return scene;
}

export function savedSettlement(run: Run, pictures: SavedPicture[], facts: JobFacts): SavedSettlement {
  const at = run.ports.clock.now();
  return { ...recorded(facts), state: 'saved', at, pictures, scene: { state: 'saved' } };
}

export async function settleSaved(
  run: Run,
  attempt: SubmittedAttempt,
  settlement: SavedSettlement,
  facts: JobFacts,
): Promise<void> {
  const { checkpoint, emit } = run.ports;
  const { pictures } = settlement;
  await checkpoint.settle(attempt, settlement);
  run.budget.countEnd(timesOf(facts));
  run.stats.saved(pictures);
  const seed = pictures[0]?.seed;
  const cost = run.budget.cost();
  emit({
    type: 'scene-saved',
    scene: attempt.sceneId,
    attempt: attempt.number,
    jobId: attempt.jobId,
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

function timesOf({ executionTimeMs, executedMs }: JobFacts): {
  toldMs: number | undefined;
  seenMs: number | undefined;
} {
  return { toldMs: executionTimeMs, seenMs: executedMs };
}
