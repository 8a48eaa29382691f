/** Checks arguments of the library's functions, opens the batch, and reports problems in the result instead of throwing. */
import { inspect } from 'node:util';
import { Batch } from '../batch/batch.ts';
import { overridesOf } from '../batch/start-choices.ts';
import { NoBatch } from '../batch/record.ts';
import { pipelineIn } from '../lib/files/glob.ts';
import { didYouMean } from '../lib/text/closest.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import { asDamage } from '../runner/checkpoint/damage.ts';
import type { EndingKind } from '../runner/core/ending.ts';
import { failureRules } from '../runner/core/failure.ts';
import { rowStates } from '../runner/core/scene-record.ts';
import { exportKinds } from '../runner/export/export-folder.ts';
import { localService } from '../service/instance/local-service.ts';
import type { Confirmation, Refused, Unreadable } from './library.ts';

interface Rule {
  /** Completes the message "expected …". */
  expected: string;
  holds: (value: unknown) => boolean;
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isListOf = (value: unknown, holds: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(holds);
const number = { expected: 'a number', holds: (value: unknown) => typeof value === 'number' };
const boolean = { expected: 'true or false', holds: (value: unknown) => typeof value === 'boolean' };

const isWithin = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
const isFilledListOf = (value: unknown, holds: (item: unknown) => boolean): boolean =>
  isListOf(value, holds) && (value as unknown[]).length > 0;
const failureKinds: readonly unknown[] = Object.keys(failureRules);
const confirmation: Confirmation = 'paid again';

const rules = {
  file: { expected: 'the path of a pipeline.yaml, or of the folder with one', holds: isText },
  output: { expected: 'the path of a folder', holds: isText },
  env: {
    expected: 'an object of texts, such as process.env',
    holds: (value) =>
      isObject(value) && Object.values(value).every((text) => text === undefined || typeof text === 'string'),
  },
  signal: {
    expected: 'an AbortSignal',
    // No `instanceof`: a signal from another realm, such as a test runner's, has another class.
    holds: (value) => isObject(value) && 'aborted' in value && 'addEventListener' in value,
  },
  manifest: {
    expected: 'the path of a list, or several',
    holds: (value) => isText(value) || isFilledListOf(value, isText),
  },
  concurrency: number,
  limit: number,
  sample: number,
  skipBadRows: boolean,
  allowFewer: boolean,
  acceptEdits: { expected: 'always or never', holds: (value) => value === 'always' || value === 'never' },
  states: {
    expected: `a list of ${rowStates.join(', ')}`,
    holds: (value) => isListOf(value, (state) => rowStates.includes(state as string)),
  },
  where: { expected: 'a condition, such as "score >= 0.6"', holds: isText },
  requests: { expected: 'a whole number from 0 to 1000', holds: (value) => isWithin(value, 0, 1_000) },
  // An empty list would mean every failed scene.
  kinds: {
    expected: `a list of one or more of ${failureKinds.join(', ')}`,
    holds: (value) => isFilledListOf(value, (kind) => failureKinds.includes(kind)),
  },
  ids: {
    expected: 'a list of one or more ids of scenes',
    holds: (value) => isFilledListOf(value, isText),
  },
  again: boolean,
  newSeed: boolean,
  lackingFiles: boolean,
  giveUp: boolean,
  elsewhere: boolean,
  confirm: { expected: `'${confirmation}'`, holds: (value) => value === confirmation },
  deep: boolean,
  repair: boolean,
  to: {
    expected: `one of ${exportKinds.join(', ')}`,
    holds: (value) => exportKinds.some((kind) => kind === value),
  },
  dir: { expected: 'the path of a folder', holds: isText },
  shard: { expected: 'a whole number from 1 to 100000', holds: (value) => isWithin(value, 1, 100_000) },
  caption: { expected: 'a text, such as "{{ prompt }}, {{ style }}"', holds: isText },
  name: { expected: 'a text, such as "{{ shot }} {{ title }}"', holds: isText },
  embed: boolean,
  copy: { expected: 'a name of output.formats, such as webp', holds: isText },
  link: boolean,
  withMetadata: boolean,
} satisfies Record<string, Rule>;

type Name = keyof typeof rules;

const runOptions = [
  'output',
  'env',
  'signal',
  'manifest',
  'concurrency',
  'limit',
  'sample',
  'skipBadRows',
  'allowFewer',
  'acceptEdits',
] as const;

/** Names of the options of each function. */
const optionsOf = {
  runBatch: runOptions,
  readBatch: ['output', 'env'],
  rows: ['states', 'where'],
  wait: ['signal'],
  planBatch: [...runOptions, 'requests'],
  retryScenes: [
    'output',
    'env',
    'kinds',
    'ids',
    'where',
    'again',
    'newSeed',
    'lackingFiles',
    'giveUp',
    'elsewhere',
    'confirm',
  ],
  verifyBatch: ['output', 'env', 'signal', 'deep', 'repair', 'confirm'],
  exportBatch: [
    'to',
    'dir',
    'output',
    'env',
    'signal',
    'where',
    'ids',
    'shard',
    'caption',
    'name',
    'embed',
    'copy',
    'link',
    'withMetadata',
  ],
  cancelBatch: ['output', 'env', 'signal'],
} as const satisfies Record<string, readonly Name[]>;

/** Names of required options. */
const neededBy: Partial<Record<Called, readonly Name[]>> = { exportBatch: ['to', 'dir'] };

type Called = keyof typeof optionsOf;

/** Returns undefined if all arguments are valid. Without `file`, only options are checked. */
export function wrongArguments(
  called: Called,
  options: unknown,
  file?: { file: unknown },
): { kind: 'wrong-use'; text: string; problems: Problem[] } | undefined {
  const problems = [...problemsOf({ ...file }), ...optionProblems(called, options)];
  return problems.length === 0 ? undefined : wrongUse(called, problems);
}

export function wrongUse(
  called: Called,
  problems: Problem[],
): { kind: 'wrong-use'; text: string; problems: Problem[] } {
  const text = `${called}: ${problems.map(({ where, text: said }) => `${where} ${said}`).join('; ')}`;
  return { kind: 'wrong-use', text, problems };
}

function optionProblems(called: Called, options: unknown): Problem[] {
  if (!isObject(options) || Array.isArray(options))
    return [{ where: 'options', text: `is ${shown(options)}; expected an object` }];
  const names: readonly string[] = optionsOf[called];
  const needed = (neededBy[called] ?? []).map((name) => [name, undefined]);
  const [known, unknown] = [Object.fromEntries(needed) as Record<string, unknown>, [] as Problem[]];
  for (const [name, value] of Object.entries(options)) {
    const hint = didYouMean(name, names) ?? `expected ${names.join(', ')}`;
    if (!names.includes(name)) unknown.push({ where: name, text: `is no option of ${called}; ${hint}` });
    else if (value !== undefined) known[name] = value;
  }
  return [...problemsOf(known), ...unknown];
}

function problemsOf(given: Record<string, unknown>): Problem[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const { expected, holds } = rules[name as Name];
    // Variables may be secrets, so they are not quoted.
    const found = name === 'env' && isObject(value) ? 'has other values' : `is ${shown(value)}`;
    return holds(value) ? [] : [{ where: name, text: `${found}; expected ${expected}` }];
  });
}

