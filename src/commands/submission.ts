/** What Slurm and Kubernetes are told of a batch, and the options that each of them has. */
import { ConfigError } from '../lib/yaml/problem.ts';
import type { SubmissionSettings } from '../runner/config/read-submission.ts';

export interface Submission {
  /** The pipeline.yaml, as it was given. */
  file: string;
  /** Of the batch in the cluster. */
  name: string;
  settings: SubmissionSettings;
  runners: number;
  argv: Record<string, unknown>;
}

/** What a runner may take to end: its grace, its report, its last messages. */
export function endMsOf({ graceMs }: SubmissionSettings): number {
  return graceMs + 20_000;
}

/** Of a runner: its own, and its large responses. */
export function runnerBytesOf({ memoryBytes }: SubmissionSettings): number {
  return 2 ** 30 + memoryBytes;
}

/** What follows `--`. */
export function restOf(argv: Record<string, unknown>): string[] {
  const rest = argv['--'];
  return Array.isArray(rest) ? rest.map(String) : [];
}

export function problem(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}
