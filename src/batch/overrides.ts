/** Settings that options and environment variables override, each with its key in pipeline.yaml. */
import { resolve } from 'node:path';
import type { Override } from '../lib/yaml/yaml-file.ts';
import type { JsonValue } from '../lib/text/json.ts';

interface OptionRule {
  /** Key of pipeline.yaml. */
  path: string[];
  type: 'string' | 'number' | 'boolean';
  isPath?: boolean;
  /** True if a text with commas is a list. */
  isList?: boolean;
  /** Words for false and true, if the key expects words. */
  words?: readonly [string, string];
  describe: string;
}

export const optionRules = {
  manifest: {
    path: ['manifest'],
    type: 'string',
    isPath: true,
    describe: 'manifest to read; - is standard input',
  },
  output: { path: ['output', 'dir'], type: 'string', isPath: true, describe: 'output folder' },
  concurrency: { path: ['concurrency'], type: 'number', describe: 'maximum number of jobs in flight' },
  columns: {
    path: ['header'],
    type: 'string',
    isList: true,
    describe: 'names of the columns of CSV or TSV without a header, such as id,prompt',
  },
  'skip-bad-rows': {
    path: ['skipBadRows'],
    type: 'boolean',
    describe: 'render the good rows and report the bad ones as invalid',
  },
  'allow-fewer': {
    path: ['allowFewer'],
    type: 'boolean',
    describe: 'accept a list that lost more than a third of its scenes',
  },
  'accept-edits': {
    path: ['acceptEdits'],
    type: 'boolean',
    words: ['never', 'always'],
    describe: 'accept an edit that renders more than a third of the saved scenes again',
  },
  log: {
    path: ['terminal', 'log'],
    type: 'string',
    isPath: true,
    describe: 'append every event to this file as a JSON line; SIGUSR2 reopens it',
  },
  stats: {
    path: ['terminal', 'stats'],
    type: 'boolean',
    describe: 'at the end, show requests, lag, data, and what slowed the run down',
  },
  json: { path: ['terminal', 'json'], type: 'boolean', describe: 'one JSON object a line on stdout' },
  quiet: { path: ['terminal', 'quiet'], type: 'boolean', describe: 'warnings and errors only' },
} as const satisfies Record<string, OptionRule>;

export type OptionName = keyof typeof optionRules;

/** Returns the overrides in order of increasing precedence: environment, then flags. Both override the file. */
export function overridesOf(argv: Record<string, unknown>, env: NodeJS.ProcessEnv): Override[] {
  const rules = Object.entries(optionRules) as [OptionName, OptionRule][];
  const fromEnv = rules.flatMap(([name, rule]) => {
    const variable = variableOf(name);
    const text = env[variable];
    return text === undefined || text === '' ? [] : [override(rule, valueOf(text, rule), variable)];
  });
  const fromFlags = rules.flatMap(([name, rule]) => {
    const value = argv[name];
    return value === undefined ? [] : [override(rule, value as JsonValue, `--${name}`)];
  });
  return [...fromEnv, ...fromFlags];
}

export function variableOf(name: OptionName): string {
  return `NIGHTRENDER_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** Creates an override. Paths in flags and variables are relative to the working directory, not to the file. */
function override(rule: OptionRule, value: JsonValue, from: string): Override {
  const given = typeof value === 'boolean' ? (rule.words?.[Number(value)] ?? value) : value;
  if (rule.isPath === true) return { path: rule.path, value: pathFrom(given), from };
  const isList = rule.isList === true && typeof given === 'string';
  const listed: JsonValue = isList ? given.split(',').map((part) => part.trim()) : given;
  return { path: rule.path, value: listed, from };
}

/** Resolves paths. A flag that is given several times makes a list. */
function pathFrom(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(pathFrom);
  return typeof value === 'string' && value !== '-' && value !== '' ? resolve(value) : value;
}

/** Parses a variable. A text that does not fit is passed on, so the check of the configuration reports it. */
function valueOf(text: string, { type }: OptionRule): JsonValue {
  if (type === 'number' && /^\d+$/.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
