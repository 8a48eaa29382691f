/** The definition of a command, and what commands share: options, exit codes, and the versions of the program. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, release } from 'node:os';
import type { Argv, Options, PositionalOptions } from 'yargs';
import { type OptionName, optionRules, variableOf } from '../batch/start-choices.ts';
import { packageFile } from '../lib/files/package-file.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { type EndingKind, endings } from '../runner/core/ending.ts';

export interface Command {
  /** Heading of the help: what the command is for. */
  group: 'Make' | 'Watch' | 'Choose' | 'Keep' | 'Serve' | 'More';
  /** Arguments in the notation of the parser: `<pipeline>`. */
  takes: string;
  summary: string;
  load: () => Promise<LoadedCommand>;
}

/** Names and commands, in the order in which the help lists them. */
export type Commands = readonly (readonly [name: string, command: Command])[];

export interface LoadedCommand {
  /** Help text: a paragraph about what the command does. */
  purpose: string;
  /** Options that also have a key in pipeline.yaml. If set, the command takes a pipeline.yaml. */
  shared?: readonly OptionName[];
  positionals?: Record<string, PositionalOptions & { describe: string }>;
  options?: Record<string, Options & { describe: string }>;
  /** If set, the words after `--` are passed through in `argv['--']`. */
  takesRest?: true;
  /** Command lines, in which `$0` is the program, each with its explanation. */
  examples: [line: string, why: string][];
  /** Exit codes in the command's own words. If unset, all exit codes are listed. */
  exits?: Parameters<typeof exitCodes>[0];
  /** Possible values of the first argument, for completion. */
  words?: readonly string[];
  /** Runs the command and returns its exit code. `commands`: all commands. */
  work: (argv: Record<string, unknown>, commands: Commands) => Promise<number> | number;
}

/** Loads every command, for completion and the man page. */
export function loadAll(commands: Commands): Promise<(Command & LoadedCommand & { name: string })[]> {
  return Promise.all(
    commands.map(async ([name, command]) => ({ name, ...command, ...(await command.load()) })),
  );
}

/** The topic of `help` without an argument, because the parser would take `help` alone for `--help`. */
export const topicList = 'topics';

export interface CommandDefinition extends Required<Pick<LoadedCommand, 'positionals' | 'options'>> {
  epilogue: string;
}

/** Returns all arguments and options of a command, including the shared ones. */
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

export function declareCommand(parser: Argv, usage: string, command: LoadedCommand): void {
  const { positionals, options, epilogue } = definitionOf(command);
  parser.usage(`$0 ${usage}\n\n${command.purpose}`).options(options).epilogue(epilogue);
  for (const [name, rule] of Object.entries(positionals)) parser.positional(name, rule);
  for (const [line, why] of command.examples) parser.example(line, why);
}

/** Lists all exit codes, or those in `own` with the command's own words. */
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

/** Exit codes that mean the same for every command on a batch. */
export const commonExits = {
  bug: endings.bug.means,
  'wrong-use': 'wrong use or configuration, no batch yet, or its file is damaged',
  'output-unwritable': endings['output-unwritable'].means,
};

export const pipelineArgument = {
  type: 'string',
  describe: 'the configuration file, such as pipeline.yaml, or its folder',
} as const;

/** For commands that take several pipeline files. */
export const pipelineArguments = {
  type: 'string',
  describe: `${pipelineArgument.describe}; of several, one after the other`,
} as const;

/** Numbers get no `type`: the parser would turn a wrong one into NaN, and the message could not quote it. */
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

/** Options for one start that no file can set. Each confirms something that a start otherwise refuses. */
export const beginOptions = {
  'accept-loss': {
    type: 'boolean',
    describe: 'resume although part of the checkpoint was lost; lost submissions count as unanswered',
  },
  adopt: {
    type: 'boolean',
    describe: 'adopt pictures and clips in the folder that are not in the checkpoint, after checking each',
  },
  fresh: {
    type: 'boolean',
    describe: 'render again what is not in the checkpoint; keep the pictures as <name>.former',
  },
} as const;

/** Both are read as text, so that a message can quote a value that isn't a number. */
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

export const textOption = { type: 'string', requiresArg: true } as const;

/** Throws `ConfigError` unless the value is a whole number from `min` to `max`. */
export function wholeNumber(argv: Record<string, unknown>, name: string, min: number, max: number): number {
  const value = argv[name];
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  const text = `${quoteValue(value)} is given; expected a whole number from ${min} to ${max}`;
  throw new ConfigError([{ where: `--${name}`, text }]);
}

/** Quotes the value of an option for a message. */
export function quoteValue(value: unknown): string {
  return Array.isArray(value) ? value.map(String).join(' and ') : JSON.stringify(value);
}

/** Returns undefined if the option isn't given. Throws `ConfigError` if it is empty or given twice. */
export function oneText(argv: Record<string, unknown>, name: string): string | undefined {
  const value = argv[name];
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw new ConfigError([{ where: `--${name}`, text: `${quoteValue(value)} is given; expected one text` }]);
}

export const purpose = 'Renders long lists of scenes on a GPU job service, and resumes where it stopped.';

/** Returns names and versions. If a part cannot be loaded, the reason replaces its version. */
export async function versions(): Promise<[string, string][]> {
  const { commit, bundled } = readBuild();
  return [
    ['node', process.versions.node],
    ['sqlite', await sqliteVersion().catch(whyNot)],
    ['sharp', await sharpVersion().catch(whyNot)],
    ['undici', bundled.find((name) => name.startsWith('undici@'))?.slice('undici@'.length) ?? 'unknown'],
    ['platform', `${platform()} ${arch()}, ${release()}`],
    ...(commit === undefined ? [] : [['commit', commit] as [string, string]]),
  ];
}

/** Reads the build's record: its commit, and the versions of bundled packages. */
function readBuild(): { commit?: string; bundled: string[] } {
  return JSON.parse(readFileSync(packageFile('dist/build.json'), 'utf8')) as ReturnType<typeof readBuild>;
}

/** Versions of SQLite itself and of its driver. */
async function sqliteVersion(): Promise<string> {
  const { Sqlite, packageName } = await import('../lib/sqlite/database.ts');
  const db = new Sqlite(':memory:');
  const own = String(db.prepare('SELECT sqlite_version()').pluck().get());
  db.close();
  return `${own} (better-sqlite3 ${packageVersion(packageName)})`;
}

async function sharpVersion(): Promise<string> {
  const { versions: of } = (await import('sharp')).default;
  return `${of.sharp ?? '?'} (libvips ${of.vips})`;
}

function packageVersion(name: string): string {
  return (createRequire(import.meta.url)(`${name}/package.json`) as { version: string }).version;
}

function whyNot(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return `cannot be loaded: ${line}`;
}
