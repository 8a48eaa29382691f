/** Several pipeline files in one command: all of them are checked before the first begins, then each has its turn. */
import { variableOf } from '../batch/overrides.ts';
import { batchOf, refuse } from './reply.ts';
import type { Config } from '../runner/config/config.ts';
import { endings } from '../runner/core/ending.ts';
import { realPath } from '../lib/files/real-path.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { writeError } from '../terminal/console.ts';
import { withSignals } from './signals.ts';

export interface Turns {
  /** Adds what is wrong with the options of the command. */
  readOptions: (problems: Problem[]) => void;
  needsKey: boolean;
  /** Resolves to the exit code of one file. */
  work: (file: string) => Promise<number>;
  /** Whether the next file has its turn after this exit code. */
  goesOn: (exitCode: number) => boolean;
}

/** Resolves to the first exit code that is not 0. After a signal no other file has its turn. */
export async function inTurn(files: string[], argv: Record<string, unknown>, turns: Turns): Promise<number> {
  const [only = '', ...others] = files;
  if (others.length === 0) return turns.work(only);
  const problems = await problemsOf(files, argv, turns);
  if (problems.length > 0)
    return refuse(new ConfigError(problems), undefined, argv['json'] === true, files.join(' '));
  // Each run has a stop of its own, which its limits may request as well; this one knows of signals alone.
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
  return `${them} not begun, since ${why}; the same command goes on.`;
}

/** All that is wrong with any of the files, with the options, and with taking the files together; each thing once. */
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

/** Returns undefined if something is wrong with the file, which is added to `problems`. */
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

/** They name what one batch has, or say what is to become of it. */
const ofOneBatch = ['manifest', 'output', 'allow-fewer', 'accept-loss', 'adopt', 'fresh'];

/** Two batches in one folder would withdraw each other's scenes. `configs`: undefined where a file is wrong. */
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
