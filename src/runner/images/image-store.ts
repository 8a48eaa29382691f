/** The store of finished pictures: only what is whole and checked gets the name of a picture. A check is before saving, an examination of a file that exists. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import {
  type UncheckedPicture,
  isSized,
  type Picture,
  type SavedPicture,
  sidecarEnding,
  sidecarPath,
  thumbnailOf,
  detailsOf,
  withFormat,
  type FileKind,
  type NamedFile,
  type PlainFile,
  pictureEndings,
  formatOfFile,
  isClipFile,
  withoutFormat,
} from '../core/picture.ts';
import { clipEndings, isClipFormat } from '../core/clip.ts';
import type { Failure } from '../core/failure.ts';
import { readAttemptFile } from '../core/naming.ts';
import type { Provenance, ProvenanceWriter, ExaminedPicture } from '../core/provenance.ts';
import type { ImageStore } from '../pipeline/ports.ts';
import { checkFile } from './check-file.ts';
import { readIfReadable, type Place } from './place.ts';
import {
  completeSidecars,
  missingSidecars,
  moveSidecars,
  putSidecars,
  removeSidecars,
  setAside,
  type SidecarMaker,
  sidecarsBut,
  wouldOverwrite,
  embedded,
  sidecarsOf,
  makeSidecars,
  provenanceKeyword,
  withOrigin,
} from './sidecars.ts';
import { findMissing, hasPicture, type PictureListing } from './saved-files.ts';
import { thumbnailFiles } from './other-formats.ts';
import { posterOf } from './ffmpeg.ts';
import { type Demands, loadSharp } from './decoding.ts';
import pLimit from 'p-limit';
import { checkPicture } from './check-picture.ts';
import { checkClip, examineClip, keepRefused } from './check-clip.ts';
import { readTexts } from './png-metadata.ts';

export type ImageStoreOptions = CheckOptions & {
  /** Place of a copy of the report. Thumbnails are written there too. */
  reportCopy?: Place | undefined;
};

export interface MaintainedImageStore extends ImageStore {
  /** Creates the place and removes half-written files. Throws `FatalFailure` if it cannot be used. */
  prepare(): Promise<void>;
  /** Number of existing pictures that were renamed to `.former`, because a new picture got their name. */
  kept(): number;
  /**
   * Renames the file and sidecars durably to names that end in `as`, and returns the name. Undefined if nothing is there,
   * or each attempt has its own names.
   */
  setAside(file: string, as: string): Promise<string | undefined>;
  /** Checks a picture like `ImageStore.check`. `provenance` may be missing if it is not to be recorded. */
  check(picture: UncheckedPicture, provenance?: Provenance): Promise<Picture | Failure>;
}

