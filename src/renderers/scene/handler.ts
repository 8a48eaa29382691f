/** The worker of the scene renderer: turns the words of a job into pictures, drawn on the CPU. */
import sharp from 'sharp';
import { drawPlan } from './draw/draw-plan.ts';
import { planPicture } from './plan-picture.ts';
import { hashOf } from '../random.ts';

interface Job {
  id: string;
  input: Record<string, unknown>;
}

/** An element of the output. Its first two keys are part of the service's interface. */
export interface RenderedPicture {
  rendered_image: string;
  seed: number;
  /** Words for things that are drawn as boxes with their names. */
  labelled_words: string[];
  /** Words that nothing in the picture stands for. */
  ignored_words: string[];
  /** Sentences about other differences between text and picture. */
  notes: string[];
}

/** Returns an element for each picture. Rejects with the reason if the request is invalid. */
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
  text: string;
  seed: number;
  /** In pixels, from 16 to 2048. */
  width: number;
  height: number;
  /** Number of pictures. Their seeds are `seed`, `seed + 1`, and so on. */
  images: number;
}

/** Error for a request that cannot be drawn; the message is a sentence about the problem. */
class RenderRequestError extends Error {
  override readonly name = 'RenderRequestError';
}

const usualWidth = 768;
const usualHeight = 512;
const minPixels = 16;
const maxPixels = 2048;
const maxImages = 8;
const maxCharacters = 1_000_000;

/** Reads `scene` (or `prompt`), `seed`, `width`, `height` and `images`. Ignores other keys. */
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

/** All whole numbers with this number of digits are exact. */
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

/** Reads a whole number from `least` to `most`; `usual` is the default. */
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
