/** What a worker of ours says of itself: where it runs, what it runs, and what that wrote. */
import { z } from 'zod';
import type { MachineView } from '../../protocol/console-data.ts';

export interface WorkerReport {
  machine: MachineView | null;
  /** In words. */
  workload: string | null;
  /** `draining`: takes no more; `leaving`: ends now, and gives back what it has. */
  state: 'working' | 'draining' | 'leaving';
  /** Since its last report. */
  log: string[];
  /** Why what it runs has ended in the middle of its jobs; null where it has not. */
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

/** What is wrong with it, in words, where something is. */
export function readWorkerReport(body: unknown): WorkerReport | { problem: string } {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  return { problem: `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'not a report'}` };
}
