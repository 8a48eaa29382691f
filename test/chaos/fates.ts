/** How jobs end at the hostile service: most with a picture, some in each of the bad ways that are known. */
import type { Chance } from '../../src/service/faults/chance.ts';
import { damages, pictureOf, sameDamage } from './pictures.ts';

/** Of an ended job. */
export interface End {
  /** By which a status answer tells of it. */
  fields: Record<string, unknown>;
  /** What stands in the place of a picture. */
  image?: string;
}

export const good = 'good';
/** The service took it on, and does not know it any more a moment later. */
export const lost = 'lost by the service';
const stalls: readonly string[] = ['stalls in the queue', 'stalls in execution'];
/** The fate of all jobs of a scene that is cursed so. */
export const sameAgain = 'the same damage each time';

export function drawFate(random: Chance, badShare: number): string {
  return random.hits(badShare) ? random.pick(badFates) : good;
}

/** Undefined where it never ends. */
export function endOf(fate: string, seed: number, job: number, scene: string): End | undefined {
  if (fate === good) return rendered(pictureOf(seed, job).toString('base64'), job);
  if (fate === sameAgain) return rendered(sameDamage(pictureOf(seed, scene)), job);
  const damage = damages[fate];
  if (damage !== undefined) return rendered(damage.of(pictureOf(seed, job), job), job);
  const fields = badEnds[fate]?.fields(job);
  return fields && { fields };
}

/** The failure that a job of this fate is to be taken for. */
export function kindOf(fate: string): string | null {
  if (stalls.includes(fate)) return 'job-overdue';
  if (fate === sameAgain) return 'bad-picture';
  return damages[fate]?.kind ?? badEnds[fate]?.kind ?? null;
}

const traceback = (job: number): string => `Traceback: CUDA out of memory in job ${job}`;

interface BadEnd {
  kind: string;
  fields: (job: number) => Record<string, unknown>;
}

const badEnds: Record<string, BadEnd> = {
  'FAILED, error is a string': failed((job) => ({ error: traceback(job) })),
  'FAILED, error is a string of JSON': failed((job) => ({
    error: JSON.stringify({ error_type: 'RuntimeError', error_message: traceback(job) }),
  })),
  'FAILED, error is a list': failed((job) => ({ error: ['worker died', traceback(job)] })),
  'FAILED, error is an object': failed((job) => ({ error: { message: traceback(job) } })),
  'FAILED, without a word': failed(() => ({})),
  'FAILED, and has output': failed((job) => ({
    error: 'job timed out after 1 retries',
    output: [{ seed: job }],
  })),
  TIMED_OUT: { kind: 'job-timed-out', fields: () => ({ status: 'TIMED_OUT' }) },
  CANCELLED: { kind: 'job-cancelled', fields: () => ({ status: 'CANCELLED' }) },
  'COMPLETED without output': { kind: 'no-output', fields: () => ({ status: 'COMPLETED' }) },
  'COMPLETED, output is null': completed('no-output', () => null),
  'COMPLETED, output is an empty list': completed('no-output', () => []),
  'failure inside COMPLETED: an error': completed('failed-inside', (job) => ({
    status: 'error',
    message: traceback(job),
  })),
  'failure inside COMPLETED: no images': completed('failed-inside', () => ({
    status: 'success_no_images',
    images: [],
  })),
  'failure inside COMPLETED: a code': completed('failed-inside', () => [
    { code: 400, message: 'bad sampler' },
  ]),
};

const badFates: readonly string[] = [...Object.keys(badEnds), ...Object.keys(damages), ...stalls, lost];

function failed(of: BadEnd['fields']): BadEnd {
  return { kind: 'job-failed', fields: (job) => ({ status: 'FAILED', ...of(job) }) };
}

function completed(kind: string, output: (job: number) => unknown): BadEnd {
  return { kind, fields: (job) => ({ status: 'COMPLETED', output: output(job) }) };
}

function rendered(image: string, seed: number): End {
  return { fields: { status: 'COMPLETED', output: [{ rendered_image: image, seed }] }, image };
}
