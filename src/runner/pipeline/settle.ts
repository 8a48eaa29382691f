/** Ends an attempt: saves its pictures, records the outcome, and emits the event. */
import type { Attempt, SavedSettlement, Submitted } from '../core/attempt.ts';
import { type Failure, failureRules, FatalFailure } from '../core/failure.ts';
import { attemptFile, sceneNameOf } from '../core/naming.ts';
import {
  detailsOf,
  type FoundPicture,
  type HeldPicture,
  type Picture,
  type SavedPicture,
  withFormat,
} from '../core/picture.ts';
import { provenanceOf } from '../core/provenance.ts';
import { type AfterFailure, backoffMs, sceneAfter } from '../core/retry-policy.ts';
import type { JobEnd } from '../core/spending.ts';
import type { JobFacts } from './poll-scheduler.ts';
import type { Checkpoint, Hold, Room } from './ports.ts';
import type { Run } from './run-parts.ts';

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

/** Returns the reason to halt: at the limit of submissions, a further one may be billed for nothing. */
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

async function settleSaved(
  run: Run,
  attempt: Submitted,
  settlement: SavedSettlement,
  facts: JobFacts,
): Promise<void> {
  const { checkpoint, emit } = run.ports;
  const { pictures } = settlement;
  await checkpoint.settle(attempt, settlement);
  await run.ports.answers.remove(attempt);
  const unstated = run.budget.countEnd(endOf(facts, pictures));
  if (unstated !== undefined) emit({ type: 'warning', text: unstatedText(attempt, unstated) });
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

function unstatedText({ sceneId }: Attempt, at: string): string {
  return `the answer about scene ${sceneId} has no price, a number of at least 0, at \`${at}\` (\`pricing.at\`); the cost of such jobs is estimated`;
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

function endOf({ executionTimeMs, executedMs, cost }: JobFacts, made: JobEnd['made']): JobEnd {
  return { reportedMs: executionTimeMs, seenMs: executedMs, made, cost };
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

/** Saves all files of an output, or returns why the attempt failed; `left`, unsettled, if the run ends. */
export async function save(
  run: Run,
  attempt: Submitted,
  found: FoundPicture[],
  facts: JobFacts,
  hold?: Hold,
): Promise<'saved' | 'left' | Failure> {
  const held: (HeldPicture | Failure)[] = [];
  for (const [i, picture] of found.entries()) {
    // Downloads run one by one, because memory for all pictures is reserved before the first.
    const room = hold?.bytes === 0 ? { hold, pictures: found.length - i } : undefined;
    const came = await download(run, attempt, picture, room);
    if (came === 'left') return 'left';
    held.push(came);
  }
  run.stats.move(attempt, 'checking');
  const checked = await Promise.all(
    held.map(async (picture, i) =>
      isFailure(picture) ? picture : run.ports.images.check(picture, provenanceOf(attempt, i, picture)),
    ),
  );
  const bad = checked.find(isFailure);
  if (bad !== undefined) return bad;
  const good = checked.filter((picture): picture is Picture => !isFailure(picture));
  run.stats.move(attempt, 'disk');
  for (let isSaved = false; !isSaved;) {
    const names = await run.names.reserve(attempt, good);
    isSaved = await write(run, attempt, good, names, facts).finally(() => run.names.release(names));
  }
  return 'saved';
}

/** Returns false and writes nothing if another runner has taken one of the names meanwhile. */
async function write(
  run: Run,
  attempt: Submitted,
  good: Picture[],
  names: string[],
  facts: JobFacts,
): Promise<boolean> {
  const files = good.map(({ sha256, format }, i) => {
    const name = names[i] ?? '';
    const file = run.ports.images.isNamedByAttempt ? attemptFile(name, attempt.key, sha256) : name;
    return format === undefined ? file : withFormat(file, format);
  });
  const pictures = good.map((picture, i) => saved(picture, files[i] ?? ''));
  const settlement = savedSettlement(pictures, facts, run.ports.clock.now());
  // After a crash from here on, this record tells whose files these are.
  if (!(await run.ports.checkpoint.beginWriting(attempt, settlement))) return false;
  await Promise.all(good.map((picture, i) => run.ports.images.write(picture, files[i] ?? '')));
  await settleSaved(run, attempt, settlement, facts);
  return true;
}

function isFailure(value: Picture | HeldPicture | Failure): value is Failure {
  return 'kind' in value;
}

function saved({ content, width, height, sha256, ...picture }: Picture, file: string): SavedPicture {
  const { named, ...details } = detailsOf(picture);
  return {
    file,
    width,
    height,
    bytes: content.length,
    sha256,
    ...details,
    ...(named && { label: named.label }),
  };
}

/** Number of download tries. The job is paid for, so temporary failures are retried, but not for the whole night. */
export const maxTries = 4;

/** Downloads the picture if it is a URL. `left` if the run is ending; the next run then collects the job. */
async function download(
  run: Run,
  attempt: Submitted,
  picture: FoundPicture,
  room?: Room,
): Promise<HeldPicture | Failure | 'left'> {
  if (!('url' in picture)) return picture;
  const { url, ...rest } = picture;
  for (let tries = 1; ; tries++) {
    const reply = await run.ports.downloads.fetch(url, run.abandoned, room);
    if ('bytes' in reply) return { ...rest, ...reply };
    if (reply.kind !== 'download-failed') return reply;
    if (run.stop.leaving.aborted) return 'left';
    if (tries === maxTries) return reply;
    await waitForNextTry(run, attempt, reply, tries);
    if (run.stop.leaving.aborted) return 'left';
  }
}

async function waitForNextTry(
  run: Run,
  attempt: Submitted,
  { kind, text, retryAfterMs = 0 }: Failure,
  tries: number,
): Promise<void> {
  const { clock, random, emit } = run.ports;
  const waitMs = Math.max(retryAfterMs, backoffMs(tries, run.config.retry, random()));
  emit({ type: 'request-troubled', ...sceneNameOf(attempt), kind, text, waitMs });
  await clock.sleep(waitMs, run.stop.leaving);
}
