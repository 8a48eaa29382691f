/** `nightrender run`: starts or continues a batch. */
import { assertNotOwned, isBatch, lockBatch } from '../runner/checkpoint/batch-lock.ts';
import { readJobsInFlight } from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import { beginChoicesOf, partOf, partOptions, beginOptions } from './begin-options.ts';
import type { ReadScenes } from './read-scenes.ts';
import type { RunChoices } from './run-locked.ts';
import { withSignals, StoppedEarly } from './signals.ts';
import type { LoadedCommand } from './command.ts';
import { onConfig } from './on-config.ts';
import { fileIn } from './option-values.ts';

export const runCommand: LoadedCommand = {
  purpose: `Renders every scene of the manifest that has no picture yet, and writes the report. The same command resumes after a stop, a crash or an edit of the manifest, and avoids paying twice.`,
  shared: [
    'manifest',
    'output',
    'concurrency',
    'skip-bad-rows',
    'allow-fewer',
    'log',
    'stats',
    'json',
    'quiet',
  ],
  options: { ...partOptions, ...beginOptions },
  examples: [
    ['$0 run pipeline.yaml', 'start, or resume after a stop or a crash'],
    ['$0 run pipeline.yaml --concurrency 4', 'four jobs in flight at most'],
    ['$0 run pipeline.yaml --limit 20', 'a preview: 20 scenes from all over the list'],
    ['$0 run pipeline.yaml --stats', 'print at the end what held the run back'],
    ['$0 run pipeline.yaml --log night.log', 'every event as a JSON line in a file'],
    ['zcat list.txt.gz | $0 run pipeline.yaml --manifest -', 'scenes from standard input'],
    ['$0 run pipeline.yaml --quiet', 'from cron: prints only if something is wrong'],
  ],
  work: (argv) => run(fileIn(argv), argv),
};

/** Resolves to the exit code. */
export async function run(file: string, argv: Record<string, unknown>): Promise<number> {
  const readOptions = (problems: Problem[]): RunChoices => ({
    part: partOf(argv, problems),
    ...beginChoicesOf(argv, problems),
  });
  return onConfig(file, argv, readOptions, (config, choices) =>
    withSignals((stop) => runConfig(file, config, choices, stop)),
  );
}

async function runConfig(file: string, config: Config, choices: RunChoices, stop: Stop): Promise<number> {
  const { dir } = config.output;
  // A batch that runs is reported before its manifest is read; the folder of a new one is made after that.
  let lock = isBatch(dir) ? await lockBatch(dir, Date.now()) : undefined;
  let scenes: ReadScenes | undefined;
  try {
    const isKnown = lock !== undefined;
    const { notifyIfRefused } = await import('./notify-run.ts');
    scenes = await notifyIfRefused(file, config, () => readUnlessStopped(config, stop, isKnown));
    lock ??= await notifyIfRefused(file, config, () => lockBatch(dir, Date.now()));
    // The list may have been read for a while.
    assertNotOwned(dir);
    const { runLocked } = await import('./run-locked.ts');
    return await runLocked(file, config, scenes, choices, stop);
  } finally {
    scenes?.stage.close();
    lock?.release();
  }
}

/**
 * Undefined where a stop cut the reading short and there is something in flight to be collected nevertheless. `isKnown`:
 * the batch is there, and its lock is held.
 */
async function readUnlessStopped(
  config: Config,
  stop: Stop,
  isKnown: boolean,
): Promise<ReadScenes | undefined> {
  const { sameScenes } = await import('./same-scenes.ts');
  const { readScenes } = await import('./read-scenes.ts');
  try {
    const same = isKnown ? await sameScenes(config, stop.draining) : undefined;
    return same ?? (await readScenes(config, process.stdin, stop.draining));
  } catch (error) {
    if (stop.ending === undefined || !isAbort(error)) throw error;
    if (!stop.leaving.aborted && readJobsInFlight(config.output.dir).length > 0) return undefined;
    throw new StoppedEarly(stop.ending, untouched);
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

const untouched = 'The manifest was still being read: nothing was sent or changed.';
