/** The jobs to which something happens: how they end, and what is told of them instead. */
import type { ClockedSettings } from './fault-settings.ts';
import type { FaultTarget } from './fault-target.ts';
import { jobFaults, type JobEnd, type JobFault } from './job-faults.ts';
import { KeptFaults } from './kept-faults.ts';
import type { HonestAnswer } from './request-fault.ts';

/** How a job ended, as the job book has it; `output` is JSON text. */
export type Outcome = { state: 'COMPLETED'; output: string } | { state: 'FAILED'; error: string };

interface FaultyJob {
  number: number;
  /** Undefined once the book itself says what is to be told. */
  fault: JobFault | undefined;
  acceptedAt: number;
  /** When it was first seen to be over. */
  overAt: number | undefined;
  /** Whether a client was told that it is. */
  isCancelled: boolean;
  /** Accepted by a former service: long ago, and of no number here. */
  isFormer: boolean;
}

/** Of more than so many the oldest is forgotten: then it is told honestly. */
const mostJobs = 100_000;

const overWords: ReadonlySet<unknown> = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT']);

export class FaultyJobs {
  readonly #options: ClockedSettings;
  readonly #jobs = new Map<string, FaultyJob>();
  #kept: KeptFaults | undefined;
  /** The numbers that the script speaks of. */
  readonly #scripted: ReadonlySet<number>;

  constructor(options: ClockedSettings) {
    this.#options = options;
    this.#scripted = new Set(options.script.flatMap(({ job }) => job ?? []));
  }

  /** Goes on with what is kept in this file, and keeps there what comes. Throws `UnusableDatabase`. */
  keepIn(path: string): void {
    this.#kept = new KeptFaults(path, mostJobs);
    for (const { id, number, fault: name, isCancelled } of this.#kept.all()) {
      const fault = jobFaults[name];
      const former = { number, fault, acceptedAt: -Infinity, overAt: undefined, isFormer: true };
      if (fault !== undefined) this.#jobs.set(id, { ...former, isCancelled: isCancelled === 1 });
    }
  }

  close(): void {
    this.#kept?.close();
    this.#kept = undefined;
  }

  add(id: string, number: number, name: string | undefined): void {
    if (name === undefined && !this.#scripted.has(number)) return;
    const acceptedAt = this.#options.now();
    const fault = name === undefined ? undefined : jobFaults[name];
    const job = { number, fault, acceptedAt, overAt: undefined, isCancelled: false, isFormer: false };
    this.#jobs.set(id, job);
    if (name !== undefined) this.#kept?.add({ id, number, fault: name, isCancelled: 0 });
    const [oldest] = this.#jobs.keys();
    if (this.#jobs.size > mostJobs && oldest !== undefined) this.#jobs.delete(oldest);
  }

  numberOf(id: string | undefined): number | undefined {
    const job = id === undefined ? undefined : this.#jobs.get(id);
    return job?.isFormer === false ? job.number : undefined;
  }

  /** What a book can hold is written down so; the rest is told so when it is asked for. */
  outcome<Honest extends { state: string; output?: string }>(id: string, outcome: Honest): Honest | Outcome {
    const job = this.#jobs.get(id);
    if (job === undefined) return outcome;
    job.overAt ??= this.#options.now();
    if (job.fault === undefined || !('end' in job.fault)) return outcome;
    if (outcome.state !== 'COMPLETED' || outcome.output === undefined) return outcome;
    const end = job.fault.end(JSON.parse(outcome.output), job.number);
    const kept = end && asOutcome(end);
    if (kept === undefined) return outcome;
    job.fault = undefined;
    this.#kept?.forget(id);
    return kept;
  }

  /** Whether something happens to the job that an answer is about, as far as can be seen without the answer. */
  isTold({ operation, jobId, place }: FaultTarget): boolean {
    const isOfJob = place === 'status' || operation === 'cancel' || waiting.has(operation);
    if (!isOfJob || this.#jobs.size === 0) return false;
    return jobId === undefined || this.#jobs.get(jobId)?.fault !== undefined;
  }

  /** `answer` as it is where nothing happens to the job that it is about. */
  told<Answer extends HonestAnswer>(target: FaultTarget, answer: Answer): Answer | HonestAnswer {
    const { operation, jobId } = target;
    if (answer.status !== 200 || !this.isTold(target)) return answer;
    const fields = JSON.parse(answer.body.toString()) as Record<string, unknown>;
    const id = jobId ?? fields['id'];
    const job = typeof id === 'string' ? this.#jobs.get(id) : undefined;
    if (job?.fault === undefined) return answer;
    let told = this.#tell(job, job.fault, fields);
    if (operation === 'cancel' && told !== 'nothing') {
      told = cancelled(job, fields, told);
      if (job.isCancelled && typeof id === 'string') this.#kept?.cancel(id);
    }
    if (told === undefined) return answer;
    if (told === 'nothing') return { status: 404, body: '{"error":"job not found"}' };
    return { status: 200, body: JSON.stringify(told) };
  }

  /** `body`: the status of a job that is over. Undefined where by what is told of the job it is not over, or not there. */
  toldAtEnd(id: string, body: string | Buffer): string | Buffer | undefined {
    const answer = { status: 200, body };
    const told = this.told(endOf(id), answer);
    if (told === answer) return body;
    const { status } = JSON.parse(told.body.toString()) as Record<string, unknown>;
    return overWords.has(status) ? told.body : undefined;
  }

  #tell(
    job: FaultyJob,
    fault: JobFault,
    fields: Record<string, unknown>,
  ): Record<string, unknown> | 'nothing' | undefined {
    if (job.isCancelled) return { id: fields['id'], status: 'CANCELLED' };
    const isOver = overWords.has(fields['status']);
    if ('end' in fault) {
      const end = fields['status'] === 'COMPLETED' ? fault.end(fields['output'], job.number) : undefined;
      const { output: _output, error: _error, ...times } = fields;
      return end && { ...times, ...end };
    }
    const { now, slowMs, freshMs } = this.#options;
    if (isOver) job.overAt ??= job.isFormer ? -Infinity : now();
    const overMs = job.overAt === undefined ? 0 : now() - job.overAt;
    return fault.tell({ job: fields, isOver, ageMs: now() - job.acceptedAt, overMs, slowMs, freshMs });
  }
}

/** What whoever waits to be told of its end would ask. */
export function endOf(jobId: string): FaultTarget {
  return { place: 'status', operation: 'status', jobId };
}

/** Operations whose answers may be a job that is over though no path names it. */
const waiting: ReadonlySet<string> = new Set(['runsync', 'render']);

/** A job that only seems to run or to wait has its end here. */
function cancelled(
  job: FaultyJob,
  { id }: Record<string, unknown>,
  told: Record<string, unknown> | undefined,
): Record<string, unknown> | undefined {
  if (told === undefined) return undefined;
  job.isCancelled ||= !overWords.has(told['status']);
  return { id, status: job.isCancelled ? 'CANCELLED' : told['status'] };
}

/** Undefined where the book has no words for it. */
function asOutcome({ status, output, error }: JobEnd): Outcome | undefined {
  if (status === 'COMPLETED' && output !== undefined)
    return { state: status, output: JSON.stringify(output) };
  const isKept = status === 'FAILED' && typeof error === 'string' && output === undefined;
  return isKept ? { state: status, error } : undefined;
}
