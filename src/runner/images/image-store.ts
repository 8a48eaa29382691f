/** The store of finished pictures: nothing gets a name in it that is not whole and checked. */
import {
  endingOfKind,
  type HeldPicture,
  isSized,
  type Picture,
  sidecarEnding,
  sidecarPath,
  thumbnailOf,
} from '../core/picture.ts';
import type { Failure } from '../core/failure.ts';
import { readAttemptFile } from '../core/naming.ts';
import type { Provenance } from '../core/provenance.ts';
import type { ImageStore } from '../pipeline/ports.ts';
import { examineFile } from './check-file.ts';
import { listingOf, pictureChecker, type CheckOptions } from './picture-checker.ts';
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
} from './sidecars.ts';
import { findMissing, holds, listFiles, listPictures, possibleFiles } from './saved-files.ts';
import { thumbnailFiles } from './other-formats.ts';

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
    prepare: () => place.probe(() => place.prepare()),
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
      await place.move(from, to);
      await moveSidecars(place, await sidecarsBut(isPicture, await makersOf(from), to), from, to);
    },
    kept: () => kept,
    setAside: async (file, as) => {
      if (place.isNamedByAttempt) return undefined;
      const suffix = await setAside(place, await makersOf(file), file, as);
      return suffix && file + suffix;
    },
  };
}
