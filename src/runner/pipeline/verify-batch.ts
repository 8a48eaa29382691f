/** Checks every saved picture of a batch and, if requested, puts back those that are missing or damaged. */
import type { BadPicture, RecordedPicture, Verdict, Verified } from '../core/scene-record.ts';

export interface VerifyPorts {
  /** Pictures of the batch grouped by job, read lazily. */
  jobs: () => Iterable<RecordedPicture[]>;
  /** Reads the current records of an attempt's pictures, because a run may be renaming them. */
  readAgain: (attempt: number) => RecordedPicture[];
  inspect: (picture: RecordedPicture) => Promise<Verdict>;
  /** Undefined if nothing may be changed. */
  repair: Repair | undefined;
  onBad: (bad: BadPicture) => void;
  onProgress: (checked: number) => void;
}

/** Changes that require the lock of the batch. */
export interface Repair {
  /** Renames the file durably to a name that ends in `as`, and returns it; undefined if there is no file. */
  setAside: (file: string, as: 'damaged' | 'former') => Promise<string | undefined>;
  /** Forgets the pictures of the attempt. Resolves to true if its scene now waits to be rendered again. */
  putBack: (attempt: number) => Promise<boolean>;
}

/** Checks the pictures job by job, and repairs if `ports.repair` is set. `atOnce`: number of jobs that are checked concurrently. */
export async function verifyBatch(ports: VerifyPorts, atOnce: number): Promise<Verified> {
  const verified = { checked: 0, good: 0, missing: 0, damaged: 0, withdrawn: 0, putBack: 0 };
  const jobs = ports.jobs()[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (let next = jobs.next(); next.done !== true; next = jobs.next())
      await verifyJob(ports, next.value, verified);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return verified;
}

async function verifyJob(ports: VerifyPorts, pictures: RecordedPicture[], verified: Verified): Promise<void> {
  const bad: BadPicture[] = [];
  const good: RecordedPicture[] = [];
  for (const recorded of pictures) {
    const { picture, verdict } = await judge(ports, recorded);
    if (picture === undefined) continue;
    verified.checked += 1;
    verified[verdict.kind] += 1;
    if (verdict.kind === 'good') good.push(picture);
    if (verdict.kind === 'good') continue;
    if (picture.sceneState === 'withdrawn') verified.withdrawn += 1;
    bad.push({ ...picture, verdict });
  }
  await repairJob(ports, bad, good, verified);
  ports.onProgress(verified.checked);
}

/** Maximum number of checks of a picture whose record keeps changing. */
const maxPasses = 5;

/** `picture` is undefined if the checkpoint no longer has it. */
async function judge(
  ports: VerifyPorts,
  recorded: RecordedPicture,
): Promise<{ picture: RecordedPicture | undefined; verdict: Verdict }> {
  let picture = recorded;
  for (let passes = 1; ; passes++) {
    const verdict = await inspectWhereItIs(ports, picture);
    if (verdict.kind === 'good' || ports.repair !== undefined || passes === maxPasses)
      return { picture, verdict };
    const now = ports.readAgain(picture.attempt).find(({ number }) => number === recorded.number);
    if (now === undefined) return { picture: undefined, verdict };
    if (now.file === picture.file && now.moveTo === picture.moveTo) return { picture: now, verdict };
    picture = now;
  }
}

/** Inspects the old and the new name, because a rename may be done before it is recorded. */
async function inspectWhereItIs(ports: VerifyPorts, picture: RecordedPicture): Promise<Verdict> {
  const verdict = await ports.inspect(picture);
  if (verdict.kind === 'good' || picture.moveTo === null) return verdict;
  const moved = await ports.inspect({ ...picture, file: picture.moveTo });
  return moved.kind === 'missing' ? verdict : moved;
}

/**
 * Sets the damaged files aside first: after a crash the pictures are missing, and the next repair puts them
 * back. The undamaged pictures of the job are forgotten as well, because under their names they would block
 * later renames.
 */
async function repairJob(
  { repair, onBad }: VerifyPorts,
  bad: BadPicture[],
  good: RecordedPicture[],
  verified: Verified,
): Promise<void> {
  for (const each of bad) {
    const isInTheWay = repair !== undefined && each.verdict.kind === 'damaged';
    const keptAs = isInTheWay ? await repair.setAside(each.file, 'damaged') : undefined;
    onBad({ ...each, ...(keptAs !== undefined && { keptAs }) });
  }
  const [first] = bad;
  if (repair === undefined || first === undefined) return;
  for (const { file } of good) await repair.setAside(file, 'former');
  if (await repair.putBack(first.attempt)) verified.putBack += 1;
}
