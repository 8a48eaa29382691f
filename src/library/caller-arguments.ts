/** The arguments of the library's functions: a program that passes a wrong one is told which, in a result. */
import { inspect } from 'node:util';
import { didYouMean } from '../lib/text/closest.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import { rowStates } from '../runner/core/scene-record.ts';

interface Rule {
  /** Follows "expected". */
  expected: string;
  holds: (value: unknown) => boolean;
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isListOf = (value: unknown, holds: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(holds);
const number = { expected: 'a number', holds: (value: unknown) => typeof value === 'number' };
const boolean = { expected: 'true or false', holds: (value: unknown) => typeof value === 'boolean' };

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
    // That of another realm, such as a test runner's, is an instance of another class.
    holds: (value) => isObject(value) && 'aborted' in value && 'addEventListener' in value,
  },
  manifest: {
    expected: 'the path of a list, or several',
    holds: (value) => isText(value) || (isListOf(value, isText) && (value as []).length > 0),
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
} satisfies Record<string, Rule>;

type Name = keyof typeof rules;

/** Options of each function. */
const optionsOf = {
  runBatch: [
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
  ],
  readBatch: ['output', 'env'],
  rows: ['states', 'where'],
  wait: ['signal'],
} as const satisfies Record<string, Name[]>;

/** Returns undefined if all arguments are right. An option that is undefined counts as left out. `file`: left out for a function without one. */
export function wrongArguments(
  called: keyof typeof optionsOf,
  options: unknown,
  file?: { file: unknown },
): { kind: 'wrong-use'; text: string; problems: Problem[] } | undefined {
  const problems = [...problemsOf({ ...file }), ...optionProblems(called, options)];
  if (problems.length === 0) return undefined;
  const text = `${called}: ${problems.map(({ where, text: said }) => `${where} ${said}`).join('; ')}`;
  return { kind: 'wrong-use', text, problems };
}

function optionProblems(called: keyof typeof optionsOf, options: unknown): Problem[] {
  if (!isObject(options) || Array.isArray(options))
    return [{ where: 'options', text: `is ${shown(options)}; expected an object` }];
  const names: readonly string[] = optionsOf[called];
  const [known, unknown] = [{} as Record<string, unknown>, [] as Problem[]];
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
    // Variables are secrets.
    const found = name === 'env' && isObject(value) ? 'has other values' : `is ${shown(value)}`;
    return holds(value) ? [] : [{ where: name, text: `${found}; expected ${expected}` }];
  });
}

function shown(value: unknown): string {
  return inspect(value, { depth: 0, maxStringLength: 80, maxArrayLength: 10, breakLength: Infinity });
}
