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
  /** Pictures of more pixels fail; 100 megapixels where left out. */
  pixels?: number;
  /** Pictures whose shorter side has fewer pixels fail. */
  minSide?: number | undefined;
  /** Whether pictures that show nothing fail; false where left out. */
  blank?: boolean;
  /** The report's folder, where thumbnails are to be put into it. */
  reportDir?: string | undefined;
  /** Whether JPEG, WebP and AVIF are kept as they came; they become PNG where left out. */
  isOriginalKept?: boolean;
  /** Where pictures are to say themselves where they come from, as far as they can. */
  embedsAs?: ProvenanceWriter | undefined;
  /** Called for each picture that was signed (C2PA) and is no more, since it became a PNG. */
  onSignatureLost?: () => void;
  /** Makers of the sidecar files of each picture. */
  beside?: SidecarMaker[];
  /** Whether a file is on record as a picture: `a-512.jpg` is no copy of `a.png` then. None is where left out. */
  isPicture?: ((file: string) => Promise<boolean>) | undefined;
}

interface PictureChecker {
  demands: Demands;
  /** As the port has it; what is not to say where it comes from needs no provenance. */
  check(picture: HeldPicture, provenance?: Provenance): Promise<Picture | Failure>;
  /** Does the work when its turn comes: each may hold a whole decoded picture. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

/** One a processor; each may hold a whole decoded picture, however many processors there are. */
export const checksAtOnce = Math.min(4, availableParallelism());

/** Which of the files that are there are pictures. */
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
