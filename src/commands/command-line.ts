/** The command line: from arguments to a command's work. Commands are loaded when they are called. */
import yargs from 'yargs';
import type { BatchLock } from '../runner/checkpoint/batch-lock.ts';
import { endings } from '../runner/core/ending.ts';
import { writeError, writeOut } from '../terminal/console.ts';
import { exitCodes } from './exit-codes.ts';
import type { Command } from './command.ts';
import { commandList, commandNamed } from './command-table.ts';
import { topicList } from './help-topics.ts';
import { program, purpose } from './version.ts';
import { assertSwitches, inWords, WrongUse } from './wrong-use.ts';

/** Resolves to the exit code. `early`: the lock of the batch that is asked for, where it was taken already. */
export async function parseCommandLine(given: string[], early?: BatchLock): Promise<number> {
  if (given.length === 1 && given[0] === '--version') return showVersions();
  const args = withHelp(given);
  let chosen: Chosen | undefined;
  try {
    assertSwitches(args);
    chosen = await choose(args);
  } catch (thrown) {
    if (!isWrongUse(thrown)) throw thrown;
    writeError(`${thrown.message}\nSee ${['nightrender', ...commandIn(args), '--help'].join(' ')}.`);
    return endings['wrong-use'].exitCode;
  }
  // Outside of the parser: what goes wrong in a command is never taken for wrong use of the command line.
  return (await chosen?.command.work(chosen.argv, early)) ?? 0;
}

/** `nightrender help run` is `nightrender run --help`; the parser would take `help` alone for `--help`. */
function withHelp(given: string[]): string[] {
  const [first, topic] = given;
  if (first !== 'help') return given;
  if (topic === undefined) return [first, topicList];
  return commandNamed(topic) === undefined ? given : [...given.slice(1), '--help'];
}

/** Undefined where help or the version was asked for: nothing is left to do then. */
async function choose(args: string[]): Promise<Chosen | undefined> {
  const parser = baseParser(args);
  for (const [name, command] of commandList()) {
    const usage = command.takes === '' ? name : `${name} ${command.takes}`;
    parser.command(
      usage,
      command.summary,
      (own) => void command.options(own),
      (argv) => {
        throw new Chosen(command, argv);
      },
    );
  }
  try {
    await parser.parseAsync();
  } catch (thrown) {
    if (thrown instanceof Chosen) return thrown;
    throw thrown;
  }
  return undefined;
}

/**
 * The command that the arguments ask for. It is thrown, since after a command that returns the parser sets its whole help,
 * which nobody sees and which takes longer than `status` takes to look at a hundred thousand scenes.
 */
class Chosen {
  readonly command: Command;
  readonly argv: Record<string, unknown>;

  constructor(command: Command, argv: Record<string, unknown>) {
    this.command = command;
    this.argv = argv;
  }
}

function baseParser(args: string[]) {
  const names = commandList().map(([name]) => name);
  return yargs(args)
    .scriptName('nightrender')
    .locale('en')
    .updateStrings({ 'Not enough arguments following: %s': '--%s needs a value.' })
    .usage(`$0 <command>\n\n${purpose}`)
    .version(program)
    .help()
    .alias('h', 'help')
    .demandCommand(1, `Say what to do: ${names.join(', ')}.`)
    .strict()
    .example('$0 run pipeline.yaml', 'start a batch, or go on with it')
    .example('$0 status pipeline.yaml --watch', 'watch it from another terminal')
    .example('$0 <command> --help', 'what a command does, with examples')
    .example('$0 help', 'the topics of the manual')
    .epilogue(exitCodes())
    .wrap(Math.min(100, process.stdout.columns || 100))
    .exitProcess(false)
    .fail((message, error) => {
      throw error ?? new WrongUse(inWords(message, args));
    });
}

/** The first line alone is what it always was, for scripts. */
async function showVersions(): Promise<number> {
  const { versions } = await import('./versions.ts');
  const rows = versions().map(([name, version]) => `${name.padEnd(10)}${version}`);
  writeOut([program, ...rows].join('\n'));
  return 0;
}

/** The parser's own errors are told by their name alone: it does not export their class. */
function isWrongUse(thrown: unknown): thrown is Error {
  return thrown instanceof WrongUse || (thrown instanceof Error && thrown.name === 'YError');
}

/** The command's name, where it is known. */
function commandIn([first = '']: string[]): string[] {
  return commandNamed(first) === undefined ? [] : [first];
}
