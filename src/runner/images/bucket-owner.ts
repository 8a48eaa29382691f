/** Whose pictures a bucket's folder has: a batch that forgot them, or another one, would pay for them again. */
import type { Bucket } from '../../lib/s3/bucket.ts';
import { S3Error } from '../../lib/s3/s3-error.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { readAttemptFile } from '../core/naming.ts';
import { withBucketFailure } from './bucket-failure.ts';

export interface PictureOwner {
  /** Of the batch, made up when it began there. */
  batch: string;
  run: {
    token: string;
    isKnown(token: string): boolean;
    /** The highest attempt on record, where a copy of the checkpoint may have been taken before more were made. */
    lastAttempt?: number | undefined;
  };
  /** Whether pictures of others may be there: a person said what is to become of them. */
  isAnyAccepted: boolean;
}

const markKey = 'batch.json';

/** `hasOthers`: pictures of others may be there as well, since a person has accepted it. */
interface Mark {
  batch: string;
  run: string;
  hasOthers: boolean;
}

/** Stands for a run where none of the batch's has put pictures there, until one puts more. */
const movedToken = 'moved';

/** For a batch as such, while no run is at work on it. */
export function ownerWithoutRun(bucket: Bucket, batch: string): BucketOwner {
  const run = { token: movedToken, isKnown: () => true };
  return new BucketOwner(bucket, { batch, run, isAnyAccepted: false });
}

const other = 'has the pictures of another batch, or of this one before its checkpoint was lost';
const begun =
  'is where another batch has begun, or this one before its checkpoint was lost, and may have its pictures';
const older = 'has pictures of runs that this checkpoint does not know; an older copy of it was put back';

/** The folder's mark names the latest run that has put a picture there, from before the first one on. */
export class BucketOwner {
  readonly #bucket: Bucket;
  readonly #owner: PictureOwner;
  #hasOthers = false;
  #isMarked = false;
  #claimed: Promise<void> | undefined;

  constructor(bucket: Bucket, owner: PictureOwner) {
    this.#bucket = bucket;
    this.#owner = owner;
  }

  /** Throws `ConfigError` where the checkpoint does not know of all that has been put into this folder there. */
  async assertOurs(folder: string): Promise<void> {
    const { batch, run, isAnyAccepted } = this.#owner;
    const bytes = await this.#bucket.get(markKey);
    if (bytes === undefined || bytes.length === 0) return;
    const mark = readMark(bytes);
    this.#isMarked = true;
    this.#hasOthers = isAnyAccepted || mark?.hasOthers === true;
    if (isAnyAccepted) return;
    if (mark?.batch !== batch) throw this.#refusal(mark?.run === movedToken ? begun : other);
    if (mark.run !== movedToken && !run.isKnown(mark.run)) throw this.#refusal(older);
    if (run.lastAttempt !== undefined && !mark.hasOthers) await this.#assertNoLater(folder, run.lastAttempt);
  }

  /**
   * As above, and takes a folder that is nobody's, before anything is paid for: of several batches that begin there at once
   * one has it.
   */
  async begin(folder: string): Promise<void> {
    await this.assertOurs(folder);
    if (this.#isMarked || this.#owner.isAnyAccepted) return;
    await this.#putMark(movedToken, true).catch((error: unknown) => {
      if (!(error instanceof S3Error)) throw error;
    });
    // Not every store knows the condition: what is there is what counts.
    if ((await this.#bucket.facts(markKey)) === undefined) await this.#putMark(movedToken);
    await this.assertOurs(folder);
  }

  async #assertNoLater(folder: string, lastAttempt: number): Promise<void> {
    for await (const { key } of this.#bucket.list(folder))
      if ((readAttemptFile(key)?.attempt ?? 0) > lastAttempt) throw this.#refusal(older);
  }

  #refusal(whose: string): ConfigError {
    const text = `${whose}. What they show would be paid for again. Put the right checkpoint back, or choose another folder in output.pictures. Or take over what fits, each picture checked, with --adopt; or render everything that is not on record with --fresh (what is there stays)`;
    return new ConfigError([{ where: this.#bucket.name, text }]);
  }

  /** Before the first picture of a run. */
  claim(): Promise<void> {
    this.#claimed ??= this.#putMark(this.#owner.run.token).catch((error: unknown) => {
      this.#claimed = undefined;
      throw error;
    });
    return this.#claimed;
  }

  #putMark(run: string, isFirst = false): Promise<void> {
    const mark: Mark = { batch: this.#owner.batch, run, hasOthers: this.#hasOthers };
    const bytes = Buffer.from(`${JSON.stringify(mark)}\n`);
    return this.#bucket.put(markKey, bytes, { type: 'application/json', isFirst });
  }
}

/** Whether any batch has put pictures there. */
export function isMarked(bucket: Bucket): Promise<boolean> {
  return withBucketFailure(async () => (await bucket.facts(markKey)) !== undefined);
}

/** Undefined where it is none of ours. */
function readMark(bytes: Buffer): Mark | undefined {
  const json = parsed(bytes.toString());
  if (!isJsonObject(json)) return undefined;
  const { batch, run, hasOthers } = json;
  return typeof batch === 'string' && typeof run === 'string'
    ? { batch, run, hasOthers: hasOthers === true }
    : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