export function createImageStore(place: Place, options: ImageStoreOptions = {}): MaintainedImageStore {
  const { reportDir, reportCopy, beside = [], isPicture = async () => false } = options;
  const checker = pictureChecker(options);
  const listing = listingOf(options);
  const thumbnails = reportDir === undefined ? undefined : thumbnailFiles(reportDir);
  const makersOf = (file: string): Promise<SidecarMaker[]> => sidecarsBut(isPicture, beside, file);
  let kept = 0;

  const keepFormer = async (picture: Picture, file: string, makers: SidecarMaker[]): Promise<void> => {
    if (place.isNamedByAttempt) return;
    const isInTheWay = await wouldOverwrite(place, file, picture);
    if (isInTheWay && (await setAside(place, makers, file, 'former')) !== undefined) kept += 1;
  };

  /** Returns the poster of a stored clip. `source`: the clip as received, needed if it is in a bucket now. */
  const newPoster = async (
    { file, width, height }: Pick<SavedPicture, 'file' | 'width' | 'height'>,
    source: string | Uint8Array | undefined,
  ): Promise<Uint8Array | undefined> => {
    const format = formatOfFile(file);
    if (thumbnails === undefined || format === undefined || !isClipFormat(format)) return undefined;
    // The name of a folder is its path.
    const shown = place.isRemote ? source : join(place.name, file);
    return shown === undefined ? undefined : posterOf({ source: shown, format, width, height });
  };

  const putThumbnail = async (
    saved: Parameters<typeof newPoster>[0] & Pick<SavedPicture, 'bytes' | 'sha256'>,
    made: Uint8Array | undefined,
    source?: string | Uint8Array,
  ): Promise<void> => {
    const path = thumbnails?.pathOf(saved);
    const thumbnail = made ?? (await newPoster(saved, source));
    if (path === undefined || thumbnail === undefined) return;
    await thumbnails?.write(path, thumbnail);
    await reportCopy?.put(thumbnailOf(saved) ?? '', thumbnail);
  };

  const examineAsClip = async (
    file: string,
    named: NamedFile | undefined,
    sidecar: () => Promise<string | undefined>,
  ): Promise<ExaminedPicture | { problem: string }> => {
    const examined = await examineClip(place, file, named, sidecar);
    if ('picture' in examined && named === undefined) await putThumbnail(examined.picture, undefined);
    return examined;
  };

  const examineInMemory = async (
    file: string,
    named: NamedFile | undefined,
    sidecar: () => Promise<string | undefined>,
  ): Promise<ExaminedPicture | { problem: string }> => {
    const { demands } = checker;
    const bytes = await place.read(file);
    if (bytes === undefined) return { problem: 'it has disappeared' };
    if (named !== undefined && isPlain(named)) return examineFile(bytes, file, named, demands.maxPixels);
    return examinePicture(bytes, file, demands, sidecar);
  };

  return {
    isNamedByAttempt: place.isNamedByAttempt,
    async prepare() {
      // If sharp cannot be loaded, nothing is sent.
      await loadSharp();
      return place.probe(() => place.prepare());
    },
    check: checker.check,
    write: async (checked, file) => {
      const makers = await makersOf(file);
      // A sized copy may have the name of another picture, and then has no maker.
      const isOwn = ({ ending }: { ending: string }): boolean =>
        !isSized(ending) || makers.some((maker) => maker.ending === ending);
      const picture = { ...checked, beside: (checked.beside ?? []).filter(isOwn) };
      await keepFormer(picture, file, makers);
      const { received, content, sha256 } = picture;
      // The poster of a clip in a bucket is made from the received file, which the run removes at the end of the job.
      const moved = place.isRemote ? {} : { isMoved: true as const };
      await place.put(file, received ? { path: received.path, ...moved } : content, { sha256 });
      const saved = { ...picture, file, bytes: received?.length ?? content.length };
      // After a crash at this point, sidecars and thumbnail are missing until the report is written.
      await Promise.all([
        putSidecars(place, file, picture.beside),
        putThumbnail(saved, picture.thumbnail, received?.path ?? content),
      ]);
    },
    keepRefused: (clip, file, as) => keepRefused(place, clip, file, as),
    has: (picture) => hasPicture(place, picture),
    list: (kinds) =>
      kinds === undefined ? listPictures(place, listing) : listFiles(place, kinds.map(endingOfKind)),
    whichExist: async (names) => {
      const there: string[] = [];
      // If names contain the attempt, a file that this batch does not know belongs to another batch.
      const possible = place.isNamedByAttempt ? [] : names.flatMap((name) => possibleFiles(name, listing));
      for (const file of possible) if ((await place.facts(file))?.kind === 'file') there.push(file);
      return there;
    },
    examine: (file, named) =>
      checker.inTurn(async () => {
        const sidecar = async (): Promise<string | undefined> =>
          (await readIfReadable(place, sidecarPath(file, sidecarEnding)))?.toString();
        const examined = isClipFile(file)
          ? await examineAsClip(file, named, sidecar)
          : await examineInMemory(file, named, sidecar);
        const name = place.isNamedByAttempt ? readAttemptFile(file)?.name : undefined;
        return 'problem' in examined || named !== undefined || name === undefined
          ? examined
          : { ...examined, name };
      }),
    findMissing: (pictures, signal) => findMissing(place, pictures, signal),
    complete: async (picture, provenance) => {
      const missing = await missingSidecars(place, await makersOf(picture.file), picture.file);
      await checker.inTurn(() => completeSidecars(place, missing, picture, provenance));
    },
    remove: async (file) => {
      await removeSidecars(place, await makersOf(file), file);
      await place.remove(file);
    },
    move: async (from, to) => {
      // The files beside a missing picture wait for it.
      if (!(await place.move(from, to))) return false;
      await moveSidecars(place, await sidecarsBut(isPicture, await makersOf(from), to), from, to);
      return true;
    },
    kept: () => kept,
    setAside: async (file, as) => {
      if (place.isNamedByAttempt) return undefined;
      const suffix = await setAside(place, await makersOf(file), file, as);
      return suffix && file + suffix;
    },
  };
}

