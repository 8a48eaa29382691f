/** The store of finished pictures: nothing gets a name in it that is not whole and checked. */
import { availableParallelism } from 'node:os';
import {
  type HeldPicture,
  isSized,
  type Picture,
  sidecarEnding,
  sidecarPath,
  thumbnailOf,
  detailsOf,
  withFormat,
  type FileKind,
  type NamedFile,
  pictureEndings,
  formatOfFile,
  withoutFormat,
} from '../core/picture.ts';
import type { Failure } from '../core/failure.ts';
import { readAttemptFile } from '../core/naming.ts';
import type { Provenance, ProvenanceWriter, ExaminedPicture } from '../core/provenance.ts';
import type { ImageStore } from '../pipeline/ports.ts';
import { checkFile } from './check-file.ts';
import { readIfReadable, type Place } from './place.ts';
import {
  completeSidecars,
  examinePicture,
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
} from './sidecars.ts';
import { findMissing, holds, type PictureListing } from './saved-files.ts';
import { thumbnailFiles } from './other-formats.ts';
import { type Demands, loadSharp } from './decoding.ts';
import pLimit from 'p-limit';
import { checkPicture } from './check-picture.ts';

export type ImageStoreOptions = CheckOptions & {
  /** Place of a copy of the report. Thumbnails are written there too. */
  reportCopy?: Place | undefined;
};

export interface PreparedImageStore extends ImageStore {
  /** Creates the place and removes half-written files. Throws `FatalFailure` if it cannot be used. */
  prepare(): Promise<void>;
  /** Number of existing pictures that were renamed to `.former`, because a new picture got their name. */
  kept(): number;
  /**
   * Renames the file and sidecars durably to names that end in `as`, and returns the name; undefined if
   * nothing
   * is there, or each attempt has its own names.
   */
  setAside(file: string, as: string): Promise<string | undefined>;
  /** Checks a picture like `ImageStore.check`. `provenance` may be missing if it is not to be recorded. */
  check(picture: HeldPicture, provenance?: Provenance): Promise<Picture | Failure>;
}

