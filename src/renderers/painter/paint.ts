/** The painter: a scene's words, a seed and a size → a PNG that shows what the words say, the same bytes every time. */
import sharp from 'sharp';
import { paintDeepSpace } from './deep-space.ts';
import { paintLandscape } from './landscape.ts';
import { hashOf } from '../random.ts';
import { setStage, type Stage } from './stage.ts';
import { paintStillLife } from './still-life.ts';
import { hex, mix, namedColours, rgb, rgbs, shade } from '../colour.ts';
import { box, ellipse, path, placed } from './drawing.ts';
import type { Mention } from './mentions.ts';
import { coloursOf } from './things/look.ts';
import { isThing, type Noun } from '../language/nouns.ts';

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
  if (Number.isInteger(value))
    throw new PaintingRequestError(
      `'seed' is too large; whole numbers of up to ${maxSeedDigits} digits can be taken.`,
    );
  throw new PaintingRequestError(`'seed' must be a whole number, not ${nameOf(value)}.`);
}

function readPixels(key: string, value: unknown, usual: number): number {
  if (value === undefined || value === null) return usual;
  if (typeof value === 'number' && Number.isInteger(value) && value >= minPixels && value <= maxPixels)
    return value;
  throw new PaintingRequestError(
    `'${key}' must be a whole number of pixels from ${minPixels} to ${maxPixels}, not ${nameOf(value)}.`,
  );
}

function nameOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return 'a text';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Plain shapes on paper, as a poster: circles, squares, triangles, hearts and diamonds in their colours. */
const papers = ['#f4ecdc', '#efe6da', '#e9e4d4', '#f2e9e2'] as const;
const inks = rgbs('#d0523f #2f5f7e #e2a83e #3f7f6a #39405a');
const outlines: Partial<Record<Noun, string>> = {
  circle: 'M-50 0A50 50 0 1 1 50 0A50 50 0 1 1 -50 0Z',
  ball: 'M-50 0A50 50 0 1 1 50 0A50 50 0 1 1 -50 0Z',
  square: 'M-46 -46H46V46H-46Z',
  cube: 'M-46 -46H46V46H-46Z',
  triangle: 'M0 -52L54 44H-54Z',
  diamond: 'M0 -58L44 0L0 58L-44 0Z',
  heart: 'M0 50C-64 6 -54 -46 -24 -46C-10 -46 -2 -36 0 -26C2 -36 10 -46 24 -46C54 -46 64 6 0 50Z',
};

function paintPaper(stage: Stage): string {
  const random = stage.random.fork('paper');
  const { width, height, drawing, setting } = stage;
  const paper = rgb(random.pick(papers));
  const ground = drawing.radial([0, shade(paper, 0.3)], [0.6, paper], [1, mix(paper, [164, 134, 100], 0.24)]);
  const things = setting.description.mentions.filter(({ noun }) => isThing(noun));
  const shapes = things.flatMap((mention) =>
    Array.from({ length: mention.count }, (_, index) => ({ mention, index })),
  );
  const columns = Math.max(1, Math.ceil(Math.sqrt((shapes.length * width) / height)));
  const rows = Math.ceil(shapes.length / columns);
  const cell = Math.min((width * 0.86) / columns, (height * 0.86) / rows);
  const drawn = shapes.slice(0, 120).map(({ mention, index }, place) => {
    const inRow = Math.min(columns, shapes.length - Math.floor(place / columns) * columns);
    const x = width / 2 + ((place % columns) - (inRow - 1) / 2) * cell + random.between(-0.06, 0.06) * cell;
    const y =
      height / 2 + (Math.floor(place / columns) - (rows - 1) / 2) * cell + random.between(-0.06, 0.06) * cell;
    return paintShape(stage, mention, index, [x, y], (cell / 132) * Math.min(1.2, mention.size));
  });
  const rim = `<rect x="14" y="14" width="${Math.round(width - 28)}" height="${Math.round(height - 28)}" fill="none" stroke="${hex(shade(paper, -0.25))}" stroke-width="1.5"/>`;
  return box([0, 0], width, height, ground) + rim + drawn.join('');
}

function paintShape(
  stage: Stage,
  mention: Mention,
  index: number,
  at: readonly [number, number],
  scale: number,
): string {
  const random = stage.random.fork(`shape ${mention.noun} ${index}`);
  const named = coloursOf(mention, index).main;
  const colour = named ?? (mention.noun === 'heart' ? namedColours.red : random.pick(inks));
  const outline = outlines[mention.noun] ?? outlines.circle ?? '';
  const fill = stage.drawing.linearAlong(
    [0, 0, 1, 1],
    [0, shade(colour, 0.14)],
    [1, mix(colour, [20, 20, 50], 0.14)],
  );
  const cast = ellipse([6, 56], 50, 7, stage.drawing.radial([0, [60, 40, 40], 0.3], [1, [60, 40, 40], 0]));
  return placed(cast + path(outline, fill), at, scale);
}
