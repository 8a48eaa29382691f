/** Measures a run up to its first submission: when it has planned, when it submits, and its memory. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { collectComplaint, readUse, startMeasured } from './measured-process.ts';
import { Refusal } from './refusal.ts';
import { epochMs, peakSoFar } from './samples.ts';
import type { BenchService } from './start-service.ts';

export interface Step {
  /** Time since the start of the process. */
  ms: number;
  /** Highest memory use so far. */
  peakBytes: number;
}

export interface FirstSubmission {
  /** Measured at the event `plan-made`. Equal to `submission` if the run printed no such event. */
  plan: Step;
  submission: Step;
  /** Measured at the end of the process, with everything after the signal, such as a report. */
  whole: Step;
}

/** Ends the run with the signal as soon as it has submitted. After SIGKILL, `whole` has the memory of `submission`. */
export async function runToFirstSubmission(
  args: string[],
  dir: string,
  service: BenchService,
  signal: 'SIGHUP' | 'SIGKILL',
): Promise<FirstSubmission> {
  const submitted = service.nextSubmission();
  // When this request is answered, the service has registered the request for the next submission.
  await service.measures();
  const startedAt = epochMs();
  const child = startMeasured(args, dir, 'pipe');
  const step = (at = epochMs()): Step => ({ ms: at - startedAt, peakBytes: peakSoFar(child.pid ?? 0) ?? 0 });
  const planned = watchForPlan(child, step);
  const complaint = collectComplaint(child);
  const closed = once(child, 'close');
  const at = await Promise.race([submitted, closed]);
  if (typeof at !== 'number')
    throw new Refusal(`ended with ${child.exitCode} before it submitted: ${complaint()}`);
  const submission = step(at);
  child.kill(signal);
  await closed;
  if (signal !== 'SIGKILL' && !asked.has(child.exitCode))
    throw new Refusal(`ended with ${child.exitCode ?? child.signalCode}: ${complaint()}`);
  const peakBytes = signal === 'SIGKILL' ? submission.peakBytes : readUse(dir).peakBytes;
  return { plan: planned() ?? submission, submission, whole: { ms: epochMs() - startedAt, peakBytes } };
}

/** Exit codes of a run that was told to finish: incomplete, or complete if nothing was left. */
const asked: ReadonlySet<number | null> = new Set([3, 0]);

function watchForPlan(child: ChildProcess, step: () => Step): () => Step | undefined {
  let plan: Step | undefined;
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('{"type":"plan-made"')) plan ??= step();
    });
  }
  return () => plan;
}
