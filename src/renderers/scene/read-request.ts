/** A job's input → what is to be drawn; pure. */
import { hashOf } from '../random.ts';

export interface RenderRequest {
  /** Not empty. */
  text: string;
  seed: number;
  /** Pixels, from 16 to 2048. */
  width: number;
  height: number;
  /** Each with a seed of its own: the first with `seed`, the next with the one after it. */
  images: number;
}

/** The request cannot be drawn; the message says in a sentence what is wrong with it. */
export class RenderRequestError extends Error {
  override readonly name = 'RenderRequestError';
}

const usualWidth = 768;
const usualHeight = 512;
const minPixels = 16;
const maxPixels = 2048;
const maxImages = 8;
const maxCharacters = 1_000_000;

/** Its keys are `scene` (or `prompt`), `seed`, `width`, `height` and `images`; others are left alone. */
export function readRequest(input: Record<string, unknown>): RenderRequest {
  const isScene = input['scene'] !== undefined && input['scene'] !== null;
  const text = isScene ? readText('scene', input['scene']) : readText('prompt', input['prompt']);
  const seed = readSeed(input['seed'], text);
  const images = readCount('images', input['images'], 1, 1, maxImages);
  if (!Number.isSafeInteger(seed + images))
    throw new RenderRequestError(`'seed' ${seed} is too large for ${images} images with seeds of their own.`);
  return {
    text,
    seed,
    width: readPixels('width', input['width'], usualWidth),
    height: readPixels('height', input['height'], usualHeight),
    images,
  };
}

function readText(key: string, value: unknown): string {
  if (value === undefined || value === null) {
    throw new RenderRequestError("The input needs a text under 'scene' or 'prompt'.");
  }
  if (typeof value !== 'string')
    throw new RenderRequestError(`'${key}' must be a text, not ${nameOf(value)}.`);
  if (value.trim() === '') throw new RenderRequestError(`'${key}' is empty; it must say what to draw.`);
  if (value.length > maxCharacters) {
    throw new RenderRequestError(
      `'${key}' has ${value.length} characters; at most ${maxCharacters} are read.`,
    );
  }
  return value;
}

/** All whole numbers of so many digits are exact. */
const maxSeedDigits = 15;

function readSeed(value: unknown, text: string): number {
  if (value === undefined || value === null) return hashOf(text);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  const trouble = Number.isInteger(value)
    ? `is too large; whole numbers of up to ${maxSeedDigits} digits can be taken.`
    : `must be a whole number, not ${nameOf(value)}.`;
  throw new RenderRequestError(`'seed' ${trouble}`);
}

function readPixels(key: string, value: unknown, usual: number): number {
  return readCount(key, value, usual, minPixels, maxPixels, ' of pixels');
}

/** A whole number from `least` to `most`, or the usual one. */
function readCount(
  key: string,
  value: unknown,
  usual: number,
  least: number,
  most: number,
  unit = '',
): number {
  if (value === undefined || value === null) return usual;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RenderRequestError(
    `'${key}' must be a whole number${unit} from ${least} to ${most}, not ${nameOf(value)}.`,
  );
}

function nameOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return 'a text';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
