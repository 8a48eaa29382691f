/** A job's input → what is to be rendered, or the reason why it cannot be. */
import { PaintingRequestError, readPaintingRequest, type PaintingRequest } from '../painter/paint.ts';

export interface RenderRequest extends PaintingRequest {
  /** Taken at each pixel; more of them soften shadows as well. */
  samples: number;
  /** Each with a seed of its own: the first with `seed`, the next with the one after it. */
  images: number;
}

const usualSamples = 16;
const mostSamples = 256;
const mostImages = 8;

/** Its keys are `scene` (or `prompt`), `seed`, `width`, `height`, `samples` and `images`; others are left alone. */
export function readRenderRequest(input: Record<string, unknown>): RenderRequest {
  const request = readPaintingRequest(input);
  const images = readCount('images', input['images'], 1, mostImages);
  if (!Number.isSafeInteger(request.seed + images)) {
    throw new PaintingRequestError(
      `'seed' ${request.seed} is too large for ${images} images with seeds of their own.`,
    );
  }
  return { ...request, samples: readCount('samples', input['samples'], usualSamples, mostSamples), images };
}

function readCount(key: string, value: unknown, usual: number, most: number): number {
  if (value === undefined || value === null) return usual;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
  const said =
    typeof value === 'number' ? String(value) : typeof value === 'string' ? 'a text' : typeof value;
  throw new PaintingRequestError(`'${key}' must be a whole number from 1 to ${most}, not ${said}.`);
}
