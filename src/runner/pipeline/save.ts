/** The step from a completed job to checked pictures under their final names. */
import { attemptFile } from '../core/naming.ts';
import { sceneNameOf } from '../core/prompt.ts';
import type { Submitted } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import { withFormat } from '../core/picture-format.ts';
import {
  detailsOf,
  type FoundPicture,
  type HeldPicture,
  type Picture,
  type SavedPicture,
} from '../core/picture.ts';
import { provenanceOf } from '../core/provenance.ts';
import type { Hold, Room } from './ports.ts';
import { savedSettlement, settleSaved } from './settle.ts';
import { backoffMs } from '../core/backoff.ts';
import type { Run } from './run.ts';
import type { JobFacts } from './job.ts';

/**
 * Saves all pictures and files of an output, or none. If none, returns why the attempt failed, or `left` if
 * the run is ending; the attempt is not settled then.
 */
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
  // In a bucket, names contain the attempt, so no file is overwritten.
  const isNamedByAttempt = run.config.output.pictures !== undefined;
  const files = good.map(({ sha256, format }, i) => {
    const name = names[i] ?? '';
    const file = isNamedByAttempt ? attemptFile(name, attempt.key, sha256) : name;
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