/** Checks a picture and reads its provenance. `file`: name within the images folder. `sidecar`: reads the sidecar. */
async function examinePicture(
  bytes: Buffer,
  file: string,
  demands: Demands,
  sidecar: () => Promise<string | undefined>,
): Promise<ExaminedPicture | { problem: string }> {
  const wanted = { ...demands, isThumbnailWanted: false, isOriginalKept: true };
  const checked = await checkPicture({ bytes }, wanted);
  if ('kind' in checked) return { problem: checked.text };
  const { width, height, sha256, format } = checked;
  if (formatOfFile(file) !== format) return { problem: `it is a ${format}, but its name says otherwise` };
  const own = readTexts(bytes).find(({ keyword }) => keyword === provenanceKeyword)?.text;
  return withOrigin({ file, width, height, bytes: bytes.length, sha256 }, own, await sidecar());
}

export interface CheckOptions {
  /** Maximum number of pixels; larger pictures fail. Default: 100 megapixels. */
  pixels?: number;
  /** Minimum length of the shorter side in pixels; smaller pictures fail. */
  minSide?: number | undefined;
  /** True if blank pictures fail. Default: false. */
  blank?: boolean;
  /** Folder of the report, if thumbnails are to be written there. */
  reportDir?: string | undefined;
  /** True if the main results of scenes are clips (`output.media`). Default: pictures. */
  isOfClips?: boolean;
  /** True if JPEG, WebP and AVIF keep their bytes. By default, they are converted to PNG. */
  isOriginalKept?: boolean;
  /** Writes provenance into pictures whose format allows it. Undefined if provenance is not embedded. */
  embedsAs?: ProvenanceWriter | undefined;
  /** Called for each picture that lost its signature (C2PA) when it was converted to PNG. */
  onSignatureLost?: () => void;
  beside?: SidecarMaker[];
  /** True if a file is on record as a picture, so `a-512.jpg` is no copy of `a.png`. Default: always false. */
  isPicture?: ((file: string) => Promise<boolean>) | undefined;
}

