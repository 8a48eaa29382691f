/** Every fault of a job: how it ends in the place of its result, and what else is said of it. */
import { pictureDamages, withDamage } from './picture-damages.ts';

/** The fields of a status answer by which it tells how a job ended. */
export interface JobEnd {
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'TIMED_OUT';
  output?: unknown;
  error?: unknown;
}

/** What is told of a job in the place of the truth; `nothing` is a 404, undefined the truth. */
type Told = Record<string, unknown> | 'nothing' | undefined;

export interface JobSight {
  /** The fields of the honest answer. */
  job: Record<string, unknown>;
  isOver: boolean;
  /** Since it was accepted, and since it was first seen to be over. */
  ageMs: number;
  overMs: number;
  slowMs: number;
  freshMs: number;
}

export type JobFault = {
  /** One sentence, for people: what becomes of the job. */
  says: string;
  isFinal?: true;
} & (
  | {
      /** How it ends instead of completing with `output`; undefined where that cannot be. `job` is its number. */
      end: (output: unknown, job: number) => JobEnd | undefined;
    }
  | { tell: (sight: JobSight) => Told }
);

const traceback = (job: number): string => `Traceback: CUDA out of memory in job ${job}`;

const badEnds: Record<string, JobFault> = {
  failed: failed('FAILED; the error is a string.', (job) => ({ error: traceback(job) })),
  'failed-json': failed('FAILED; the error is a string that holds JSON.', (job) => ({
    error: JSON.stringify({
      error_type: 'RuntimeError',
      error_message: traceback(job),
      error_traceback: 'line 1',
    }),
  })),
  'failed-list': failed('FAILED; the error is a list.', (job) => ({
    error: ['worker died', traceback(job)],
  })),
  'failed-object': failed('FAILED; the error is an object.', (job) => ({
    error: { message: traceback(job) },
  })),
  'failed-silent': failed('FAILED, without a word.', () => ({})),
  'failed-with-output': failed('FAILED, and there is output as well.', (job) => ({
    error: traceback(job),
    output: [{ seed: job }],
  })),
  'platform-time-out': failed("FAILED with the words of the platform's own time-out.", () => ({
    error: 'job timed out after 1 retries',
  })),
  'timed-out': { says: 'TIMED_OUT.', end: () => ({ status: 'TIMED_OUT' }) },
  cancelled: { says: 'CANCELLED, by nobody.', end: () => ({ status: 'CANCELLED' }) },
  'no-output': {
    says: 'COMPLETED without output: the result was too large to hand in, and was dropped.',
    end: () => ({ status: 'COMPLETED' }),
  },
  'null-output': completed('COMPLETED; the output is null.', () => null),
  'empty-output': completed('COMPLETED; the output is an empty list.', () => []),
  'error-inside': completed('COMPLETED; the output says that it is an error.', (job) => ({
    status: 'error',
    message: traceback(job),
  })),
  'no-images-inside': completed('COMPLETED; the output says "success_no_images".', () => ({
    status: 'success_no_images',
    images: [],
  })),
  'code-inside': completed('COMPLETED; the output is a list with a code of 400.', () => [
    { code: 400, message: 'bad sampler' },
  ]),
  'worker-error-inside': completed("COMPLETED; the output is the worker's own error as JSON.", (job) => ({
    error: traceback(job),
    refresh_worker: true,
  })),
};

const damages: Record<string, JobFault> = Object.fromEntries(
  Object.entries(pictureDamages).map(([name, damage]): [string, JobFault] => {
    const end = (output: unknown, job: number): JobEnd | undefined => {
      const changed = withDamage(output, damage, job);
      return changed === undefined ? undefined : { status: 'COMPLETED', output: changed };
    };
    const { says, isFinal } = damage;
    return [name, { says, end, ...(isFinal && { isFinal }) }];
  }),
);

const tales: Record<string, JobFault> = {
  slow: {
    says: 'IN_PROGRESS for `times.slow` longer than it takes.',
    tell: (sight) => (sight.isOver && sight.overMs < sight.slowMs ? inProgress(sight) : undefined),
  },
  'never-ends': {
    says: 'IN_PROGRESS for ever.',
    tell: (sight) => (sight.isOver ? inProgress(sight) : undefined),
  },
  'never-begins': {
    says: 'IN_QUEUE for ever, as where no worker can start.',
    tell: ({ job }) => ({ id: job['id'], status: 'IN_QUEUE' }),
  },
  'unknown-at-first': {
    says: '404 for the first `times.fresh` after it was accepted.',
    tell: ({ ageMs, freshMs }) => (ageMs < freshMs ? 'nothing' : undefined),
  },
  'expired-at-once': {
    says: '404 as soon as it is over: its result is deleted before anybody can have it.',
    tell: ({ isOver }) => (isOver ? 'nothing' : undefined),
  },
  lost: {
    says: '404 from the beginning: it is lost out of the queue.',
    tell: () => 'nothing',
  },
};

/** By name; everything that can become of a job. */
export const jobFaults: Readonly<Record<string, JobFault>> = { ...badEnds, ...damages, ...tales };

function failed(says: string, of: (job: number) => Omit<JobEnd, 'status'>): JobFault {
  return { says, end: (_, job) => ({ status: 'FAILED', ...of(job) }) };
}

function completed(says: string, output: (job: number) => unknown): JobFault {
  return { says, end: (_, job) => ({ status: 'COMPLETED', output: output(job) }) };
}

function inProgress({ job }: JobSight): Record<string, unknown> {
  return { delayTime: job['delayTime'], id: job['id'], status: 'IN_PROGRESS' };
}
