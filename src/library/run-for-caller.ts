/** Runs, plans and cancels a batch for a program. Changes nothing about the program's process. */
import type { Batch } from '../batch/batch.ts';
import { notWritable } from '../batch/refusal.ts';
import { runChoicesOf } from '../batch/start-choices.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { asFatalFailure } from '../runner/checkpoint/journal.ts';
import type { Config } from '../runner/config/config.ts';
import { endings, type EndingKind } from '../runner/core/ending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import { Stop } from '../runner/pipeline/stop.ts';
import { pathInOutput } from '../runner/report/result-columns.ts';
import { endIdleThreads } from '../service/workloads/thread-workload.ts';
import { batchForCaller, interrupted, refused, wrongArguments } from './caller-arguments.ts';
import type {
  CancelledBatch,
  CancelRequest,
  PlannedBatch,
  PlanRequest,
  Refused,
  RunOptions,
  RunResult,
} from './library.ts';

/** Rejects only for a bug. */
export async function runForCaller(file: string, options: RunOptions, emit: Listener): Promise<RunResult> {
  const wrong = wrongArguments('runBatch', options, { file });
  if (wrong !== undefined) return { ...wrong, isResumable: false };
  const argv = asOptions(options);
  const batch = batchForCaller(file, argv, options.env);
  return untilStopped(batch, options.signal, async (stop) => {
    const problems: Problem[] = [];
    const choices = runChoicesOf(argv, problems);
    await readOwnConfig(batch, true, problems);
    const show = (event: Event): void => emit(withPaths(event));
    const { type: _, ending: kind, exitCode: _code, ...ended } = await batch.run(choices, stop, show);
    return { kind, isResumable: endings[kind].isResumable, problems: [], ...ended };
  });
}

export async function cancelForCaller(file: string, options: CancelRequest): Promise<CancelledBatch> {
  const wrong = wrongArguments('cancelBatch', options, { file });
  if (wrong !== undefined) return { ...wrong, isResumable: false };
  const { output, env, signal } = options;
  const batch = batchForCaller(file, { output }, env);
  return untilStopped(batch, signal, async (stop) => {
    const notes: string[] = [];
    const note = (event: Event): void => {
      if (event.type === 'warning') notes.push(event.text);
    };
    const { ending, found, left, unanswered, ends } = await batch.cancel(false, stop, note);
    const { kind, text } = ending;
    const { isResumable } = endings[kind];
    return { kind, isResumable, text, problems: [], found, left, unanswered, ends, notes };
  });
}

const firstRequests = 3;

export async function planForCaller(file: string, options: PlanRequest): Promise<PlannedBatch | Refused> {
  const wrong = wrongArguments('planBatch', options, { file });
  if (wrong !== undefined) return wrong;
  const { signal = new AbortController().signal, requests: shown = firstRequests, ...others } = options;
  const argv = asOptions(others);
  const batch = batchForCaller(file, argv, options.env);
  const stopped = 'Nothing was sent or changed.';
  try {
    const problems: Problem[] = [];
    const choices = runChoicesOf(argv, problems);
    const config = await readOwnConfig(batch, false, problems);
    const planned = await batch.plan({ ...choices, isChecked: false, requests: shown }, signal);
    if (planned === undefined) return interrupted(stopped);
    const { notes, requests, ...facts } = planned;
    const { dir } = config.output;
    return {
      kind: 'plan',
      dir,
      ...facts,
      requests: requests.map(({ before: _before, ...request }) => request),
      warnings: [...config.warnings, ...notes],
      obstacle: notWritable(dir) ?? null,
    };
  } catch (thrown) {
    const isStopped = thrown instanceof Error && thrown.name === 'AbortError';
    return signal.aborted && (isStopped || thrown === signal.reason)
      ? interrupted(stopped)
      : refused(thrown, batch);
  }
}

interface Refusing {
  kind: EndingKind;
  isResumable: boolean;
  text: string;
  problems: Problem[];
}

/** Runs `work` with a `Stop` for an abort of `signal`. Resolves to a refusal; rejects only for a bug. */
async function untilStopped<Result>(
  batch: Batch,
  signal: AbortSignal | undefined,
  work: (stop: Stop) => Promise<Result>,
): Promise<Result | Refusing> {
  const stop = new Stop(asFatalFailure);
  const leave = (): void => stop.request('leave', { kind: 'interrupted', text: 'Stopped by its caller' });
  if (signal?.aborted === true) leave();
  signal?.addEventListener('abort', leave, { once: true });
  try {
    return await work(stop);
  } catch (thrown) {
    const refusal = batch.refusalOf(thrown);
    if (refusal === undefined) throw thrown;
    const { ending: kind, ...said } = refusal;
    return { kind, isResumable: endings[kind].isResumable, ...said };
  } finally {
    signal?.removeEventListener('abort', leave);
    await endIdleThreads();
  }
}

/** Names files as in rows: `images/…`. */
function withPaths(event: Event): Event {
  if (event.type !== 'scene-saved') return event;
  return { ...event, files: event.files.map((file) => pathInOutput({ file })) };
}

/** Returns the options under their names on the command line. */
function asOptions({ limit, sample, skipBadRows, allowFewer, acceptEdits, ...others }: RunOptions) {
  return {
    ...others,
    limit: limit === undefined ? undefined : String(limit),
    sample: sample === undefined ? undefined : String(sample),
    'skip-bad-rows': skipBadRows,
    'allow-fewer': allowFewer,
    'accept-edits': acceptEdits,
  };
}

/** Throws one `ConfigError` with all problems of the file and of the options (`problems`). */
async function readOwnConfig(batch: Batch, needsKey: boolean, problems: Problem[]): Promise<Config> {
  const { manifest, placeOf } = await batch.config(needsKey).catch((thrown: unknown) => {
    throw thrown instanceof ConfigError ? new ConfigError([...problems, ...thrown.problems]) : thrown;
  });
  const text = 'manifest is -, but standard input belongs to the calling program; expected a file';
  const ofList = manifest.includes('-') ? [{ where: placeOf(['manifest']), text }] : [];
  return batch.config(needsKey, [...problems, ...ofList]);
}
