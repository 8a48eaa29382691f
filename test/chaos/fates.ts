/** How jobs end at the hostile service: most with a picture, some in each of the bad ways that are known. */
import type { Chance } from './chance.ts';
import { damages, pictureOf } from './pictures.ts';

/** The fields by which a status answer tells of an ended job. */
export type End = Record<string, unknown>;

export type Fate = 'good' | 'stalls in the queue' | 'stalls in execution' | (string & {});

export function drawFate(random: Chance, badShare: number): Fate {
  return random.hits(badShare) ? random.pick(badFates) : 'good';
}

/** Undefined where it never ends. */
export function endOf(fate: Fate, seed: number, job: number): End | undefined {
  if (stalls.includes(fate)) return undefined;
  if (fate === 'good') return completed([rendered(pictureOf(seed, job).toString('base64'), job)]);
  const damage = damages[fate];
  if (damage !== undefined) return completed([rendered(damage(pictureOf(seed, job), seed, job), job)]);
  return badEnds[fate]?.(job);
}

const stalls: readonly Fate[] = ['stalls in the queue', 'stalls in execution'];

const traceback = (job: number): string => `Traceback: CUDA out of memory in job ${job}`;

const badEnds: Record<string, (job: number) => End> = {
  'FAILED, error is a string': (job) => ({ status: 'FAILED', error: traceback(job) }),
  'FAILED, error is a string of JSON': (job) => ({
    status: 'FAILED',
    error: JSON.stringify({ error_type: 'RuntimeError', error_message: traceback(job) }),
  }),
  'FAILED, error is a list': (job) => ({ status: 'FAILED', error: ['worker died', traceback(job)] }),
  'FAILED, error is an object': (job) => ({ status: 'FAILED', error: { message: traceback(job) } }),
  'FAILED, without a word': () => ({ status: 'FAILED' }),
  'FAILED, and has output': (job) => ({
    status: 'FAILED',
    error: 'job timed out after 1 retries',
    output: [{ seed: job }],
  }),
  TIMED_OUT: () => ({ status: 'TIMED_OUT' }),
  CANCELLED: () => ({ status: 'CANCELLED' }),
  'COMPLETED without output': () => ({ status: 'COMPLETED' }),
  'COMPLETED, output is null': () => completed(null),
  'COMPLETED, output is an empty list': () => completed([]),
  'failure inside COMPLETED: an error': (job) => completed({ status: 'error', message: traceback(job) }),
  'failure inside COMPLETED: no images': () => completed({ status: 'success_no_images', images: [] }),
  'failure inside COMPLETED: a code': () => completed([{ code: 400, message: 'bad sampler' }]),
};

const badFates: readonly Fate[] = [...Object.keys(badEnds), ...Object.keys(damages), ...stalls];

function completed(output: unknown): End {
  return { status: 'COMPLETED', output };
}

function rendered(base64: string, seed: number): object {
  return { rendered_image: base64, seed };
}
