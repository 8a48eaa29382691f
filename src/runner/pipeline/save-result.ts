/** Saves the result of a job: downloads its files, checks and writes them, and keeps the received files of a refused output. After the last try: `handleLate` (missing.ts). */
import type { Submitted } from '../core/attempt.ts';
import { type Failure, type FailureKind, failureRules } from '../core/failure.ts';
import { attemptFile, sceneNameOf } from '../core/naming.ts';
import {
  detailsOf,
  type FoundPicture,
  type UncheckedPicture,
  type Picture,
  type SavedPicture,
  withFormat,
} from '../core/picture.ts';
import { provenanceOf } from '../core/provenance.ts';
import { backoffMs } from '../core/retry-policy.ts';
import type { JobFacts } from './poll-scheduler.ts';
import type { MemoryShare, Room } from './ports.ts';
import { savedSettlement, settleSaved, whileInProgress } from './settle.ts';
import type { Run } from './run-parts.ts';

export interface SaveRules {
  /** Call once for each refused file. True if it has to be downloaded again. The failure is `download-failed` then. */
  isDoubted: (bad: Failure) => boolean;
  /** True if the job is not asked for its files again. */
  isLast: (late: Failure) => boolean;
}

/**
 * Saves all files of an output, or returns a failure. After `download-failed`, the caller may try again. Returns `left` if
 * the run ends before; the attempt stays open.
 */
export async function save(
  run: Run,
  attempt: Submitted,
  found: FoundPicture[],
  facts: JobFacts,
  { isDoubted, isLast }: SaveRules,
  share?: MemoryShare,
): Promise<'saved' | 'left' | Failure> {
  const fetched: (UncheckedPicture | Failure)[] = [];
  for (const [i, picture] of found.entries()) {
    // Downloads run one by one, because memory for all pictures is reserved before the first. Clips need none.
    const pictures = found.slice(i).filter(({ isClip }) => isClip !== true).length;
    const room = share?.bytes === 0 ? { share, pictures } : undefined;
    const one = await download(run, attempt, picture, i, room);
    if (one === 'left') return 'left';
    fetched.push(one);
  }
  const failures = fetched.filter(isFailure);
  const bad = failures.find(({ isGone }) => isGone) ?? failures[0];
  if (bad !== undefined && failures.every(({ kind }) => kind === 'download-failed'))
    return isLast(bad) ? keepRefusedOutput(run, attempt, fetched, [], bad) : bad;
  // The crash marker is set only now: a download may take an hour, and a kill during it is not the fault of the scene.
  return whileInProgress(run.ports.checkpoint, attempt, () =>
    checkAndSave(run, attempt, fetched, facts, isDoubted),
  );
}

async function checkAndSave(
  run: Run,
  attempt: Submitted,
  fetched: (UncheckedPicture | Failure)[],
  facts: JobFacts,
  isDoubted: (bad: Failure) => boolean,
): Promise<'saved' | Failure> {
  run.stats.move(attempt, 'checking');
  const checked = await Promise.all(
    fetched.map(async (picture, i) =>
      isFailure(picture) ? picture : run.ports.images.check(picture, provenanceOf(attempt, i, picture)),
    ),
  );
  const failures = checked.filter(isFailure);
  // A refused file fails the attempt, whether or not the others can be downloaded.
  const bad = failures.find(({ kind }) => kind !== 'download-failed') ?? failures[0];
  const badOne = fetched.find((_, i) => checked[i] === bad);
  const isDownloaded =
    badOne !== undefined && !isFailure(badOne) && (badOne.isDownloaded ?? 'received' in badOne);
  if (bad !== undefined && isDownloaded && refusedByCheck.has(bad.kind) && isDoubted(bad))
    return { ...bad, kind: 'download-failed', text: `${bad.text}; it is downloaded again` };
  if (bad !== undefined) return keepRefusedOutput(run, attempt, fetched, checked, bad);
  const good = checked.filter((picture): picture is Picture => !isFailure(picture));
  run.stats.move(attempt, 'disk');
  // Another run on a shared checkpoint may take a name after it was reserved.
  for (let isSaved = false; !isSaved;) {
    const names = await run.names.reserve(attempt, good);
    isSaved = await write(run, attempt, good, names, facts).finally(() => run.names.release(names));
  }
  return 'saved';
}

