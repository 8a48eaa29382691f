/** `nightrender run`: starts or resumes a batch. */
import type { Batch } from '../batch/batch.ts';
import type { Config } from '../runner/config/config.ts';
import { isFreeOfCharge, pricingOf } from '../runner/core/spending.ts';
import type { RunView } from '../terminal/progress.ts';
import { configuredArguments, configuredRun, shownPath } from '../batch/refusal.ts';
import { systemClock } from '../batch/system-clock.ts';
import { runChoicesOf } from '../batch/start-choices.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import { beginOptions, type LoadedCommand, partOptions, pipelineArguments } from './command.ts';
import { withSignals } from './signals.ts';
import { onBatch, pipelineFiles } from './reply.ts';
import { inTurn } from './in-turn.ts';
import { endings } from '../runner/core/ending.ts';

export const runCommand: LoadedCommand = {
  purpose: `Renders every scene of the manifest that has no result yet, and writes the report. The same command resumes after a stop, a crash or an edit of the manifest, and avoids paying twice. Several files run in turn, each with its own limits: after 0 or 3 the next begins, any other code ends it; the exit code is the first that is not 0.`,
  positionals: { pipeline: pipelineArguments },
  shared: [
    'manifest',
    'output',
    'concurrency',
    'columns',
    'skip-bad-rows',
    'allow-fewer',
    'accept-edits',
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
    ['$0 run pipeline.yaml --stats', 'print at the end what slowed the run down'],
    ['$0 run pipeline.yaml --log night.log', 'every event as a JSON line in a file'],
    ['zcat list.txt.gz | $0 run pipeline.yaml --manifest -', 'scenes from standard input'],
    ['$0 run pipeline.yaml --quiet', 'from cron: prints only if something is wrong'],
  ],
  work: (argv) =>
    inTurn(pipelineFiles(argv), argv, {
      readOptions: (problems) => void runChoicesOf(argv, problems),
      needsKey: true,
      work: (file) => run(file, argv),
      goesOn: (exitCode) => goesOn.has(exitCode),
    }),
};

/** Exit codes after which the next file runs: missing scenes of one batch don't concern the next. */
const goesOn = new Set<number>([endings.complete.exitCode, endings.incomplete.exitCode]);

/** Resolves to the exit code. */
export function run(file: string, argv: Record<string, unknown>): Promise<number> {
  return onBatch(
    argv,
    async (batch) => {
      const problems: Problem[] = [];
      const choices = runChoicesOf(argv, problems);
      const config = await batch.config(true, problems);
      // On a terminal, edits are refused until the user adds --accept-edits. A script has nobody to do that, so it accepts them.
      const acceptEdits = process.stderr.isTTY ? 'never' : 'always';
      return withSignals(async (stop) => {
        const view = await openView(batch, config);
        try {
          const ended = await batch.run({ ...choices, acceptEdits }, stop, view.emit);
          return ended.exitCode;
        } finally {
          view.close();
        }
      });
    },
    { file },
  );
}

async function openView(batch: Batch, config: Config): Promise<RunView> {
  const { openRunView } = await import('../terminal/run-view.ts');
  const { log, ...options } = config.terminal;
  const { dir } = config.output;
  const view = {
    ...options,
    file: configuredArguments(batch.file, config),
    runArguments: configuredRun(batch.file, config),
    shownDir: shownPath(dir),
    shownImages: batch.shownImagesOf(config),
    isFree: isFreeOfCharge(config.endpoint, pricingOf(config)),
    now: Date.now,
    elapsed: (): number => systemClock.elapsed(),
  };
  return openRunView(view, log);
}
