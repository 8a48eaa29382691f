/** Takes over the unfinished work of crashed runs, before anything is sent, and of other runners that crash later. */
import {
  type Attempt,
  endpointAddress,
  type Lost,
  type UnfinishedWriting,
  type Idempotency,
} from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import { nameKey } from '../core/naming.ts';
import { splitFiles } from '../core/picture.ts';
import { provenanceOf } from '../core/provenance.ts';
import { quarantine } from '../core/retry-policy.ts';
import type { Checkpoint, ImageStore, OtherRunners, TakenOver } from './ports.ts';
import { recordWithoutPicture, settleWithoutPicture } from './settle.ts';
import type { Stop } from './stop.ts';
import type { Run } from './run-parts.ts';
import type { JobSlots } from './job-slots.ts';

/**
 * Finishes the renames that were decided. Pictures that were already renamed stay untouched. A picture that is
 * missing under both names may be on a disk that is not mounted, so its rename waits.
 */
export async function finishMoves(
  checkpoint: Pick<Checkpoint, 'pendingMoves' | 'recordMoved'>,
  images: Pick<ImageStore, 'move'>,
  stop?: Stop,
): Promise<void> {
  const moves = await checkpoint.pendingMoves();
  const taken = new Map(moves.map(({ key, from }) => [nameKey(from), key]));
  for (const move of moves) {
    if (stop?.leaving.aborted === true) return;
    const { key, from, to, name } = move;
    // The records of two pictures never have one name.
    if ((taken.get(nameKey(to)) ?? key) !== key) continue;
    const isOfEditedRow = from === name;
    if (!(await images.move(from, to)) && !isOfEditedRow) continue;
    await checkpoint.recordMoved(move);
    taken.delete(nameKey(from));
  }
}

/** Settles each unfinished writing whose files are complete. Otherwise removes its files and drops it. Returns the number of both. */
export async function finishWriting(
  checkpoint: Writings & Pick<Checkpoint, 'unfinishedWriting'>,
  images: WrittenImages,
  stop: Stop,
): Promise<number> {
  let finished = 0;
  for (const unfinished of await checkpoint.unfinishedWriting()) {
    if (stop.leaving.aborted) break;
    await finishOne(checkpoint, images, unfinished);
    finished += 1;
  }
  return finished;
}

type Writings = Pick<Checkpoint, 'ownerOf' | 'settle' | 'dropWriting'>;
type WrittenImages = Pick<ImageStore, 'has' | 'complete' | 'remove'>;

async function finishOne(
  checkpoint: Writings,
  images: WrittenImages,
  { attempt, isInFlight, settlement }: UnfinishedWriting,
): Promise<void> {
  const files: string[] = [];
  for (const picture of settlement.pictures) {
    const isOnRecord = (await checkpoint.ownerOf(picture.file)) !== undefined;
    if (!isOnRecord && (await images.has(picture))) files.push(picture.file);
  }
  if (isInFlight && files.length === settlement.pictures.length) {
    for (const [i, picture] of splitFiles(settlement.pictures).pictures.entries())
      await images.complete(picture, provenanceOf(attempt, i, picture));
    return checkpoint.settle(attempt, settlement);
  }
  // The job will be polled again, and its name may then belong to another scene.
  for (const file of files) await images.remove(file);
  await checkpoint.dropWriting(attempt);
}

/** Settles what crashed runs may have sent, and returns its number. Submissions with a recognized key stay. */
export async function settleIntended(run: Run): Promise<number> {
  const intended = await run.ports.checkpoint.recover();
  const isRepeatable = await Promise.all(intended.map((attempt) => mayRepeat(run, attempt)));
  const unknown = intended.filter((_, i) => isRepeatable[i] === false);
  await Promise.all(unknown.map((attempt) => settleUnanswered(run, attempt)));
  return unknown.length;
}

async function mayRepeat({ repeats, config, ports, stop }: Run, attempt: Attempt): Promise<boolean> {
  const { idempotency, crashes, endpoint } = attempt;
  if (idempotency === undefined || quarantine(crashes) !== undefined) return false;
  // The idempotency key is valid only at the endpoint of this run.
  if (endpointAddress(endpoint) !== endpointAddress(config.endpoint)) return false;
  const lost = lostBefore(idempotency, unanswered, ports.clock.now());
  return (await repeats.mayRepeat(attempt, lost)) || stop.leaving.aborted;
}

