/** A run up to its first submission: when it has planned, when it submits, and what it took until then. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { collectComplaint, readUse, startMeasured } from './measured-process.ts';
import { Refusal } from './refusal.ts';
import { epochMs, peakSoFar } from './samples.ts';
import type { BenchService } from './start-service.ts';

export interface Step {
  /** From the start of the process. */
  ms: number;
  /** The most memory up to then. */
  peakBytes: number;
}

export interface FirstSubmission {
  /** As far as it said `plan-made`; else as `submission`. */
  plan: Step;
  submission: Step;
  /** With everything that came after the signal, such as a report. */
  whole: Step;
}

/** Ends the run by the signal as soon as it has submitted; SIGKILL leaves no word of the whole. */
export async function runToFirstSubmission(
  args: string[],
  dir: string,
  service: BenchService,
  signal: 'SIGHUP' | 'SIGKILL',
): Promise<FirstSubmission> {
  const submitted = service.nextSubmission();
  // By the time this is answered the service knows of the watcher.
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

/** Asked to finish: incomplete, or complete where nothing was left. */
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
