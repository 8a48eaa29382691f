/** What a command is, for the parser, completion, the man page and hints; and the options that commands share. */
import type { Argv, Options, PositionalOptions } from 'yargs';
import { optionRules, variableOf, type OptionName } from '../batch/overrides.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { endings, type EndingKind } from '../runner/core/ending.ts';

export interface Command {
  /** Its arguments, as the parser writes them: `<pipeline>`. */
  takes: string;
  summary: string;
  load: () => Promise<LoadedCommand>;
}

/** Names and commands, in the order in which the help names them. */
export type Commands = readonly (readonly [name: string, command: Command])[];

export interface LoadedCommand {
  /** What it is for, in a paragraph. */
  purpose: string;
  /** Takes a pipeline.yaml, and these of the options that have a key in it. */
  shared?: readonly OptionName[];
  positionals?: Record<string, PositionalOptions & { describe: string }>;
  options?: Record<string, Options & { describe: string }>;
  /** What follows `--` is its own, as the parser leaves it in `argv['--']`. */
  takesRest?: true;
  /** Command lines, in which `$0` is the program, and what each is for. */
  examples: [line: string, why: string][];
  /** Its exit codes in its own words; all of them where left out. */
  exits?: Parameters<typeof exitCodes>[0];
  /** Words that its first argument may be, for completion. */
  words?: readonly string[];
  /** Up to the exit code. `commands`: all there are. */
  work: (argv: Record<string, unknown>, commands: Commands) => Promise<number> | number;
}

/** For those who describe all of them. */
export function loadAll(commands: Commands): Promise<(Command & LoadedCommand & { name: string })[]> {
  return Promise.all(
    commands.map(async ([name, command]) => ({ name, ...command, ...(await command.load()) })),
  );
}

/** What `help` is called with where no topic is given: the parser would take `help` alone for `--help`. */
export const topicList = 'topics';

export interface CommandDefinition extends Required<Pick<LoadedCommand, 'positionals' | 'options'>> {
  epilogue: string;
}

/** All arguments and options of a command, with those that it shares. */
export function definitionOf({ shared, positionals, options, exits }: LoadedCommand): CommandDefinition {
  const codes = exitCodes(exits);
  if (shared === undefined)
    return { positionals: { ...positionals }, options: { ...options }, epilogue: codes };
  return {
    positionals: { pipeline: pipelineArgument, ...positionals },
    options: { ...sharedOptions(shared), ...options },
    epilogue: `${precedence}\n\n${codes}`,
  };
}

/** Gives the parser of a command what it has to know. `usage`: its name and arguments. */
export function declareCommand(parser: Argv, usage: string, command: LoadedCommand): void {
  const { positionals, options, epilogue } = definitionOf(command);
  parser.usage(`$0 ${usage}\n\n${command.purpose}`).options(options).epilogue(epilogue);
  for (const [name, rule] of Object.entries(positionals)) parser.positional(name, rule);
  for (const [line, why] of command.examples) parser.example(line, why);
}

/** All of them as they are; or those of a command that only looks or serves, in its own words. */
export function exitCodes(own?: Partial<Record<EndingKind, string>>): string {
  const kinds = Object.keys(endings) as EndingKind[];
  const lines = kinds.flatMap((kind) => {
    const { exitCode, means, isResumable } = endings[kind];
    if (own === undefined) return codeLine(exitCode, `${means}${isResumable ? ' (resumable)' : ''}`);
    return own[kind] === undefined ? [] : codeLine(exitCode, own[kind]);
  });
  const head =
    own === undefined ? 'Exit codes; after a resumable one the same command resumes:' : 'Exit codes:';
  return [head, ...lines].join('\n');
}

function codeLine(exitCode: number, means: string): string {
  return `${String(exitCode).padStart(5)}  ${means}`;
}

/** Means what it says with every command that works on a batch. */
export const common = {
  bug: endings.bug.means,
  'wrong-use': 'wrong use or configuration, no batch yet, or its file is damaged',
  'output-unwritable': endings['output-unwritable'].means,
};

export const pipelineArgument = {
  type: 'string',
  describe: 'the configuration file, such as pipeline.yaml, or its folder',
} as const;

/** For commands that take several. */
export const pipelineArguments = {
  type: 'string',
  describe: `${pipelineArgument.describe}; of several, one after the other`,
} as const;

/** A number has no type here: the parser would make NaN of anything else, and the problem could not show what was given. */
export function sharedOptions(names: readonly OptionName[]) {
  return Object.fromEntries(
    names.map((name) => {
      const { type, describe, path } = optionRules[name];
      const text = `${describe}\n[${path.join('.')}, ${variableOf(name)}]`;
      return [name, { ...(type !== 'number' && { type }), describe: text, requiresArg: type !== 'boolean' }];
    }),
  );
}

export const precedence =
  'In brackets: the matching key in pipeline.yaml and environment variable. Options override variables, variables override the file.';

/** Options for one start only, which no file can set: consents to a start that is refused without them. */
export const beginOptions = {
  'accept-loss': {
    type: 'boolean',
    describe: 'resume although part of the checkpoint was lost; lost submissions count as unanswered',
  },
  adopt: {
    type: 'boolean',
    describe: 'adopt pictures in the folder that are not in the checkpoint, after checking each',
  },
  fresh: {
    type: 'boolean',
    describe: 'render again what is not in the checkpoint; keep the pictures as <name>.former',
  },
} as const;

/** Both are read as text, so that what is no number can be named. */
export const partOptions = {
  sample: {
    type: 'string',
    requiresArg: true,
    describe: 'render only a share, such as 1% or 0.01, drawn from the whole list, the same scenes each time',
  },
  limit: {
    type: 'string',
    requiresArg: true,
    describe: 'render only this many scenes, drawn the same way; saved ones count',
  },
} as const;

/** An option that takes a text. */
export const textOption = { type: 'string', requiresArg: true } as const;

/** Throws `ConfigError` where it is none within these bounds. */
export function wholeNumber(argv: Record<string, unknown>, name: string, min: number, max: number): number {
  const value = argv[name];
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  const text = `${inWords(value)} is given; expected a whole number from ${min} to ${max}`;
  throw new ConfigError([{ where: `--${name}`, text }]);
}

/** What was given, for people. */
export function inWords(value: unknown): string {
  return Array.isArray(value) ? value.map(String).join(' and ') : JSON.stringify(value);
}

/** Undefined where it is not given; throws `ConfigError` where it is empty or given twice. */
export function oneText(argv: Record<string, unknown>, name: string): string | undefined {
  const value = argv[name];
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw new ConfigError([{ where: `--${name}`, text: `${inWords(value)} is given; expected one text` }]);
}