/** Describes a lost submission of an earlier run. It may have been sent at any time since it was recorded. */
function lostBefore({ intendedAt }: Idempotency, failure: Failure, now: number): Lost {
  return { failure, sentAt: intendedAt, sentBy: now };
}

/** Returns the attempts to send, with their present input. Settles those of withdrawn scenes. */
export async function takeUpIntended(run: Run): Promise<{ attempt: Attempt; lost: Lost }[]> {
  const intended = await run.ports.checkpoint.recover();
  await Promise.all(
    intended.filter(({ isWithdrawn }) => isWithdrawn).map((attempt) => settleUnanswered(run, attempt)),
  );
  return intended.flatMap((attempt) => toSendAgain(run, attempt));
}

/** Returns nothing for a withdrawn scene. */
function toSendAgain({ ports }: Run, attempt: Attempt): { attempt: Attempt; lost: Lost }[] {
  const { idempotency, isWithdrawn } = attempt;
  if (idempotency === undefined || isWithdrawn === true) return [];
  return [{ attempt, lost: lostBefore(idempotency, unanswered, ports.clock.now()) }];
}

/** Settles a submission that a crash left without an answer. `retry.unanswered` decides what follows, or quarantine after too many crashes. */
export async function settleUnanswered(run: Run, attempt: Attempt): Promise<void> {
  const failure = quarantine(attempt.crashes) ?? unanswered;
  await recordWithoutPicture(run, attempt, 'unanswered', failure);
}

const unanswered: Failure = {
  kind: 'unanswered',
  text: 'the program ended between recording this submission and its answer: it may have been sent',
};

/** Shares the rate with other runners, and takes over the work of crashed ones until this run drains. Returns at once without other runners. */
export async function workWithOthers(run: Run, slots: Pick<JobSlots, 'takeUp' | 'sendAgain'>): Promise<void> {
  const { others } = run.ports;
  if (others === undefined) return;
  const { submit, status } = run.limiters;
  others.listen({
    onCount: (runners) => {
      for (const limiter of [submit, status]) limiter.shareAmong(runners);
    },
  });
  try {
    await takeOver(run, others, slots);
  } catch (thrown) {
    run.stop.forThrown(thrown);
  }
}

async function takeOver(
  run: Run,
  others: OtherRunners,
  slots: Pick<JobSlots, 'takeUp' | 'sendAgain'>,
): Promise<void> {
  const until = AbortSignal.any([run.stop.draining, run.over]);
  for (;;) {
    const left = await others.takeOver(until);
    if (left === undefined) return;
    await takeUp(run, slots, left);
  }
}

/** Takes over the work of a crashed runner, as at the start of a run. */
async function takeUp(
  run: Run,
  slots: Pick<JobSlots, 'takeUp' | 'sendAgain'>,
  { writing, intended, submitted }: TakenOver,
): Promise<void> {
  const { checkpoint, images, emit } = run.ports;
  for (const unfinished of writing) await finishOne(checkpoint, images, unfinished);
  const isRepeatable = await Promise.all(intended.map((attempt) => mayRepeat(run, attempt)));
  const again = intended.filter((_, i) => isRepeatable[i]).flatMap((attempt) => toSendAgain(run, attempt));
  const unknown = intended.filter((attempt) => !again.some((one) => one.attempt === attempt));
  await Promise.all(unknown.map((attempt) => settleUnanswered(run, attempt)));
  const open = await submitted();
  const inFlight = open.filter(({ crashes }) => quarantine(crashes) === undefined);
  const resumed = inFlight.length + again.length;
  emit({ type: 'recovered', unanswered: unknown.length, inFlight: resumed });
  for (const attempt of open) {
    const failure = quarantine(attempt.crashes);
    if (failure !== undefined) await settleWithoutPicture(run, attempt, 'failed', failure);
  }
  slots.takeUp(inFlight);
  await slots.sendAgain(again);
}
