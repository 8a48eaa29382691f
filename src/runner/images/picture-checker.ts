/** The check of a picture that a job has brought, with all that is made of it, wherever it is then put. */
import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import type { Failure } from '../core/failure.ts';
import type { CheckedPicture, HeldPicture } from '../core/picture.ts';
import type { Provenance, ProvenanceWriter } from '../core/provenance.ts';
import { checkFile } from './check-file.ts';
import { checkPicture, type Demands } from './check-picture.ts';
import { withProvenance } from './provenance-texts.ts';
import { makeSidecars, type SidecarMaker } from './sidecars.ts';

export interface CheckOptions {
  /** Larger pictures fail; 100 megapixels where left out. */
  maxPixels?: number;
  /** Pictures whose shorter side has fewer pixels fail. */
  minSide?: number | undefined;
  /** Whether pictures that show nothing fail; false where left out. */
  isBlankRefused?: boolean;
  /** The report's folder, where thumbnails are to be put into it. */
  reportDir?: string | undefined;
  /** Where pictures are to say themselves where they come from. */
  embedsAs?: ProvenanceWriter | undefined;
  /** Makers of the sidecar files of each picture. */
  beside?: SidecarMaker[];
}

interface PictureChecker {
  demands: Demands;
  /** As the port has it; what is not to say where it comes from needs no provenance. */
  check(picture: HeldPicture, provenance?: Provenance): Promise<CheckedPicture | Failure>;
  /** Does the work when its turn comes: each may hold a whole decoded picture. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

/** One a processor; each may hold a whole decoded picture, however many processors there are. */
export const checksAtOnce = Math.min(4, availableParallelism());

export function pictureChecker(options: CheckOptions): PictureChecker {
  const { maxPixels = 100_000_000, minSide = 1, isBlankRefused = false } = options;
  const { reportDir, embedsAs, beside = [] } = options;
  const demands = { maxPixels, minSide, isBlankRefused, isThumbnailWanted: reportDir !== undefined };
  const limit = pLimit(checksAtOnce);
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => limit(work);
  const check = async (
    picture: HeldPicture,
    provenance: Provenance | undefined,
  ): Promise<CheckedPicture | Failure> => {
    if (picture.named !== undefined) return checkFile(picture, picture.named, maxPixels);
    const checked = await checkPicture(picture, demands, (png, size) =>
      embedsAs === undefined || provenance === undefined
        ? png
        : withProvenance(png, size, provenance, embedsAs),
    );
    if ('kind' in checked || beside.length === 0) return checked;
    return { ...checked, beside: await makeSidecars(beside, checked, provenance) };
  };
  return { demands, inTurn, check: (picture, provenance) => inTurn(() => check(picture, provenance)) };
}