const refusedByCheck = new Set<FailureKind>(['bad-picture', 'bad-file', 'bad-clip']);

/**
 * Keeps the received files of a refused output, because they are paid for: as `.damaged` if their content was refused,
 * otherwise as `.kept`. Pictures that are rendered again are not kept, because they cost little. A result that waits for
 * a setting is not kept, because the service keeps it. Returns the failure, with the names of the files.
 */
async function keepRefusedOutput(
  run: Run,
  attempt: Submitted,
  fetched: (UncheckedPicture | Failure)[],
  checked: (Picture | Failure)[],
  bad: Failure,
): Promise<Failure> {
  const { next } = failureRules[bad.kind];
  const hasClip = fetched.some((one) => !isFailure(one) && (one.isClip === true || 'received' in one));
  if (next === 'hold' || (next !== 'fail-scene' && !hasClip)) return bad;
  const names = await run.names.reserve(
    attempt,
    fetched.map((one) => (isFailure(one) ? {} : one)),
  );
  const kept: string[] = [];
  try {
    for (const [i, one] of fetched.entries())
      if (!isFailure(one)) kept.push(await keepOne(run, attempt, one, checked[i], names[i] ?? ''));
  } finally {
    run.names.release(names);
  }
  return kept.length === 0
    ? bad
    : { ...bad, text: `${bad.text}; the received files are kept as ${kept.join(', ')}` };
}

function keepOne(
  { ports: { images } }: Run,
  { key }: Submitted,
  fetched: UncheckedPicture,
  checked: Picture | Failure | undefined,
  name: string,
): Promise<string> {
  const isBad = checked !== undefined && isFailure(checked) && refusedByCheck.has(checked.kind);
  const digest = checked === undefined ? '' : isFailure(checked) ? (checked.digest ?? '') : checked.sha256;
  const file = images.isNamedByAttempt ? attemptFile(name, key, digest) : name;
  return images.keepRefused(fetched, file, isBad ? 'damaged' : 'kept');
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
  const pictures = good.map((picture, i) => savedPictureOf(picture, files[i] ?? ''));
  const settlement = savedSettlement(pictures, facts, run.ports.clock.now());
  // After a crash from here on, this record tells whose files these are.
  if (!(await run.ports.checkpoint.beginWriting(attempt, settlement))) return false;
  await Promise.all(good.map((picture, i) => run.ports.images.write(picture, files[i] ?? '')));
  await settleSaved(run, attempt, settlement, facts);
  return true;
}

function isFailure(value: Picture | UncheckedPicture | Failure): value is Failure {
  return 'kind' in value;
}

function savedPictureOf(
  { content, received, width, height, sha256, ...picture }: Picture,
  file: string,
): SavedPicture {
  const { named, ...details } = detailsOf(picture);
  return {
    file,
    width,
    height,
    bytes: received?.length ?? content.length,
    sha256,
    ...details,
    ...(named && { label: named.label }),
  };
}

/** Number of tries of a download before its job is asked for again. */
const maxDownloadTries = 4;

/** Downloads the picture or clip, the `nth` of the output, if it is a URL. `left` if the run is ending; the next run then collects the job. */
async function download(
  run: Run,
  attempt: Submitted,
  picture: FoundPicture,
  nth: number,
  room?: Room,
): Promise<UncheckedPicture | Failure | 'left'> {
  if (!('url' in picture)) return picture;
  const { url, ...rest } = picture;
  const { downloads } = run.ports;
  for (let tries = 1; ; tries++) {
    const reply =
      rest.isClip === true
        ? await downloads.receive(url, { job: attempt.job, nth }, run.abandoned)
        : await downloads.fetch(url, run.abandoned, room);
    if (!('kind' in reply)) return { ...rest, ...reply, isDownloaded: true };
    if (reply.kind !== 'download-failed' || (reply.isGone === true && tries === 1)) return reply;
    if (run.stop.leaving.aborted) return 'left';
    // Only a first answer `gone` is believed, because a host in trouble may say it wrongly.
    if (tries === maxDownloadTries)
      return reply.isGone === true ? { kind: reply.kind, text: reply.text } : reply;
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
