/** A run that another program asks for: of the process that it is in, it changes nothing. */
import type { Problem } from '../lib/yaml/problem.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { asFatalFailure } from '../runner/checkpoint/journal.ts';
import type { Config } from '../runner/config/config.ts';
import { pipelineIn } from '../runner/config/pipeline-in.ts';
import { endings } from '../runner/core/ending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import { Stop } from '../runner/pipeline/stop.ts';
import { pathOf } from '../runner/report/result-json.ts';
import { endIdleThreads } from '../service/workloads/thread-workload.ts';
import { runChoicesOf } from './begin-options.ts';
import { wrongArguments } from './caller-arguments.ts';
import type { RunOptions, RunResult } from './library.ts';
import { readOrReport } from './on-config.ts';
import { namedRefusal } from './refusal.ts';
import type { RunCall } from './run-call.ts';
import { runConfig } from './run-config.ts';
import { commandArguments } from './shown-path.ts';

/** Rejects only for a bug. */
export async function runForCaller(file: string, options: RunOptions, emit: Listener): Promise<RunResult> {
  const wrong = wrongArguments('runBatch', options, { file });
  if (wrong !== undefined) return { ...wrong, isResumable: false };
  const { signal } = options;
  const stop = new Stop(asFatalFailure);
  const leave = (): void => stop.request('leave', { kind: 'interrupted', text: 'Stopped by its caller' });
  if (signal?.aborted === true) leave();
  signal?.addEventListener('abort', leave, { once: true });
  let pipeline = file;
  let config: Config | undefined;
  try {
    pipeline = pipelineIn(file);
    const read = readCall(pipeline, options);
    config = read.config;
    const warn = (text: string): void => emit({ type: 'warning', text });
    const view = { emit: (event: Event) => emit(withPaths(event)), close: () => undefined };
    const call = { ...read, file: pipeline, stop, openView: () => view, warn };
    const { type: _, ending: kind, exitCode: _code, ...ended } = await runConfig(call);
    return { kind, isResumable: endings[kind].isResumable, problems: [], ...ended };
  } catch (thrown) {
    const refusal = namedRefusal(thrown, config?.output.dir, commandArguments(pipeline, options.output));
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

/** The options are read as those of the command. Throws `ConfigError`. */
function readCall(file: string, options: RunOptions): Pick<RunCall, 'config' | 'choices'> {
  const { limit, sample, skipBadRows, allowFewer, acceptEdits, env } = options;
  const argv = {
    ...options,
    limit: limit === undefined ? undefined : String(limit),
    sample: sample === undefined ? undefined : String(sample),
    'skip-bad-rows': skipBadRows,
    'allow-fewer': allowFewer,
    'accept-edits': acceptEdits,
  };
  const problems: Problem[] = [];
  const choices = runChoicesOf(argv, problems);
  const config = readOrReport(problems, file, argv, true, env);
  if (config?.manifest.includes('-') === true)
    problems.push({
      where: config.placeOf(['manifest']),
      text: 'manifest is -, but standard input belongs to the program that asks for the run; expected a file',
    });
  if (config === undefined || problems.length > 0) throw new ConfigError(problems);
  return { config, choices };
}