export function createImageStore(place: Place, options: ImageStoreOptions = {}): PreparedImageStore {
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

  const putThumbnail = async (picture: Picture): Promise<void> => {
    const named = { ...picture, bytes: picture.content.length };
    const path = thumbnails?.pathOf(named);
    if (path === undefined || picture.thumbnail === undefined) return;
    await thumbnails?.write(path, picture.thumbnail);
    await reportCopy?.put(thumbnailOf(named) ?? '', picture.thumbnail);
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
      const isOwn = ({ ending }: { ending: string }): boolean =>
        !isSized(ending) || makers.some((maker) => maker.ending === ending);
      const picture = { ...checked, beside: (checked.beside ?? []).filter(isOwn) };
      await keepFormer(picture, file, makers);
      await place.put(file, picture.content, { sha256: picture.sha256 });
      // After a crash at this point, sidecars and thumbnail are missing until the report is written.
      await Promise.all([putSidecars(place, file, picture.beside), putThumbnail(picture)]);
    },
    has: (picture) => holds(place, picture),
    list: (kinds) =>
      kinds === undefined ? listPictures(place, listing) : listFiles(place, kinds.map(endingOfKind)),
    whichExist: async (names) => {
      const there: string[] = [];
      // In such a place, a file that this batch does not know belongs to another batch.
      const possible = place.isNamedByAttempt ? [] : names.flatMap((name) => possibleFiles(name, listing));
      for (const file of possible) if ((await place.facts(file))?.kind === 'file') there.push(file);
      return there;
    },
    examine: (file, named) =>
      checker.inTurn(async () => {
        const bytes = await place.read(file);
        if (bytes === undefined) return { problem: 'it has disappeared' };
        if (named !== undefined) return examineFile(bytes, file, named, checker.demands.maxPixels);
        const sidecar = async (): Promise<string | undefined> =>
          (await readIfReadable(place, sidecarPath(file, sidecarEnding)))?.toString();
        const examined = await examinePicture(bytes, file, checker.demands, sidecar);
        const name = place.isNamedByAttempt ? readAttemptFile(file)?.name : undefined;
        return 'problem' in examined || name === undefined ? examined : { ...examined, name };
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

export interface CheckOptions {
  /** Maximum number of pixels; larger pictures fail. Default: 100 megapixels. */
  pixels?: number;
  /** Minimum length of the shorter side in pixels; smaller pictures fail. */
  minSide?: number | undefined;
  /** True if blank pictures fail. Default: false. */
  blank?: boolean;
  /** Folder of the report, if thumbnails are to be written there. */
  reportDir?: string | undefined;
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
  check(picture: HeldPicture, provenance?: Provenance): Promise<Picture | Failure>;
  /** Runs `work` when its turn comes, because each check may hold a whole decoded picture. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

/** Maximum number of concurrent checks: one per processor, at most 4, because each may hold a whole decoded picture. */
export const checksAtOnce = Math.min(4, availableParallelism());

/** Returns the rules that tell pictures from other files. */
function listingOf({ isOriginalKept = false, beside = [] }: CheckOptions): PictureListing {
  return { isOriginalKept, copyEndings: beside.map(({ ending }) => ending) };
}

function pictureChecker(options: CheckOptions): PictureChecker {
  const { pixels: maxPixels = 100_000_000, minSide = 1, blank: isBlankRefused = false } = options;
  const { isOriginalKept = false } = options;
  const { reportDir, embedsAs, beside = [], onSignatureLost } = options;
  const isThumbnailWanted = reportDir !== undefined;
  const demands = { maxPixels, minSide, isBlankRefused, isThumbnailWanted, isOriginalKept };
  const limit = pLimit(checksAtOnce);
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => limit(work);
  const check = async (
    picture: HeldPicture,
    provenance: Provenance | undefined,
  ): Promise<Picture | Failure> => {
    const told = detailsOf(picture);
    if (picture.named !== undefined) {
      const file = await checkFile(picture, picture.named, maxPixels);
      return 'kind' in file ? file : { ...told, ...file };
    }
    const seen = await checkPicture(picture, demands, (whole) =>
      embedsAs === undefined || provenance === undefined
        ? whole.content
        : embedded(whole, provenance, embedsAs),
    );
    if ('kind' in seen) return seen;
    const { isSignatureLost = false, ...checked } = seen;
    if (isSignatureLost) onSignatureLost?.();
    const makers = sidecarsOf(beside, withFormat('picture', checked.format));
    if (makers.length === 0) return { ...told, ...checked };
    return { ...told, ...checked, beside: await makeSidecars(makers, checked, provenance) };
  };
  return { demands, inTurn, check: (picture, provenance) => inTurn(() => check(picture, provenance)) };
}

function endingOfKind(kind: FileKind): string {
  return `.${kind}`;
}

/** Checks an existing file that has no record. */
async function examineFile(
  bytes: Buffer,
  file: string,
  named: NamedFile,
  maxPixels: number,
): Promise<ExaminedPicture | { problem: string }> {
  const checked = await checkFile({ bytes }, named, maxPixels);
  if ('kind' in checked) return { problem: checked.text };
  const { content: _, ...facts } = checked;
  return { picture: { file, ...facts, bytes: bytes.length, label: named.label }, origin: undefined };
}

async function listPictures(
  place: Place,
  { isOriginalKept = false, copyEndings = [] }: PictureListing,
): Promise<string[]> {
  return picturesAmong(await listFiles(place, Object.values(pictureEndings)), copyEndings, isOriginalKept);
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
    const isFirst = other === undefined || file.endsWith(pictureEndings.PNG) || isCopyOf(other, stem);
    if (isFirst) byStem.set(stem, file);
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
  if (listing.isOriginalKept !== true) return [name];
  return Object.values(pictureEndings).map((ending) => withoutFormat(name) + ending);
}
