/** `nightrender run`: starts or continues a batch. */
import { assertNotOwned, isBatch, lockBatch } from '../runner/checkpoint/batch-lock.ts';
import type { Config } from '../runner/config/config.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import { beginChoicesOf, partOf, partOptions, beginOptions } from './begin-options.ts';
import type { ReadScenes } from './read-scenes.ts';
import type { RunChoices } from './run-locked.ts';
import { withSignals } from './signals.ts';
import { assertPlace } from './known-batch.ts';
import type { LoadedCommand } from './command.ts';
import { openBucket } from './pictures-place.ts';
import { onConfig } from './on-config.ts';
import { filesIn } from './option-values.ts';
import { inTurn } from './in-turn.ts';
import { pipelineArguments } from './run-options.ts';
import { endings } from '../runner/core/ending.ts';

export const runCommand: LoadedCommand = {
  purpose: `Renders every scene of the manifest that has no picture yet, and writes the report. The same command resumes after a stop, a crash or an edit of the manifest, and avoids paying twice. Several files run in turn, each with its own limits: after 0 or 3 the next begins, any other code ends it; the exit code is the first that is not 0.`,
  positionals: { pipeline: pipelineArguments },
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
    ['$0 run', 'the same, for the pipeline.yaml of this folder'],
    ['$0 run render.yaml upscale.yaml', 'one after the other, both checked before the first begins'],
    ['$0 run pipeline.yaml --concurrency 4', 'four jobs in flight at most'],
    ['$0 run pipeline.yaml --limit 20', 'a preview: 20 scenes from all over the list'],
    ['$0 run pipeline.yaml --stats', 'print at the end what held the run back'],
    ['$0 run pipeline.yaml --log night.log', 'every event as a JSON line in a file'],
    ['zcat list.txt.gz | $0 run pipeline.yaml --manifest -', 'scenes from standard input'],
    ['$0 run pipeline.yaml --quiet', 'from cron: prints only if something is wrong'],
  ],
  work: (argv) =>
    inTurn(filesIn(argv), argv, {
      readOptions: (problems) => readChoices(argv, problems),
      needsKey: true,
      work: (file) => run(file, argv),
      goesOn: (exitCode) => goesOn.has(exitCode),
    }),
};

/** What a scene lacks is no reason to leave the next file alone. */
const goesOn = new Set<number>([endings.complete.exitCode, endings.incomplete.exitCode]);

/** Resolves to the exit code. */
export async function run(file: string, argv: Record<string, unknown>): Promise<number> {
  const readOptions = (problems: Problem[]): RunChoices => readChoices(argv, problems);
  return onConfig(file, argv, readOptions, (config, choices) =>
    withSignals((stop) => runConfig(file, config, choices, stop)),
  );
}

function readChoices(argv: Record<string, unknown>, problems: Problem[]): RunChoices {
  return { part: partOf(argv, problems), ...beginChoicesOf(argv, problems) };
}

async function runConfig(file: string, config: Config, choices: RunChoices, stop: Stop): Promise<number> {
  const { dir, pictures } = config.output;
  // What is missing for that is reported before a long list is read.
  if (pictures !== undefined) await (await openBucket(pictures)).close();
  if (config.checkpoint !== undefined) {
    const { runShared } = await import('./run-shared.ts');
    return runShared(file, config, config.checkpoint, choices, stop);
  }
  const { notifyIfRefused } = await import('./notify-run.ts');
  const assertThere = (): void => assertPlace(dir, undefined, choices.isFresh);
  await notifyIfRefused(file, config, assertThere);
  // A batch that runs is reported before its manifest is read; the folder of a new one is made after that.
  let lock = isBatch(dir) ? await lockBatch(dir, Date.now()) : undefined;
  let scenes: ReadScenes | undefined;
  try {
    const known = lock && { dir, isShared: false };
    const { readUnlessStopped } = await import('./same-scenes.ts');
    scenes = await notifyIfRefused(file, config, () =>
      readUnlessStopped(config, stop, known, choices.isAdopting),
    );
    lock ??= await notifyIfRefused(file, config, () => lockBatch(dir, Date.now()));
    // The list may have been read for a while.
    assertNotOwned(dir);
    // And moved away by who had the lock before, or its disk may be gone.
    await notifyIfRefused(file, config, assertThere);
    const { runLocked } = await import('./run-locked.ts');
    return await runLocked(file, config, scenes, choices, stop);
  } finally {
    scenes?.stage.close();
    lock?.release();
  }
}
