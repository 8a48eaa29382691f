/** Jobs that end without a picture, as status answers of the service describe them. */
import type { Fields } from './answers.ts';

interface BadEnd {
  /** Kind of failure that the runner must recognize. */
  kind: string;
  fields: (job: number) => Fields;
}

export const badEnds: Record<string, BadEnd> = {
  failed: failed((job) => ({ error: traceback(job) })),
  'failed-json': failed((job) => ({
    error: JSON.stringify({ error_type: 'RuntimeError', error_message: traceback(job) }),
  })),
  'failed-list': failed((job) => ({ error: ['worker died', traceback(job)] })),
  'failed-object': failed((job) => ({ error: { message: traceback(job) } })),
  'failed-silent': failed(() => ({})),
  'failed-with-output': failed((job) => ({ error: traceback(job), output: [{ seed: job }] })),
  // Exact text of the platform.
  'platform-time-out': failed(() => ({ error: 'job timed out after 1 retries' })),
  'timed-out': { kind: 'job-timed-out', fields: () => ({ status: 'TIMED_OUT' }) },
  cancelled: { kind: 'job-cancelled', fields: () => ({ status: 'CANCELLED' }) },
  // The output was too large, so the service dropped it.
  'no-output': { kind: 'no-output', fields: () => ({ status: 'COMPLETED' }) },
  'null-output': completed('no-output', () => null),
  'empty-output': completed('no-output', () => []),
  'error-inside': completed('failed-inside', (job) => ({ status: 'error', message: traceback(job) })),
  'no-images-inside': completed('failed-inside', () => ({ status: 'success_no_images', images: [] })),
  'code-inside': completed('failed-inside', () => [{ code: 400, message: 'bad sampler' }]),
  'worker-error-inside': completed('failed-inside', (job) => ({
    error: traceback(job),
    refresh_worker: true,
  })),
};

function failed(of: BadEnd['fields']): BadEnd {
  return { kind: 'job-failed', fields: (job) => ({ status: 'FAILED', ...of(job) }) };
}

function completed(kind: string, output: (job: number) => unknown): BadEnd {
  return { kind, fields: (job) => ({ status: 'COMPLETED', output: output(job) }) };
}

function traceback(job: number): string {
  return `Traceback: CUDA out of memory in job ${job}`;
}
