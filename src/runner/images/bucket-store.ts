/** Finished pictures in a bucket: every attempt's under a key of its own, compared by the store with what was sent. */
import { createHash } from 'node:crypto';
import type { Bucket } from '../../lib/s3/bucket.ts';
import { endingOfKind, type NamedFile } from '../core/named-file.ts';
import { readAttemptFile } from '../core/naming.ts';
import { pictureEndings } from '../core/picture-format.ts';
import { sidecarEnding, sidecarPath } from '../core/picture-copy.ts';
import { thumbnailOf, type Picture } from '../core/picture.ts';
import type { RecordedPicture, Verdict } from '../core/verification.ts';
import { withBucketFailure } from './bucket-failure.ts';
import { BucketOwner, type PictureOwner } from './bucket-owner.ts';
import { examineFile } from './check-file.ts';
import type { Demands } from './decoding.ts';
import { listingOf, pictureChecker, type CheckOptions } from './picture-checker.ts';
import { examinePicture } from './provenance-texts.ts';
import { inspectBytes, picturesOf } from './saved-files.ts';
import { makeSidecars, sidecarEndings, sidecarsOf, type SidecarMaker } from './sidecars.ts';
import { thumbnailFiles } from './thumbnail.ts';
import type { PreparedImageStore } from './image-store.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { MissingPictures } from '../pipeline/ports.ts';

export const picturesFolder = 'images/';
export const reportFolder = 'report/';

export function createBucketStore(
  bucket: Bucket,
  options: CheckOptions & {
    /** Who may put pictures there; a maintenance, which puts none, leaves it out. */
    owner?: PictureOwner;
  } = {},
): PreparedImageStore {
  const { reportDir, beside = [] } = options;
  const checker = pictureChecker(options);
  const listing = listingOf(options);
  const thumbnails = reportDir === undefined ? undefined : thumbnailFiles(reportDir);
  const owner = options.owner && new BucketOwner(bucket, options.owner);
  const put = (key: string, bytes: Uint8Array, sha256?: string): Promise<void> =>
    bucket.put(key, bytes, { type: typeOf(key), ...(sha256 !== undefined && { sha256 }) });
  const putThumbnail = async (picture: Picture): Promise<void> => {
    const name = thumbnailOf({ ...picture, bytes: picture.content.length });
    if (name === undefined || picture.thumbnail === undefined) return;
    // The gallery opens on this machine too.
    const path = thumbnails?.pathOf({ ...picture, bytes: picture.content.length }) ?? '';
    await thumbnails?.write(path, picture.thumbnail);
    await put(reportFolder + name, picture.thumbnail);
  };
  return {
    prepare: () =>
      withBucketFailure(() =>
        bucket.within(async () => {
          await bucket.probe();
          await owner?.begin(picturesFolder);
        }),
      ),
    check: checker.check,
    write: (picture, file) =>
      withBucketFailure(async () => {
        await owner?.claim();
        await put(keyOf(file), picture.content, picture.sha256);
        const others = (picture.beside ?? []).map(({ ending, bytes }) =>
          put(keyOf(sidecarPath(file, ending)), bytes),
        );
        await Promise.all([...others, putThumbnail(picture)]);
      }),
    has: ({ file, bytes, sha256 }) =>
      withBucketFailure(async () => {
        const facts = await bucket.facts(keyOf(file));
        if (facts === undefined || facts.bytes !== bytes) return false;
        return facts.isOf(sha256) ?? (await isContent(bucket, file, sha256));
      }),
    list: (kinds) =>
      withBucketFailure(async () =>
        kinds === undefined
          ? picturesOf(await listFiles(bucket, Object.values(pictureEndings)), listing)
          : listFiles(bucket, kinds.map(endingOfKind)),
      ),
    // Nobody overwrites anybody here, and what this batch does not know is not its own (`BucketOwner`).
    whichExist: async () => [],
    examine: (file, named) =>
      withBucketFailure(() => checker.inTurn(() => examine(bucket, file, checker.demands, named))),
    findMissing: (pictures, signal) =>
      withBucketFailure(() => findMissingObjects(bucket, picturesFolder, pictures, signal)),
    complete: (picture, provenance) =>
      withBucketFailure(async () => {
        const missing = await missingSidecars(bucket, beside, picture.file);
        const content = missing.length === 0 ? undefined : await bucket.get(keyOf(picture.file));
        if (content === undefined) return;
        for (const { ending, bytes } of await makeSidecars(missing, { ...picture, content }, provenance))
          await put(keyOf(sidecarPath(picture.file, ending)), bytes);
      }),
    remove: (file) =>
      withBucketFailure(async () => {
        for (const each of withSidecars(file, beside).toReversed()) await bucket.remove(keyOf(each));
      }),
    // Names here are never in each other's way.
    move: async () => undefined,
    kept: () => 0,
    // The next picture gets another key, and this one stays what it is.
    setAside: async () => undefined,
  };
}

export function keyOf(file: string): string {
  return picturesFolder + file;
}

