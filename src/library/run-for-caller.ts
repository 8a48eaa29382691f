/** A run that another program asks for: of the process that it is in, it changes nothing. */
import type { Batch } from '../batch/batch.ts';
import { runChoicesOf } from '../batch/choices.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { asFatalFailure } from '../runner/checkpoint/journal.ts';
import { endings } from '../runner/core/ending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import { Stop } from '../runner/pipeline/stop.ts';
import { pathOf } from '../runner/report/result-json.ts';
import { endIdleThreads } from '../service/workloads/thread-workload.ts';
import { batchForCaller } from './batch-for-caller.ts';
import { wrongArguments } from './caller-arguments.ts';
import type { RunOptions, RunResult } from './library.ts';

/** Rejects only for a bug. */
export async function runForCaller(file: string, options: RunOptions, emit: Listener): Promise<RunResult> {
  const wrong = wrongArguments('runBatch', options, { file });
  if (wrong !== undefined) return { ...wrong, isResumable: false };
  const { signal } = options;
  const stop = new Stop(asFatalFailure);
  const leave = (): void => stop.request('leave', { kind: 'interrupted', text: 'Stopped by its caller' });
  if (signal?.aborted === true) leave();
  signal?.addEventListener('abort', leave, { once: true });
  const argv = asOptions(options);
  const batch = batchForCaller(file, argv, options.env);
  try {
    const problems: Problem[] = [];
    const choices = runChoicesOf(argv, problems);
    await assertNoStandardInput(batch, problems);
    const show = (event: Event): void => emit(withPaths(event));
    const { type: _, ending: kind, exitCode: _code, ...ended } = await batch.run(choices, stop, show);
    return { kind, isResumable: endings[kind].isResumable, problems: [], ...ended };
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

/** Files are named as rows name them. */
function withPaths(event: Event): Event {
  if (event.type !== 'scene-saved') return event;
  return { ...event, files: event.files.map((file) => pathOf({ file })) };
}

/** Returns the options as the command line has them. */
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

/** Throws `ConfigError` with everything that is wrong with the file and, in `problems`, with the options. */
async function assertNoStandardInput(batch: Batch, problems: Problem[]): Promise<void> {
  const { manifest, placeOf } = await batch.config(true, problems);
  if (!manifest.includes('-')) return;
  const text =
    'manifest is -, but standard input belongs to the program that asks for the run; expected a file';
  throw new ConfigError([{ where: placeOf(['manifest']), text }]);
}
