/** Choices for a single start: settings that override pipeline.yaml, the part to render (`--limit`, `--sample`), and consents. */
import { resolve } from 'node:path';
import type { JsonValue } from '../lib/text/json.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import type { Override } from '../lib/yaml/yaml-file.ts';
import type { Config } from '../runner/config/config.ts';
import type { Part } from '../runner/core/scene.ts';
import type { PipelineConfig } from '../runner/pipeline/pipeline-config.ts';

export interface BeginChoices {
  /** True if the run resumes although part of the checkpoint was lost. */
  isLossAccepted: boolean;
  /** True if the run adopts pictures that the checkpoint does not know. */
  isAdopting: boolean;
  /** True if the run renders scenes again whose pictures the checkpoint does not know. */
  isFresh: boolean;
}

export interface RunChoices extends BeginChoices {
  /** Undefined for the whole batch. */
  part: Part | undefined;
  /** Used if the file does not set `acceptEdits`. */
  acceptEdits?: Config['acceptEdits'];
}

export const noChoices: BeginChoices = { isLossAccepted: false, isAdopting: false, isFresh: false };

export function unknownPicturesOf({
  isAdopting,
  isFresh,
}: BeginChoices): NonNullable<PipelineConfig['unknownPictures']> {
  if (isAdopting) return 'adopt';
  return isFresh ? 'keep' : 'ask';
}

/** Reads the choices for a run. Problems are added to `problems`. */
export function runChoicesOf(argv: Record<string, unknown>, problems: Problem[]): RunChoices {
  return { part: partOf(argv, problems), ...beginChoicesOf(argv, problems) };
}

/** Reads the consents to a start. Problems are added to `problems`. */
export function beginChoicesOf(argv: Record<string, unknown>, problems: Problem[]): BeginChoices {
  const [isAdopting, isFresh] = [argv['adopt'] === true, argv['fresh'] === true];
  if (isAdopting && isFresh) problems.push({ where: '--fresh', text: 'cannot be combined with --adopt' });
  // A decision about the pictures also accepts the loss.
  const isLossAccepted = argv['acceptLoss'] === true || isAdopting || isFresh;
  return { isLossAccepted, isAdopting, isFresh };
}

/** Reads the part to render. Undefined for the whole batch. Problems are added to `problems`. */
export function partOf(argv: Record<string, unknown>, problems: Problem[]): Part | undefined {
  const share = read(
    argv['sample'],
    '--sample',
    'a share such as 1% or 0.01, above 0 and at most 100%',
    readShare,
    problems,
  );
  const limit = read(argv['limit'], '--limit', 'a number of scenes, 1 or more', readLimit, problems);
  if (share === undefined && limit === undefined) return undefined;
  return { ...(share !== undefined && { share }), ...(limit !== undefined && { limit }) };
}

function read(
  value: unknown,
  where: string,
  expected: string,
  parse: (text: string) => number | undefined,
  problems: Problem[],
): number | undefined {
  if (value === undefined) return undefined;
  const number = typeof value === 'string' ? parse(value.trim()) : undefined;
  if (number === undefined) {
    const shown = Array.isArray(value)
      ? value.map((each) => JSON.stringify(each)).join(' and ')
      : JSON.stringify(value);
    problems.push({ where, text: `is ${shown}; expected ${expected}` });
  }
  return number;
}

function readShare(text: string): number | undefined {
  const [, digits, percent] = /^(\d+\.?\d*|\.\d+)\s*(%?)$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const share = Number(digits) / (percent === '%' ? 100 : 1);
  return share > 0 && share <= 1 ? share : undefined;
}

function readLimit(text: string): number | undefined {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  return count >= 1 && Number.isSafeInteger(count) ? count : undefined;
}

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

/** Settings that options and environment variables override, each with its key in pipeline.yaml. */
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