/** A picture as the store has it; without `isDeep`, by what the store itself says of it. */
export function bucketInspector(
  bucket: Bucket,
  isDeep: boolean,
): (picture: RecordedPicture) => Promise<Verdict> {
  const inspect = async (picture: RecordedPicture): Promise<Verdict> => {
    const facts = isDeep ? undefined : await bucket.facts(keyOf(picture.file));
    const isSame = facts?.bytes === picture.bytes ? facts.isOf(picture.sha256) : undefined;
    if (isSame === true) return { kind: 'good' };
    const bytes = await bucket.get(keyOf(picture.file));
    return bytes === undefined ? { kind: 'missing' } : inspectBytes(bytes, picture);
  };
  return (picture) => withBucketFailure(() => inspect(picture));
}

export function typeOf(key: string): string {
  const [, ending = ''] = /\.(\w+)$/.exec(key) ?? [];
  return types[ending] ?? 'application/octet-stream';
}

const types: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  avif: 'image/avif',
  exr: 'image/x-exr',
  glb: 'model/gltf-binary',
  json: 'application/json',
  jsonl: 'application/jsonl',
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

/** Those of later attempts last. */
async function listFiles(bucket: Bucket, endings: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for await (const { key } of bucket.list(picturesFolder))
    if (endings.some((ending) => key.endsWith(ending))) files.push(key.slice(picturesFolder.length));
  const attempt = (file: string): number => readAttemptFile(file)?.attempt ?? 0;
  return files.toSorted((a, b) => attempt(a) - attempt(b));
}

async function examine(bucket: Bucket, file: string, demands: Demands, named?: NamedFile) {
  const bytes = await bucket.get(keyOf(file));
  if (bytes === undefined) return { problem: 'it has disappeared' };
  if (named !== undefined) return examineFile(bytes, file, named, demands.maxPixels);
  const sidecar = async (): Promise<string | undefined> =>
    (await bucket.get(keyOf(sidecarPath(file, sidecarEnding))))?.toString();
  const examined = await examinePicture(bytes, file, demands, sidecar);
  const name = readAttemptFile(file)?.name;
  return 'problem' in examined || name === undefined ? examined : { ...examined, name };
}

async function isContent(bucket: Bucket, file: string, sha256: string): Promise<boolean> {
  const bytes = await bucket.get(keyOf(file));
  return bytes !== undefined && createHash('sha256').update(bytes).digest('hex') === sha256;
}

/** The picture first. */
function withSidecars(file: string, makers: SidecarMaker[]): string[] {
  return [...new Set([file, ...sidecarEndings(makers).map((ending) => sidecarPath(file, ending))])];
}

async function missingSidecars(
  bucket: Bucket,
  makers: SidecarMaker[],
  file: string,
): Promise<SidecarMaker[]> {
  const missing: SidecarMaker[] = [];
  for (const maker of sidecarsOf(makers, file))
    if ((await bucket.facts(keyOf(sidecarPath(file, maker.ending)))) === undefined) missing.push(maker);
  return missing;
}

/** From so many on, those that were not listed count as missing; before, each is asked for: it may have come since. */
const maxMissing = 1_000;
const askedAtOnce = 32;

/** Objects and pictures between two turns of the event loop: some milliseconds. */
const sliceSize = 500;

/** Undefined where `signal` aborts before the last was checked. `folder` is that of all pictures. */
async function findMissingObjects(
  bucket: Bucket,
  folder: string,
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
): Promise<MissingPictures | undefined> {
  const listed = await listedMarks(bucket, folder, signal);
  if (listed === undefined) return undefined;
  const found: MissingPictures = { checked: 0, missing: 0, example: '' };
  const limit = pLimit(askedAtOnce);
  let unlisted: RecordedPicture[] = [];
  const isThere = async ({ file, bytes }: RecordedPicture): Promise<boolean> =>
    found.missing < maxMissing && (await bucket.facts(folder + file))?.bytes === bytes;
  const askForAll = async (): Promise<void> => {
    const seen = await Promise.all(unlisted.map((picture) => limit(isThere, picture)));
    const missing = unlisted.filter((_, i) => seen[i] === false);
    if (found.missing === 0) found.example = missing[0]?.file ?? '';
    found.missing += missing.length;
    unlisted = [];
    await nextTurn();
  };
  for (const picture of pictures) {
    if (!has(listed, markOf(folder + picture.file, picture.bytes))) unlisted.push(picture);
    found.checked += 1;
    if (found.checked % sliceSize !== 0) continue;
    await askForAll();
    if (signal.aborted) return undefined;
  }
  await askForAll();
  return found;
}

/** Eight bytes an object, sorted: ten million take 80 MB. */
async function listedMarks(
  bucket: Bucket,
  folder: string,
  signal: AbortSignal,
): Promise<Float64Array | undefined> {
  let marks = new Float64Array(1024);
  let count = 0;
  for await (const { key, bytes } of bucket.list(folder)) {
    if (signal.aborted) return undefined;
    if (count === marks.length) {
      const longer = new Float64Array(count * 2);
      longer.set(marks);
      marks = longer;
    }
    marks[count] = markOf(key, bytes);
    count += 1;
    if (count % sliceSize === 0) await nextTurn();
  }
  return marks.subarray(0, count).toSorted();
}

/** 48 bits of name and size: of ten million, none or one is taken for another. */
function markOf(key: string, bytes: number): number {
  return createHash('sha1').update(`${key}\0${bytes}`).digest().readUIntBE(0, 6);
}

function has(sorted: Float64Array, mark: number): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < mark) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === mark;
}
