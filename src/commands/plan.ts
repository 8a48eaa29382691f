/** `nightrender plan`: shows what a run would do, cost and take. Sends nothing, writes nothing, takes no lock. */
import { proxyFor, shownProxy } from '../lib/net/addresses.ts';
import { configuredArguments, configuredRun, notWritable, shownLists, shownPath } from '../batch/refusal.ts';
import { beginChoicesOf, partOf } from '../batch/start-choices.ts';
import type { Config } from '../runner/config/config.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import { endings, type EndingKind } from '../runner/core/ending.ts';
import { type Stop, StoppedEarly } from '../runner/pipeline/stop.ts';
import { probeEndpoint } from '../batch/connect-service.ts';
import { comingText, type PlanChoices, PlansTogether } from '../batch/dry-run.ts';
import type { Batch } from '../batch/batch.ts';
import { beginOptions, commonExits, type LoadedCommand, partOptions, pipelineArguments } from './command.ts';
import { withSignals } from './signals.ts';
import { program } from '../lib/files/package-file.ts';
import { onBatch, pipelineFiles } from './reply.ts';
import { inTurn } from './in-turn.ts';
import { outColumns, writeOut, writeJsonLine } from '../terminal/terminal.ts';
import { wrapIndented } from '../terminal/fit-text.ts';
import { planLines, type ShownPlan } from './plan-lines.ts';

export const planCommand: LoadedCommand = {
  purpose: `Checks what a run would check and shows what it would do: new, edited, done and failed scenes, the first requests in full, file names, and cost and time from earlier runs of this batch. Sends nothing, writes nothing, takes no lock; works during a run. Needs room for a copy of the checkpoint in the folder for temporary files.`,
  positionals: { pipeline: pipelineArguments },
  shared: [
    'manifest',
    'output',
    'concurrency',
    'columns',
    'skip-bad-rows',
    'allow-fewer',
    'accept-edits',
    'json',
  ],
  options: {
    ...partOptions,
    ...beginOptions,
    check: {
      type: 'boolean',
      describe: 'ask the service whether key and endpoint are right; starts no job',
    },
    requests: {
      type: 'string',
      requiresArg: true,
      describe: 'number of requests to show (default: 3)',
    },
  },
  examples: [
    ['$0 plan pipeline.yaml', 'before the night'],
    ['$0 plan', 'the same, for the pipeline.yaml of this folder'],
    ['$0 plan render.yaml upscale.yaml', 'one after the other, and the sum'],
    ['$0 plan pipeline.yaml --check', 'the key and the endpoint, too'],
    ['$0 plan pipeline.yaml --limit 20', 'what a preview of 20 scenes would do'],
    ['$0 plan pipeline.yaml --json', 'for a script: one JSON object'],
  ],
  exits: {
    ...commonExits,
    complete: 'a run could begin',
    'wrong-use': endings['wrong-use'].means,
    halted: 'with --check: the service gave no usable answer',
    'not-allowed': `with --check: ${endings['not-allowed'].means}`,
    'output-unwritable': 'the plan was shown, but a run could not write',
    interrupted: endings.interrupted.means,
    terminated: endings.terminated.means,
  },
  work: (argv) => planAll(pipelineFiles(argv), argv),
};

/** Plans all files; a failure of one doesn't keep the others from being shown. */
async function planAll(files: string[], argv: Record<string, unknown>): Promise<number> {
  const together = files.length > 1 ? new PlansTogether() : undefined;
  const exitCode = await inTurn(files, argv, {
    readOptions: (problems) => void readPlanChoices(argv, problems),
    needsKey: argv['check'] === true,
    work: (file) => plan(file, argv, together),
    goesOn: () => true,
  });
  if (together?.count === files.length && argv['json'] !== true) writeOut(`\n${together.sum()}`);
  return exitCode;
}

/** Resolves to 0 if a run could start, otherwise to the exit code that the run would have. */
export function plan(file: string, argv: Record<string, unknown>, together?: PlansTogether): Promise<number> {
  return onBatch(
    argv,
    async (batch) => {
      const problems: Problem[] = [];
      const choices = readPlanChoices(argv, problems);
      await batch.config(choices.isChecked, problems);
      return withSignals((stop) => planBatch(batch, choices, stop, together));
    },
    { file },
  );
}

