/** The rendering worker: a job's words → pictures, on the GPU where there is one, else by the painter, which it says. */
import sharp from 'sharp';
import { describe } from '../painter/mentions.ts';
import {
  paint,
  PaintingRequestError,
  readCount,
  readPaintingRequest,
  type PaintingRequest,
} from '../painter/paint.ts';
import { NoGpu, openGpu, type Gpu } from './gpu/open-gpu.ts';
import { renderPlan } from './gpu/render-plan.ts';
import { planPicture, type PicturePlan } from './plan-picture.ts';
import { rendererFolders } from './renderer-folders.ts';

interface Job {
  id: string;
  input: Record<string, unknown>;
}

interface Context {
  log(line: string): void;
  progress(message: unknown): void;
}

/** An element of the output; its first two keys are the interface's. */
export interface RenderedPicture {
  /** A PNG as base64. */
  rendered_image: string;
  seed: number;
  renderer: 'gpu' | 'painter';
  /** The GPU's name; null where the painter painted. */
  adapter: string | null;
  /** Words that nothing in the picture stands for. */
  ignored_words: string[];
  /** Why there was no GPU; only with the painter. */
  fallback_reason?: string;
}

/** One element a picture; a request that cannot be read rejects with the reason. */
export async function handler({ input }: Job, { log, progress }: Context): Promise<RenderedPicture[]> {
  const request = readRenderRequest(input);
  const pictures: RenderedPicture[] = [];
  for (let number = 0; number < request.images; number += 1) {
    const picture = await pictureOf(request, request.seed + number, log);
    if (number === 0 && picture.fallback_reason !== undefined)
      log(`The painter paints instead of the GPU: ${picture.fallback_reason}.`);
    pictures.push(picture);
    if (request.images > 1) progress({ images_done: number + 1, images: request.images });
  }
  return pictures;
}

/** A GPU that fails is opened anew and has one more chance. */
async function pictureOf(
  request: RenderRequest,
  seed: number,
  log: Context['log'],
): Promise<RenderedPicture> {
  const plan = planPicture(request.text, seed, request.width / request.height);
  const failures: string[] = [];
  while (failures.length < maxFailures) {
    const gpu = await theGpu();
    if (gpu instanceof NoGpu) return painted(request, seed, gpu);
    const picture = await rendered(request, plan, gpu);
    if (typeof picture !== 'string') return picture;
    forget(gpu);
    failures.push(picture);
    log(`The GPU failed, and is opened anew: ${picture}`);
  }
  throw new Error(
    `The GPU failed ${maxFailures} times at this picture, which may be too large for it: ${failures.at(-1) ?? ''}`,
  );
}

const maxFailures = 2;

let opened: Promise<Gpu | NoGpu> | undefined;

function forget(gpu: Gpu): void {
  opened = undefined;
  gpu.close();
}

/** Opened once; packages that are missing are looked for again with each picture. */
async function theGpu(): Promise<Gpu | NoGpu> {
  opened ??= openGpu(rendererFolders()).catch((error: unknown) => {
    if (error instanceof NoGpu) return error;
    return new NoGpu(`the GPU cannot be used: ${inWords(error)}`, false);
  });
  const gpu = await opened;
  if (gpu instanceof NoGpu && gpu.arePeersMissing) opened = undefined;
  return gpu;
}

/** Drivers throw errors without a message. */
function inWords(error: unknown): string {
  const said = error instanceof Error ? error.message || error.name : String(error);
  return said === '' ? 'it gave no reason' : said;
}

/** The picture, or what the GPU did instead. */
async function rendered(
  { width, height, samples }: RenderRequest,
  plan: PicturePlan,
  gpu: Gpu,
): Promise<RenderedPicture | string> {
  let pixels: Buffer = Buffer.alloc(0);
  const refused = await gpu
    .refusedOf(async () => (pixels = await renderPlan(gpu, plan, width, height, samples)))
    .catch(inWords);
  const trouble = gpu.trouble ?? refused;
  if (trouble !== null) return trouble;
  const png = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png({ compressionLevel: 6 })
    .toBuffer();
  return {
    rendered_image: png.toString('base64'),
    seed: Number(plan.seed),
    renderer: 'gpu',
    adapter: gpu.adapter,
    ignored_words: plan.prompt.ignoredWords,
  };
}

async function painted(request: RenderRequest, seed: number, { message }: NoGpu): Promise<RenderedPicture> {
  const picture = await paint({ ...request, seed });
  return {
    rendered_image: picture.toString('base64'),
    seed,
    renderer: 'painter',
    adapter: null,
    ignored_words: describe(request.text).ignoredWords,
    fallback_reason: message,
  };
}

interface RenderRequest extends PaintingRequest {
  /** Taken at each pixel; more of them soften shadows as well. */
  samples: number;
  /** Each with a seed of its own: the first with `seed`, the next with the one after it. */
  images: number;
}

const usualSamples = 16;
const maxSamples = 256;
const maxImages = 8;

/** Its keys are `scene` (or `prompt`), `seed`, `width`, `height`, `samples` and `images`; others are left alone. */
function readRenderRequest(input: Record<string, unknown>): RenderRequest {
  const request = readPaintingRequest(input);
  const images = readCount('images', input['images'], 1, 1, maxImages);
  if (!Number.isSafeInteger(request.seed + images)) {
    throw new PaintingRequestError(
      `'seed' ${request.seed} is too large for ${images} images with seeds of their own.`,
    );
  }
  return { ...request, samples: readCount('samples', input['samples'], usualSamples, 1, maxSamples), images };
}
