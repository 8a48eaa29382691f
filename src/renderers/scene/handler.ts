/** The rendering worker: a job's words → pictures, drawn on the CPU. */
import sharp from 'sharp';
import { drawPlan } from './draw/draw-plan.ts';
import { planPicture } from './plan-picture.ts';
import { readRequest, type RenderRequest } from './read-request.ts';

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