function readPlanChoices(argv: Record<string, unknown>, problems: Problem[]): PlanChoices {
  return {
    part: partOf(argv, problems),
    requests: requestsOf(argv, problems),
    isChecked: argv['check'] === true,
    ...beginChoicesOf(argv, problems),
  };
}

async function planBatch(
  batch: Batch,
  choices: PlanChoices,
  stop: Stop,
  together: PlansTogether | undefined,
): Promise<number> {
  const { file } = batch;
  const config = await batch.config(choices.isChecked);
  const { dir } = config.output;
  const coming = await together?.comingTo(config, stop.draining);
  if (coming?.isUnread) {
    printUnread(file, config, coming.upTo);
    together?.addUnread(config, coming.upTo);
    return endings.complete.exitCode;
  }
  const planned = await unlessStopped(stop, () => batch.plan(choices, stop.draining));
  const check = choices.isChecked
    ? await unlessStopped(stop, () => probeEndpoint(config, stop.draining, planned.requests[0]))
    : null;
  const obstacle = notWritable(dir) ?? null;
  const ending = endingOf(check?.ending, obstacle);
  const { notes, ...facts } = planned;
  printPlan(
    {
      ...facts,
      program,
      file,
      commandArguments: configuredArguments(file, config),
      runArguments: configuredRun(file, config),
      manifest: shownLists(config, file),
      endpoint: config.endpoint,
      proxy: proxyOf(config),
      dir,
      shownDir: shownPath(dir),
      files: config.output.files.map(({ label, kind }) => ({ label, kind })),
      asked: choices.part ?? null,
      warnings: [...config.warnings, ...notes],
      ...(coming && { upTo: coming.upTo }),
      check,
      obstacle,
      exitCode: endings[ending].exitCode,
    },
    config.terminal.json,
    together,
  );
  return endings[ending].exitCode;
}

function proxyOf({ endpoint: { baseUrl }, proxies }: Config): string | null {
  const proxy = baseUrl === 'local' ? undefined : proxyFor(new URL(baseUrl), proxies);
  return proxy === undefined ? null : shownProxy(proxy);
}

function endingOf(checked: EndingKind | undefined, obstacle: string | null): EndingKind {
  if (checked !== undefined && checked !== 'complete') return checked;
  return obstacle === null ? 'complete' : 'output-unwritable';
}

async function unlessStopped<T>(stop: Stop, work: () => Promise<T | undefined>): Promise<T> {
  try {
    const result = await work();
    if (stop.ending === undefined && result !== undefined) return result;
  } catch (error) {
    if (stop.ending === undefined) throw error;
  }
  throw new StoppedEarly(
    stop.ending ?? { kind: 'bug', text: 'The plan was not finished' },
    'Nothing was sent or changed.',
  );
}

const maxRequests = 1_000;

function requestsOf(argv: Record<string, unknown>, problems: Problem[]): number {
  const text = argv['requests'] ?? '3';
  const count = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : -1;
  if (count >= 0 && count <= maxRequests) return count;
  const expected = `expected how many requests are shown, a whole number from 0 to ${maxRequests}`;
  problems.push({ where: '--requests', text: `is ${JSON.stringify(text)}; ${expected}` });
  return 0;
}

/** Prints the plan of a stage whose source has no results yet. */
function printUnread(file: string, config: Config, upTo: number): void {
  if (config.terminal.json)
    return writeJsonLine('plan-later', {
      program,
      file,
      manifest: shownLists(config, file),
      upTo,
      exitCode: 0,
    });
  const text = `A run of ${file} would submit ${comingText(shownLists(config, file).join(), upTo)}.`;
  writeOut([`\n${file}\n`, ...wrapIndented('', text, outColumns(), 0)].join('\n'));
}

/** Prints a plan and adds it to `together`, the plans of several files. */
function printPlan(shown: ShownPlan, json: boolean, together: PlansTogether | undefined): void {
  together?.add({ upTo: 0, ...shown });
  if (json) {
    const { shownDir: _, commandArguments: __, runArguments: ___, ...facts } = shown;
    const requests = shown.requests.map(({ before: _before, ...request }) => request);
    return writeJsonLine('plan', { ...facts, requests });
  }
  if (together !== undefined) writeOut(`${together.count === 1 ? '' : '\n'}${shown.file}\n`);
  writeOut(planLines(shown, outColumns()).join('\n'));
}
