/** The folder of finished pictures: nothing gets a name in it that is not whole and checked. */
import { createHash } from 'node:crypto';
import { lstat, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { lstatSync, type Stats } from 'node:fs';
import pLimit from 'p-limit';
import { FatalFailure, type Failure } from '../core/failure.ts';
import { isSized, sidecarEnding, sidecarPath } from '../core/picture-copy.ts';
import { isSystemError, withDiskFailure } from '../files/disk-failure.ts';
import { syncFolder } from '../files/folders.ts';
import { assertPlainFile } from '../../lib/files/plain-file.ts';
import { removeLeftovers } from '../../lib/files/temporary-files.ts';
import { endingOfKind } from '../core/named-file.ts';
import type { Picture, HeldPicture, SavedPicture } from '../core/picture.ts';
import type { Provenance } from '../core/provenance.ts';
import type { ImageStore } from '../pipeline/ports.ts';
import {
  completeSidecars,
  missingSidecars,
  moveSidecars,
  removeSidecars,
  writeSidecars,
  setAside,
  sidecarsBut,
  type SidecarMaker,
  wouldOverwrite,
} from './sidecars.ts';
import { examineFile } from './check-file.ts';
import { DurableFiles } from './durable-files.ts';
import { listingOf, pictureChecker, type CheckOptions } from './picture-checker.ts';
import { examinePicture } from './provenance-texts.ts';
import { findMissing, listFiles, listPictures, pathWithin, possibleFiles } from './saved-files.ts';
import { thumbnailFiles, type ThumbnailFiles } from './thumbnail.ts';

export type ImageStoreOptions = CheckOptions & {
  /** Whether others write to the folder at the same time. */
  isShared?: boolean;
};

export interface PreparedImageStore extends ImageStore {
  /** Makes the folder and removes what earlier runs left half-written; `FatalFailure` where it cannot be used. */
  prepare(): Promise<void>;
  /** Pictures that had the name of one that was written, and are kept as `.former`. */
  kept(): number;
  /** Renames the file durably, and its sidecars, to names that end in `as`; returns its new one, undefined where nothing is there. */
  setAside(file: string, as: string): Promise<string | undefined>;
  /** As the port has it; what is not to say where it comes from needs no provenance. */
  check(picture: HeldPicture, provenance?: Provenance): Promise<Picture | Failure>;
}

/** Each takes an open file, of which some systems allow 256; more at once bring nothing. */
const writesAtOnce = 32;

/** Only one run at a time may write to `dir`, unless it `isShared`. File names are relative, with `/` between folders. */
export function createImageStore(dir: string, options: ImageStoreOptions = {}): PreparedImageStore {
  const root = resolve(dir);
  const files = new DurableFiles(root);
  const { reportDir, isShared = false, beside = [], isPicture = async () => false } = options;
  const checker = pictureChecker(options);
  const listing = listingOf(options);
  const thumbnails = reportDir === undefined ? undefined : thumbnailFiles(reportDir);
  const limitWrites = pLimit(writesAtOnce);
  const makersOf = (file: string): Promise<SidecarMaker[]> => sidecarsBut(isPicture, beside, file);
  let kept = 0;
  return {
    prepare: () =>
      withDiskFailure(root, async () => {
        await files.makeFolder(root);
        await removeLeftovers(root, isShared);
      }),
    check: checker.check,
    write: async (checked, file) => {
      const path = pathWithin(root, file);
      const makers = await makersOf(file);
      const isOwn = ({ ending }: { ending: string }): boolean =>
        !isSized(ending) || makers.some((maker) => maker.ending === ending);
      const picture = { ...checked, beside: (checked.beside ?? []).filter(isOwn) };
      await limitWrites(() =>
        withDiskFailure(path, async () => {
          const isInTheWay = await wouldOverwrite(path, picture);
          if (isInTheWay && (await setAside(files, makers, path, 'former')) !== undefined) kept += 1;
          await files.write(path, picture.content);
        }),
      );
      await limitWrites(() => writeSidecars(files, path, picture.beside));
      // Missing where the program dies here, until the report is asked for.
      await limitWrites(() => writeThumbnail(thumbnails, picture));
    },
    has: (picture) => {
      const path = pathWithin(root, picture.file);
      return withDiskFailure(path, () => isWhole(files, path, picture));
    },
    list: (kinds) =>
      withDiskFailure(root, async () =>
        kinds === undefined ? listPictures(root, listing) : listFiles(root, kinds.map(endingOfKind)),
      ),
    whichExist: async (names) =>
      names
        .flatMap((name) => possibleFiles(name, listing))
        .filter((file) => lstatSync(pathWithin(root, file), { throwIfNoEntry: false })?.isFile() === true),
    examine: (file, named) => {
      const path = pathWithin(root, file);
      return checker.inTurn(() =>
        withDiskFailure(path, async () => {
          const sidecar = sidecarPath(path, sidecarEnding);
          for (const each of [path, sidecar]) assertPlainFile(each);
          const bytes = await readFile(path);
          if (named !== undefined) return examineFile(bytes, file, named, checker.demands.maxPixels);
          return examinePicture(bytes, file, checker.demands, () =>
            readFile(sidecar, 'utf8').catch(() => undefined),
          );
        }),
      );
    },
    findMissing: (pictures, signal) => findMissing(root, pictures, signal),
    complete: async (picture, provenance) => {
      const path = pathWithin(root, picture.file);
      const missing = await missingSidecars(await makersOf(picture.file), path);
      await checker.inTurn(() => completeSidecars(files, missing, path, picture, provenance));
    },
    remove: async (file) => {
      const path = pathWithin(root, file);
      await removeSidecars(await makersOf(file), path);
      await withDiskFailure(path, () => files.remove(path));
    },
    move: async (from, to) => {
      const paths = { from: pathWithin(root, from), to: pathWithin(root, to) };
      await withDiskFailure(paths.to, () => move(files, paths.from, paths.to));
      const makers = await sidecarsBut(isPicture, await makersOf(from), to);
      await moveSidecars(makers, paths.from, paths.to);
    },
    kept: () => kept,
    setAside: async (file, as) => {
      const path = pathWithin(root, file);
      const makers = await makersOf(file);
      const suffix = await withDiskFailure(path, () => setAside(files, makers, path, as));
      return suffix && file + suffix;
    },
  };
}

async function writeThumbnail(thumbnails: ThumbnailFiles | undefined, picture: Picture): Promise<void> {
  const path = thumbnails?.pathOf({ ...picture, bytes: picture.content.length });
  if (path !== undefined && picture.thumbnail !== undefined) await thumbnails?.write(path, picture.thumbnail);
}

async function isWhole(files: DurableFiles, path: string, picture: SavedPicture): Promise<boolean> {
  const stats = await statsOf(path);
  if (stats?.isFile() !== true || stats.size !== picture.bytes) return false;
  if (
    createHash('sha256')
      .update(await readFile(path))
      .digest('hex') !== picture.sha256
  )
    return false;
  await files.makeLast(path);
  return true;
}

async function move(files: DurableFiles, from: string, to: string): Promise<void> {
  const source = await statsOf(from);
  const target = await statsOf(to);
  if (source === undefined) {
    // A run that died may have renamed it without making that last.
    if (target !== undefined) await syncFolder(resolve(to, '..'));
    return;
  }
  // The same file where the two names differ in nothing that the file system sees, such as case.
  if (target === undefined || (await isSameFile(from, to))) return files.rename(from, to);
  if (!(await isSameContent(from, source, to, target))) throw nameConflict(from, to);
  await files.remove(from);
}

function nameConflict(from: string, to: string): FatalFailure {
  const text = `cannot rename ${from} to ${to}: another file has that name; move one of them away, then give the same command again`;
  return new FatalFailure({ kind: 'output-unwritable', text });
}

async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    // Below a file there is nothing either.
    if (isSystemError(error) && ['ENOENT', 'ENOTDIR'].includes(error.code)) return undefined;
    throw error;
  }
}

/** By whole numbers: those of Windows are so large that two files next to each other have the same when rounded. */
async function isSameFile(a: string, b: string): Promise<boolean> {
  const [one, other] = await Promise.all([a, b].map((path) => lstat(path, { bigint: true })));
  return one?.ino === other?.ino && one?.dev === other?.dev;
}

async function isSameContent(a: string, aStats: Stats, b: string, bStats: Stats): Promise<boolean> {
  if (!aStats.isFile() || !bStats.isFile() || aStats.size !== bStats.size) return false;
  return (await readFile(a)).equals(await readFile(b));
}
