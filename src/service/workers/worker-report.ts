/** Report that `nightrender work` sends about its worker: machine, workload, state and log. */
import { z } from 'zod';
import type { MachineView } from '../../protocol/console-data.ts';

export interface WorkerReport {
  machine: MachineView | null;
  /** Human-readable text that says what the worker runs. */
  workload: string | null;
  /** `draining`: takes no more jobs. `leaving`: ends now and gives its jobs back. */
  state: 'working' | 'draining' | 'leaving';
  /** Log lines since the previous report. */
  log: string[];
  /** Reason why the worker's program ended in the middle of its jobs; null if it did not. */
  died: string | null;
}

const text = z.string().max(200);
const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER);

const schema = z.object({
  machine: z
    .object({
      host: text,
      cores: amount,
      memoryBytes: amount,
      gpus: z
        .array(
          z.object({
            index: amount,
            name: text,
            memoryBytes: amount,
            usedMemoryBytes: amount,
            driver: text,
            celsius: z.number().min(-300).max(1_000),
          }),
        )
        .max(64),
    })
    .nullable()
    .default(null),
  workload: text.nullable().default(null),
  state: z.enum(['working', 'draining', 'leaving']),
  log: z.array(z.string()).max(10_000).default([]),
  died: z.string().max(10_000).nullable().default(null),
});

/** Checks and returns a report. `problem`: human-readable text that says why it is invalid. */
export function readWorkerReport(body: unknown): WorkerReport | { problem: string } {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  return { problem: `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'not a report'}` };
}
