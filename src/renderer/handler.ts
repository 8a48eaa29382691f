/** The rendering worker: a job's words → pictures, on the GPU where there is one, else by the painter, which it says. */
import sharp from 'sharp';
import { paint } from '../painter/paint.ts';
import { NoGpu, openGpu, type Gpu } from './gpu/open-gpu.ts';
import { renderPlan } from './gpu/render-plan.ts';
import { readWords } from './language/read-words.ts';
import { planPicture } from './plan-picture.ts';
import { readRenderRequest, type RenderRequest } from './read-render-request.ts';
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
  const gpu = await theGpu();
  if (gpu instanceof NoGpu) log(`The painter paints instead of the GPU: ${gpu.message}.`);
  const pictures: RenderedPicture[] = [];
  for (let number = 0; number < request.images; number += 1) {
    const seed = request.seed + number;
    pictures.push(
      gpu instanceof NoGpu ? await painted(request, seed, gpu) : await rendered(request, seed, gpu),
    );
    if (request.images > 1) progress({ images_done: number + 1, images: request.images });
  }
  return pictures;
}

let opened: Promise<Gpu | NoGpu> | undefined;

/** Opened once; what is missing now is looked for again only by a new worker. */
function theGpu(): Promise<Gpu | NoGpu> {
  opened ??= openGpu(rendererFolders()).catch((error: unknown) => {
    if (error instanceof NoGpu) return error;
    const reason = error instanceof Error ? error.message : String(error);
    return new NoGpu(`the GPU cannot be used: ${reason}`, false);
  });
  return opened;
}

async function rendered(request: RenderRequest, seed: number, gpu: Gpu): Promise<RenderedPicture> {
  const { text, width, height, samples } = request;
  const plan = planPicture(text, seed, width / height);
  const pixels = await renderPlan(gpu, plan, width, height, samples);
  const png = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png({ compressionLevel: 6 })
    .toBuffer();
  return {
    rendered_image: png.toString('base64'),
    seed,
    renderer: 'gpu',
    adapter: gpu.adapter,
    ignored_words: plan.words.ignoredWords,
  };
}

async function painted(request: RenderRequest, seed: number, { message }: NoGpu): Promise<RenderedPicture> {
  const picture = await paint({ ...request, seed });
  return {
    rendered_image: picture.toString('base64'),
    seed,
    renderer: 'painter',
    adapter: null,
    ignored_words: readWords(request.text).ignoredWords,
    fallback_reason: message,
  };
}
