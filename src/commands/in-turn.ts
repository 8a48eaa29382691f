/** Several pipeline files in one command: all are checked before the first starts, then they run one by one. */
import { variableOf } from '../batch/start-choices.ts';
import { batchOf, refuse } from './reply.ts';
import type { Config } from '../runner/config/config.ts';
import { endings } from '../runner/core/ending.ts';
import { realPath } from '../lib/files/temporary-files.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { writeError } from '../terminal/terminal.ts';
import { withSignals } from './signals.ts';

export interface Turns {
  readOptions: (problems: Problem[]) => void;
  needsKey: boolean;
  work: (file: string) => Promise<number>;
  /** True if the next file runs after this exit code. */
  goesOn: (exitCode: number) => boolean;
}

/** Resolves to the first exit code that isn't 0. No further file starts after a signal. */
export async function inTurn(files: string[], argv: Record<string, unknown>, turns: Turns): Promise<number> {
  const [only = '', ...others] = files;
  if (others.length === 0) return turns.work(only);
  const problems = await problemsOf(files, argv, turns);
  if (problems.length > 0)
    return refuse(new ConfigError(problems), undefined, argv['json'] === true, files.join(' '));
  // Each run has its own stop, which its limits may request as well. This one only hears signals.
  return withSignals(async (stop) => {
    let first = 0;
    for (const [i, file] of files.entries()) {
      const exitCode = await turns.work(file);
      first ||= exitCode;
      const left = files.slice(i + 1);
      if (left.length === 0 || (stop.ending === undefined && turns.goesOn(exitCode))) continue;
      const stopCode = stop.ending === undefined ? 0 : endings[stop.ending.kind].exitCode;
      writeError(notBegun(left, stop.ending ? 'a signal came' : `${file} ended with ${exitCode}`));
      return first || stopCode;
    }
    return first;
  });
}

function notBegun(left: string[], why: string): string {
  const [last = '', ...before] = left.toReversed();
  const them = before.length === 0 ? `${last} was` : `${before.toReversed().join(', ')} and ${last} were`;
  return `${them} not started, because ${why}; the same command continues.`;
}

/** Returns all problems of the files, of the options, and of combining the files, without duplicates. */
async function problemsOf(files: string[], argv: Record<string, unknown>, turns: Turns): Promise<Problem[]> {
  const problems = [
    ...ofOneBatch
      .filter((name) => argv[name] !== undefined && argv[name] !== false)
      .map((name) => `--${name}`),
    ...(['manifest', 'output'] as const).map(variableOf).filter((name) => (process.env[name] ?? '') !== ''),
  ].map((where): Problem => ({ where, text: 'is for one batch; give it with one pipeline file alone' }));
  turns.readOptions(problems);
  const configs: (Config | undefined)[] = [];
  for (const file of files) configs.push(await configOf(file, argv, turns.needsKey, problems));
  problems.push(...files.flatMap((file, i) => clashOf(file, i, files, configs)));
  return [...new Map(problems.map((problem) => [`${problem.where}: ${problem.text}`, problem])).values()];
}

/** Returns undefined and adds to `problems` if the file is wrong. */
async function configOf(
  file: string,
  argv: Record<string, unknown>,
  needsKey: boolean,
  problems: Problem[],
): Promise<Config | undefined> {
  try {
    const batch = await batchOf(file, argv);
    return await batch.config(needsKey);
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    problems.push(...thrown.problems);
    return undefined;
  }
}

/** Options that name something of one batch, or confirm something about it. */
const ofOneBatch = ['manifest', 'output', 'allow-fewer', 'accept-loss', 'adopt', 'fresh'];

/** Finds a file given twice, or a shared output folder, where two batches would withdraw each other's scenes. */
function clashOf(file: string, i: number, files: string[], configs: (Config | undefined)[]): Problem[] {
  if (files.findIndex((other) => realPath(other) === realPath(file)) < i)
    return [{ where: file, text: 'is given twice' }];
  const config = configs[i];
  if (config === undefined) return [];
  const owner = configs.findIndex((other) => other?.output.dir === config.output.dir);
  if (owner === i) return [];
  const text = `output.dir is the folder of ${files[owner]}, too; expected one of its own`;
  return [{ where: config.placeOf(['output', 'dir']), text }];
}
