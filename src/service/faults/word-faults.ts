/** Answers that come whole and say of a job what is not so, or what few expect. */

interface WordFault {
  says: string;
  at: readonly ['submit'] | readonly ['status'];
  /** Of the fields of an honest answer. */
  change: (job: Record<string, unknown>) => { status?: number; body: unknown };
}

export const wordFaults: Readonly<Record<string, WordFault>> = {
  'in-progress-202': {
    says: '202, and the reply already says IN_PROGRESS; the job is taken on.',
    at: ['submit'],
    change: (job) => ({ status: 202, body: { ...job, status: 'IN_PROGRESS' } }),
  },
  'no-id': {
    says: 'The reply tells no id of the job, which is taken on.',
    at: ['submit'],
    change: () => ({ body: { id: null, status: 'IN_QUEUE' } }),
  },
  'unknown-word': {
    says: 'The status is a word that nobody knows.',
    at: ['status'],
    change: ({ id }) => ({ body: { id, status: 'REHYDRATING' } }),
  },
  running: {
    says: 'The status is RUNNING, as some documents have it.',
    at: ['status'],
    change: ({ id }) => ({ body: { id, status: 'RUNNING' } }),
  },
  'no-status': {
    says: '200 without a status.',
    at: ['status'],
    change: ({ id }) => ({ body: { id } }),
  },
  'nothing-yet-202': {
    says: '202 without a word, as kin of the service answer until the job is done.',
    at: ['status'],
    change: () => ({ status: 202, body: {} }),
  },
  'back-in-queue': {
    says: 'The job is in the queue again: the platform has retried it by itself.',
    at: ['status'],
    change: ({ id }) => ({ body: { id, status: 'IN_QUEUE', retries: 1, delayTime: 3 } }),
  },
  'early-output': {
    says: 'Output while IN_PROGRESS, which is no result: whoever takes it has a wrong picture.',
    at: ['status'],
    change: ({ id }) => ({
      body: { delayTime: 1, id, status: 'IN_PROGRESS', output: [{ rendered_image: onePixel, seed: 0 }] },
    }),
  },
  'other-job': {
    says: 'The answer is that of another job: a proxy has mixed them up.',
    at: ['status'],
    change: (job) => ({ body: { ...job, id: '00000000-0000-4000-8000-000000000000' } }),
  },
};

const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
