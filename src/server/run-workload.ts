/** One run of a workload: whatever it does comes out as how the job ended. */
import { inspect } from 'node:util';
import type { JobOutcome } from './job-book.ts';
import type { TakenJob } from './job-statements.ts';
import type { Worker } from './workload.ts';

/** Larger results are failures in words rather than results that get lost on their way. */
const maxOutputBytes = 100 * 1024 * 1024;

const maxErrorLength = 10_000;

/** Undefined, at once, where `signal` aborts, whether or not the workload heeds it. Never rejects. */
export function runWorkload(
  worker: Worker,
  job: TakenJob,
  signal: AbortSignal,
): Promise<JobOutcome | undefined> {
  const abandoned = new Promise<undefined>((resolve) =>
    signal.addEventListener('abort', () => resolve(undefined), { once: true }),
  );
  return Promise.race([outcomeOf(worker, job, signal), abandoned]);
}

async function outcomeOf(worker: Worker, job: TakenJob, signal: AbortSignal): Promise<JobOutcome> {
  try {
    const input = JSON.parse(job.input) as Record<string, unknown>;
    return completed(await worker.run({ id: job.id, input }, { signal, progress: ignore, stream: ignore }));
  } catch (error) {
    return failed(textOf(error));
  }
}

const ignore = (): void => undefined;

function completed(output: unknown): JobOutcome {
  if (output === undefined || output === null) return failed('the workload ended without an output');
  // Functions and symbols have no JSON, which the compiler's idea of `stringify` leaves out.
  const text = JSON.stringify(output) as string | undefined;
  if (text === undefined) return failed('the output of the workload cannot be written as JSON');
  const byteCount = Buffer.byteLength(text);
  if (byteCount > maxOutputBytes)
    return failed(`the output of the workload has ${byteCount} bytes, more than ${maxOutputBytes}`);
  return { state: 'COMPLETED', output: text };
}

function failed(error: string): JobOutcome {
  return { state: 'FAILED', error: error.slice(0, maxErrorLength) };
}

function textOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === 'string' ? error : inspect(error);
}
