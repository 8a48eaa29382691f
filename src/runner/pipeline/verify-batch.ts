/** Checks every saved picture of a batch, and puts back what is not there or not whole, where that is wanted. */
import type { BadPicture, RecordedPicture, Verdict, Verified } from '../core/verification.ts';

export interface VerifyPorts {
  /** The pictures of the batch by the jobs that brought them; read as they are needed. */
  jobs: () => Iterable<RecordedPicture[]>;
  /** What the checkpoint says by now of the pictures of an attempt: a run may be renaming them. */
  readAgain: (attempt: number) => RecordedPicture[];
  inspect: (picture: RecordedPicture) => Promise<Verdict>;
  /** Undefined where nothing is to be changed. */
  repair: Repair | undefined;
  onBad: (bad: BadPicture) => void;
  onProgress: (checked: number) => void;
}

/** Only for whoever holds the batch's lock. */
export interface Repair {
  /** Gives the file another name, durably, which ends in `as`, and returns that; undefined where none is there. */
  setAside: (file: string, as: 'damaged' | 'former') => Promise<string | undefined>;
  /** Forgets the pictures of the attempt; resolves to whether its scene now waits to be rendered again. */
  putBack: (attempt: number) => Promise<boolean>;
}

/** `atOnce`: jobs whose pictures are checked concurrently. */
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

/** How often a picture is checked again after its record has changed. */
const maxPasses = 5;

/** `picture` is undefined where the checkpoint does not have it any more. */
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

/** A rename that was decided may have been done without being on record yet. */
async function inspectWhereItIs(ports: VerifyPorts, picture: RecordedPicture): Promise<Verdict> {
  const verdict = await ports.inspect(picture);
  if (verdict.kind === 'good' || picture.moveTo === null) return verdict;
  const moved = await ports.inspect({ ...picture, file: picture.moveTo });
  return moved.kind === 'missing' ? verdict : moved;
}

/**
 * The files first: a death in between leaves pictures that are missing, which the next repair puts back. The whole ones
 * of the job come off the record as well: left under their names, they would stand in the way of later renames.
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
