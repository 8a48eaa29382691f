/** The painter: a scene's words, a seed and a size → a PNG that shows what the words say, the same bytes every time. */
import sharp from 'sharp';
import { paintDeepSpace } from './deep-space.ts';
import { paintLandscape } from './landscape.ts';
import { hashOf } from '../random.ts';
import { setStage, type Stage } from './stage.ts';
import { paintStillLife } from './still-life.ts';
import { paintPaper } from './paper.ts';

export interface PaintingRequest {
  /** Not empty. */
  text: string;
  seed: number;
  /** Pixels, from 16 to 2048. */
  width: number;
  height: number;
}

/** The request cannot be painted; the message says in a sentence what is wrong with it. */
export class PaintingRequestError extends Error {
  override readonly name = 'PaintingRequestError';
}

const usualWidth = 768;
const usualHeight = 512;
const minPixels = 16;
const maxPixels = 2048;
const maxCharacters = 1_000_000;

/** Reads a job's input; its keys are `scene` (or `prompt`), `seed`, `width` and `height`, and others are left alone. */
export function readPaintingRequest(input: Record<string, unknown>): PaintingRequest {
  const isScene = input['scene'] !== undefined && input['scene'] !== null;
  const text = isScene ? readText('scene', input['scene']) : readText('prompt', input['prompt']);
  return {
    text,
    seed: readSeed(input['seed'], text),
    width: readPixels('width', input['width'], usualWidth),
    height: readPixels('height', input['height'], usualHeight),
  };
}

export async function paint(request: PaintingRequest): Promise<Buffer> {
  const { text, seed, width, height } = request;
  const stage = setStage(text, seed, width, height);
  const svg = stage.drawing.document(
    [width, height],
    [stage.width, stage.height],
    painters[stage.setting.frame](stage),
  );
  return sharp(Buffer.from(svg)).removeAlpha().png({ compressionLevel: 6 }).toBuffer();
}

const painters = {
  landscape: paintLandscape,
  'still-life': paintStillLife,
  space: paintDeepSpace,
  paper: paintPaper,
} as const satisfies Record<Stage['setting']['frame'], (stage: Stage) => string>;

function readText(key: string, value: unknown): string {
  if (value === undefined || value === null) {
    throw new PaintingRequestError("The input needs a text under 'scene' or 'prompt'.");
  }
  if (typeof value !== 'string')
    throw new PaintingRequestError(`'${key}' must be a text, not ${nameOf(value)}.`);
  if (value.trim() === '') throw new PaintingRequestError(`'${key}' is empty; it must say what to paint.`);
  if (value.length > maxCharacters) {
    throw new PaintingRequestError(
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
  throw new PaintingRequestError(`'seed' ${trouble}`);
}

function readPixels(key: string, value: unknown, usual: number): number {
  return readCount(key, value, usual, minPixels, maxPixels, ' of pixels');
}

/** A whole number from `least` to `most`, or the usual one. */
export function readCount(
  key: string,
  value: unknown,
  usual: number,
  least: number,
  most: number,
  unit = '',
): number {
  if (value === undefined || value === null) return usual;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new PaintingRequestError(
    `'${key}' must be a whole number${unit} from ${least} to ${most}, not ${nameOf(value)}.`,
  );
}

function nameOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return 'a text';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
