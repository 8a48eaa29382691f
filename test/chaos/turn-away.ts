/**
 * A run that the service rejects. It must stop at once, or soon if its jobs in flight can still be polled, and leave
 * attempts and scenes as they were.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { concurrency, type Batch } from './batch.ts';
import { closedDoors } from './closed-doors.ts';
import type { TurnedAway } from './service-report.ts';
import { readFolder, type Folder } from '../account/read-folder.ts';
import { Runner, type RunnerEnd } from './runner.ts';
import type { HostileService } from './service-process.ts';
import { endWithin } from './strike.ts';

/** Exit code: the key is rejected, or the account or endpoint is not usable. */
const notAllowed = 12;
/** Such a run takes seconds, but the machine may be busy with other things. */
const longestRunMs = 30_000;

/** Number of further refused submissions. After polling jobs in flight, a run tries again, one at a time. */
const maxAskedAgain = 6;

export interface TurnedAwayRun extends RunnerEnd {
  isOverdue: boolean;
  complaints: string[];
}

export async function turnAway(door: string, batch: Batch, service: HostileService): Promise<TurnedAwayRun> {
  const before = left(batch);
  await service.close(door);
  const end = await endWithin(new Runner(batch.dir), longestRunMs);
  const met = await service.open();
  const complaints = [...untimely(door, end, met), ...changes(door, before, left(batch))];
  return { ...end, complaints: complaints.map((text) => `${door}: ${text}`) };
}

function untimely(door: string, { code }: RunnerEnd, { submissions, others }: TurnedAway): string[] {
  const isStopped = code === notAllowed || submissions + others === 0;
  const requests = closedDoors[door]?.isPlain === true ? submissions + others : submissions;
  return [
    ...(isStopped
      ? []
      : [`the run ended with ${code} after ${submissions} submissions and ${others} others`]),
    ...(requests <= concurrency + maxAskedAgain ? [] : [`${requests} requests were sent`]),
  ];
}

/**
 * Returns a sentence for each attempt or scene that the rejection has changed. Jobs in flight may be settled only if
 * they could be polled or their pictures were already written. Nothing may be newly accepted or given up.
 */
function changes(door: string, before: Folder | undefined, after: Folder | undefined): string[] {
  const attempts = new Map(before?.books?.attempts.map((row) => [row.attempt, row]));
  const failed = new Set(before?.books?.scenes.filter(({ state }) => state === 'failed').map(({ id }) => id));
  const isAnswering = closedDoors[door]?.isForSubmissions === true;
  const settled = (after?.books?.attempts ?? []).filter(({ attempt, state, kind }) => {
    const was = attempts.get(attempt)?.state;
    if (was === undefined) return state !== 'refused';
    if (was !== 'submitted' || state === was || kind === 'quarantined' || isAnswering) return false;
    return !(state === 'saved' && before !== undefined && wasWritten(attempt, before, after));
  });
  const givenUp = (after?.books?.scenes ?? []).filter(
    ({ id, state, kind }) => state === 'failed' && kind !== 'quarantined' && !failed.has(id),
  );
  return [
    ...settled.map(({ attempt, scene, state }) => `attempt ${attempt} of scene ${scene} is ${state} by that`),
    ...(isAnswering ? [] : givenUp.map(({ id }) => `scene ${id} has failed by that`)),
  ];
}

/**
 * True if all pictures of the attempt existed before. The run before was killed between a picture and its record, and
 * recording it needs no request.
 */
function wasWritten(attempt: number, before: Folder, after: Folder | undefined): boolean {
  const pictures = (after?.books?.pictures ?? []).filter((picture) => picture.attempt === attempt);
  return (
    pictures.length > 0 && pictures.every(({ file, sha256 }) => before.pictures.get(file)?.sha256 === sha256)
  );
}

/** Returns what earlier runs have left. Undefined if there was no run yet. */
function left({ dir }: Batch): Folder | undefined {
  const out = join(dir, 'out');
  return existsSync(join(out, 'images')) ? readFolder(out, 'id') : undefined;
}
