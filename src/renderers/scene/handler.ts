/** The rendering worker: a job's words → pictures, drawn on the CPU. */
import sharp from 'sharp';
import { drawPlan } from './draw/draw-plan.ts';
import { planPicture } from './plan-picture.ts';
import { hashOf } from '../random.ts';

interface Job {
  id: string;
  input: Record<string, unknown>;
}

/** An element of the output; its first two keys are the interface's. */
export interface RenderedPicture {
  /** A PNG as base64. */
  rendered_image: string;
  seed: number;
  /** Words of things that stand there as boxes with their names. */
  labelled_words: string[];
  /** Words that nothing in the picture stands for. */
  ignored_words: string[];
  /** What else is not as it was said, in sentences. */
  notes: string[];
}

/** One element a picture; a request that cannot be read rejects with the reason. */
export async function handler(
  { input }: Job,
  {
    progress,
  }: {
    progress(message: unknown): void;
  },
): Promise<RenderedPicture[]> {
  const request = readRequest(input);
  const pictures: RenderedPicture[] = [];
  for (let number = 0; number < request.images; number += 1) {
    pictures.push(await render(request, request.seed + number));
    if (request.images > 1) progress({ images_done: number + 1, images: request.images });
  }
  return pictures;
}

async function render({ text, width, height }: RenderRequest, seed: number): Promise<RenderedPicture> {
  const plan = planPicture(text, seed, width / height);
  const png = await sharp(drawPlan(plan, width, height), { raw: { width, height, channels: 3 } })
    .png({ compressionLevel: 4 })
    .toBuffer();
  const { labelledWords, ignoredWords, notes } = plan.prompt;
  const rendered = png.toString('base64');
  return {
    rendered_image: rendered,
    seed,
    labelled_words: labelledWords,
    ignored_words: ignoredWords,
    notes,
  };
}

interface RenderRequest {
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
class RenderRequestError extends Error {
  override readonly name = 'RenderRequestError';
}

const usualWidth = 768;
const usualHeight = 512;
const minPixels = 16;
const maxPixels = 2048;
const maxImages = 8;
const maxCharacters = 1_000_000;

/** Its keys are `scene` (or `prompt`), `seed`, `width`, `height` and `images`; others are left alone. */
function readRequest(input: Record<string, unknown>): RenderRequest {
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