function shown(value: unknown): string {
  return inspect(value, { depth: 0, maxStringLength: 80, maxArrayLength: 10, breakLength: Infinity });
}

/** Opens the batch for a program. `file`: pipeline.yaml or its folder; to read, also the output folder. */
export function batchForCaller(
  file: string,
  options: Record<string, unknown>,
  env: NodeJS.ProcessEnv = process.env,
): Batch {
  return Batch.at({
    file: pipelineIn(file),
    overrides: overridesOf(options, env),
    output: options['output'],
    env,
    localService,
    // The library prints nothing.
    onTrouble: () => undefined,
  });
}

/** Returns the refusal that an error stands for. Throws unexpected errors again. */
export function refused(thrown: unknown, batch: Batch): Refused {
  const refusal = batch.refusalOf(thrown);
  if (refusal === undefined) throw thrown;
  const { ending, text, problems } = refusal;
  const kind = ending === 'already-running' ? ending : kindOf(thrown, ending);
  return { kind, text, problems: problems.map((each) => ({ ...each, where: optionOf(each.where) })) };
}

/** Like `refused`, for functions that only read. */
export function unreadable(thrown: unknown, batch: Batch): Unreadable {
  const refusal = batch.refusalOf(thrown, true);
  if (refusal === undefined) throw thrown;
  const { ending, text, problems } = refusal;
  return { kind: kindOf(thrown, ending), text, problems };
}

/** Returns the result of work that the caller's signal ended. `consequence`: a sentence. */
export function interrupted(consequence: string): Refused {
  return { kind: 'interrupted', text: `Stopped by its caller. ${consequence}`, problems: [] };
}

function kindOf(thrown: unknown, ending: EndingKind): Unreadable['kind'] {
  if (thrown instanceof NoBatch) return 'no-batch';
  if (ending === 'output-unwritable') return ending;
  return asDamage(thrown) === undefined ? 'wrong-use' : 'damaged';
}

/** Returns the name of an option as programs spell it: `newSeed` for `--new-seed`. */
function optionOf(where: string): string {
  if (!/^--[a-z-]+$/.test(where)) return where;
  return where.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