interface PictureChecker {
  demands: Demands;
  /** Checks a picture like `ImageStore.check`. `provenance` may be missing if it is not to be recorded. */
  check(picture: UncheckedPicture, provenance?: Provenance): Promise<Picture | Failure>;
  /** Runs `work` when its turn comes, because each check may hold a whole decoded picture. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

/** Maximum number of concurrent checks: one per processor, at most 4, because each may hold a whole decoded picture. */
export const checksAtOnce = Math.min(4, availableParallelism());

/** Returns the rules that tell pictures from other files. */
function listingOf({ isOriginalKept = false, isOfClips = false, beside = [] }: CheckOptions): PictureListing {
  return { isOriginalKept, isOfClips, copyEndings: beside.map(({ ending }) => ending) };
}

function pictureChecker(options: CheckOptions): PictureChecker {
  const { pixels: maxPixels = 100_000_000, minSide = 1, blank: isBlankRefused = false } = options;
  const { isOriginalKept = false } = options;
  const { reportDir, embedsAs, beside = [], onSignatureLost } = options;
  const isThumbnailWanted = reportDir !== undefined;
  const demands = { maxPixels, minSide, isBlankRefused, isThumbnailWanted, isOriginalKept };
  const limit = pLimit(checksAtOnce);
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => limit(work);
  const withSidecars = async (whole: Picture, provenance: Provenance | undefined): Promise<Picture> => {
    const { format } = whole;
    const makers = format === undefined ? [] : sidecarsOf(beside, withFormat('picture', format));
    if (makers.length === 0) return whole;
    return { ...whole, beside: await makeSidecars(makers, whole, provenance) };
  };
  const check = async (
    picture: UncheckedPicture,
    provenance: Provenance | undefined,
  ): Promise<Picture | Failure> => {
    const { isClip: _, ...told } = detailsOf(picture);
    const { named } = picture;
    if (named !== undefined && isPlain(named)) {
      const file = await checkFile(picture, named, maxPixels);
      return 'kind' in file ? file : { ...told, ...file };
    }
    if (
      named !== undefined ||
      options.isOfClips === true ||
      picture.isClip === true ||
      'received' in picture
    ) {
      const clip = await checkClip(picture);
      return 'kind' in clip ? clip : withSidecars({ ...told, ...clip }, provenance);
    }
    const seen = await checkPicture(picture, demands, (whole) =>
      embedsAs === undefined || provenance === undefined
        ? whole.content
        : embedded(whole, provenance, embedsAs),
    );
    if ('kind' in seen) return seen;
    const { isSignatureLost = false, ...checked } = seen;
    if (isSignatureLost) onSignatureLost?.();
    return withSidecars({ ...told, ...checked }, provenance);
  };
  return { demands, inTurn, check: (picture, provenance) => inTurn(() => check(picture, provenance)) };
}

function isPlain(named: NamedFile): named is PlainFile {
  return !isClipFile(`.${named.kind}`);
}

function endingOfKind(kind: FileKind): string {
  return `.${kind}`;
}

/** Checks an existing file that has no record. */
async function examineFile(
  bytes: Buffer,
  file: string,
  named: PlainFile,
  maxPixels: number,
): Promise<ExaminedPicture | { problem: string }> {
  const checked = await checkFile({ bytes }, named, maxPixels);
  if ('kind' in checked) return { problem: checked.text };
  const { content: _, ...facts } = checked;
  return { picture: { file, ...facts, bytes: bytes.length, label: named.label }, origin: undefined };
}

async function listPictures(
  place: Place,
  { isOriginalKept = false, isOfClips = false, copyEndings = [] }: PictureListing,
): Promise<string[]> {
  const files = await listFiles(place, Object.values(isOfClips ? clipEndings : pictureEndings));
  return picturesAmong(files, copyEndings, isOriginalKept);
}

/**
 * Returns only the pictures among files with picture extensions. Leaves out copies, whose extension replaces
 * the picture's. Leaves out a second file that differs only in format. If originals are not kept, also leaves
 * out files named like a copy. That includes smaller copies that are no longer made.
 */
export function picturesAmong(
  files: readonly string[],
  copyEndings: readonly string[],
  isOriginalKept: boolean,
): string[] {
  const isCopyOf = (file: string, stem: string): boolean =>
    copyEndings.some((copy) => file === stem + copy) && !file.endsWith(pictureEndings.PNG);
  const byStem = new Map<string, string>();
  for (const file of files) {
    const stem = withoutFormat(file);
    const other = byStem.get(stem);
    const isPreferred = other === undefined || file.endsWith(pictureEndings.PNG) || isCopyOf(other, stem);
    if (isPreferred) byStem.set(stem, file);
  }
  const isEarlierCopy = (file: string): boolean => {
    const [, stem = ''] = /^(.*)-\d{2,5}\.(?:jpg|webp|avif)$/s.exec(file) ?? [];
    return !isOriginalKept && byStem.has(stem);
  };
  const isCopy = (file: string): boolean =>
    isEarlierCopy(file) ||
    copyEndings.some((copy) => {
      const stem = file.endsWith(copy) ? file.slice(0, -copy.length) : '';
      return stem !== withoutFormat(file) && byStem.has(stem);
    });
  const isAlone = (file: string): boolean => !isOriginalKept && isCopyOf(file, withoutFormat(file));
  return [...byStem.values()].filter((file) => !isCopy(file) && !isAlone(file));
}

/** Lists the files with these endings. Files of later attempts come last. */
async function listFiles(place: Place, endings: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for await (const { name } of place.list())
    if (endings.some((ending) => name.endsWith(ending))) files.push(name);
  if (!place.isNamedByAttempt) return files;
  const attempt = (file: string): number => readAttemptFile(file)?.attempt ?? 0;
  return files.toSorted((a, b) => attempt(a) - attempt(b));
}

/** Returns all names that a picture's file may have. For other files, returns only `name`. */
function possibleFiles(name: string, listing: PictureListing): string[] {
  if (formatOfFile(name) === undefined) return [name];
  const { isOriginalKept = false, isOfClips = false } = listing;
  if (!isOriginalKept && !isOfClips) return [name];
  return Object.values(isOfClips ? clipEndings : pictureEndings).map(
    (ending) => withoutFormat(name) + ending,
  );
}
