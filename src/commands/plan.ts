/** `nightrender plan`: what a run would do, cost and take; it sends nothing, writes nothing into the batch and takes no lock. */
import type { Config } from '../runner/config/config.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { endings, type EndingKind } from '../runner/core/ending.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import { showPlan } from '../terminal/show-plan.ts';
import { beginChoicesOf } from './begin-options.ts';
import { checkEndpoint } from './check-endpoint.ts';
import { commandArguments, configuredArguments, configuredRun } from './command-arguments.ts';
import { notWritable } from './in-the-way.ts';
import { partOf } from './part-options.ts';
import { planOnCopy, type PlanOptions } from './plan-on-copy.ts';
import { readBeside } from './read-beside.ts';
import { refuse } from './refuse.ts';
import { shownLists } from './shown-lists.ts';
import { shownPath } from './shown-path.ts';
import { withSignals } from './signals.ts';
import { StoppedEarly } from './stopped-early.ts';
import { program } from './version.ts';

/** Resolves to the exit code: that of a run which could not begin, and 0 where it could. */
export async function plan(file: string, argv: Record<string, unknown>): Promise<number> {
  let config: Config | undefined;
  try {
    const problems: Problem[] = [];
    const options = {
      part: partOf(argv, problems),
      requests: requestsOf(argv, problems),
      ...beginChoicesOf(argv),
    };
    const read = readBeside(problems, file, argv);
    config = read;
    if (problems.length > 0) throw new ConfigError(problems);
    const isChecked = argv['check'] === true;
    return await withSignals((stop) => planConfig(file, read, options, isChecked, stop));
  } catch (thrown) {
    const json = config?.terminal.json ?? argv['json'] === true;
    return refuse(thrown, config?.output.dir, json, commandArguments(file, argv['output']));
  }
}

async function planConfig(
  file: string,
  config: Config,
  options: PlanOptions,
  isChecked: boolean,
  stop: Stop,
): Promise<number> {
  const { dir } = config.output;
  const batch = await unlessStopped(stop, () => planOnCopy(file, config, options, stop.draining));
  const check = isChecked ? await unlessStopped(stop, () => checkEndpoint(config, stop.draining)) : null;
  const obstacle = notWritable(dir) ?? null;
  const ending = endingOf(check?.ending, obstacle);
  showPlan(
    {
      ...batch,
      program,
      file,
      commandArguments: configuredArguments(file, config),
      runArguments: configuredRun(file, config),
      manifest: shownLists(config, file),
      endpoint: config.endpoint,
      dir,
      shownDir: shownPath(dir),
      asked: options.part ?? null,
      warnings: config.warnings,
      check,
      obstacle,
      exitCode: endings[ending].exitCode,
    },
    config.terminal.json,
  );
  return endings[ending].exitCode;
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
    'Nothing was sent, and the batch is as it was.',
  );
}

const mostRequests = 1_000;

function requestsOf(argv: Record<string, unknown>, problems: Problem[]): number {
  const text = argv['requests'] ?? '3';
  const count = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : -1;
  if (count >= 0 && count <= mostRequests) return count;
  const expected = `expected how many requests are shown, a whole number from 0 to ${mostRequests}`;
  problems.push({ where: '--requests', text: `is ${JSON.stringify(text)}; ${expected}` });
  return 0;
}
