/** The check of a picture that a job has brought, with all that is made of it, wherever it is then put. */
import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import type { Failure } from '../core/failure.ts';
import { detailsOf, type HeldPicture, type Picture, withFormat } from '../core/picture.ts';
import type { Provenance, ProvenanceWriter } from '../core/provenance.ts';
import { checkFile } from './check-file.ts';
import { checkPicture } from './check-picture.ts';
import type { Demands } from './decoding.ts';
import { embedded, makeSidecars, type SidecarMaker, sidecarsOf } from './sidecars.ts';
import type { PictureListing } from './saved-files.ts';

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
export function listingOf({ isOriginalKept = false, beside = [] }: CheckOptions): PictureListing {
  return { isOriginalKept, copyEndings: beside.map(({ ending }) => ending) };
}

export function pictureChecker(options: CheckOptions): PictureChecker {
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
