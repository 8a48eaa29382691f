/** What a worker runs: user-supplied code that turns a job's input into its output. */

export interface WorkloadJob {
  id: string;
  input: Record<string, unknown>;
}

/** What a worker runs. */
export interface Workload {
  name: string;
  /**
   * Resolves to the output, a JSON-serialisable value; a rejection fails the job with the error's message.
   * When `signal` aborts the result is no longer wanted: the job has gone back to the queue or was cancelled, and the
   * worker is given another.
   */
  run(job: WorkloadJob, signal: AbortSignal): Promise<unknown>;
}
