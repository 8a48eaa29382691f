/** Putting on record how an attempt ended, and saying it. */
import type { Attempt, SubmittedAttempt } from '../core/attempt.ts';
import { failureRules, type Failure } from '../core/failure.ts';
import type { SavedPicture } from '../core/picture.ts';
import { sceneAfter } from '../core/retry.ts';
import type { Settlement } from './ports.ts';
import type { Run } from './run.ts';

/** What is known of the job besides how it ended. */
export type JobFacts = Pick<
  Settlement,
  'completedAt' | 'status' | 'delayTimeMs' | 'executionTimeMs' | 'polls'
> & {
  jobId?: string;
  /** Whether an earlier run submitted it. */
  isResumed?: boolean;
};

export async function settleWithoutPicture(
  run: Run,
  attempt: Attempt,
  state: 'unanswered' | 'refused' | 'failed' | 'expired',
  failure: Failure,
  facts: JobFacts = {},
): Promise<void> {
  const { checkpoint, clock, random, tell } = run.ports;
  const { jobId, isResumed: _, ...recorded } = facts;
  const scene = sceneAfter(failure, attempt.before, run.settings.retry, clock.now(), random());
  await checkpoint.settle(attempt, { ...recorded, state, at: clock.now(), failure, scene });
  if (failureRules[failure.kind].next === 'stop') return;
  tell({
    type: 'attempt-failed',
    scene: attempt.sceneId,
    attempt: attempt.number,
    ...(jobId !== undefined && { jobId }),
    kind: failure.kind,
    text: failure.text,
    next: scene.state,
    ...(scene.state === 'waiting' && { dueAt: scene.dueAt }),
  });
  if (!hadExpiredBefore(state, facts)) run.countFailed(failure);
}

/** What expired while no run was there to collect it says nothing against the service as it is now. */
function hadExpiredBefore(state: string, { isResumed = false }: JobFacts): boolean {
  return state === 'expired' && isResumed;
}

export async function settleSaved(
  run: Run,
  attempt: SubmittedAttempt,
  pictures: SavedPicture[],
  facts: JobFacts,
): Promise<void> {
  const { checkpoint, clock, tell } = run.ports;
  const { jobId: _id, isResumed: _is, ...recorded } = facts;
  await checkpoint.settle(attempt, {
    ...recorded,
    state: 'saved',
    at: clock.now(),
    pictures,
    scene: { state: 'saved' },
  });
  const seed = pictures[0]?.seed;
  tell({
    type: 'scene-saved',
    scene: attempt.sceneId,
    attempt: attempt.number,
    jobId: attempt.jobId,
    files: pictures.map((picture) => picture.file),
    ...(seed !== undefined && { seed }),
  });
}
