/** What is known of a command before it is called, and what its options say to completion, manual page and hints. */
import type { Argv, Options, PositionalOptions } from 'yargs';
import type { BatchLock } from '../runner/checkpoint/batch-lock.ts';

export interface Command {
  /** Its arguments, as the parser writes them: `<pipeline>`. */
  takes: string;
  summary: string;
  load: () => Promise<LoadedCommand>;
}

export interface LoadedCommand {
  options: (parser: Argv) => unknown;
  /** Words that its first argument may be, for completion. */
  words?: readonly string[];
  /** Up to the exit code. `early`: the lock of the batch, where it was taken already. */
  work: (argv: Record<string, unknown>, early: BatchLock | undefined) => Promise<number> | number;
}

/** What `help` is called with where no topic is given: the parser would take `help` alone for `--help`. */
export const topicList = 'topics';

export interface CommandDefinition {
  /** What it is for, in a paragraph. */
  purpose: string;
  positionals: { name: string; describe: string }[];
  options: { name: string; isSwitch: boolean; describe: string; byDefault: string | undefined }[];
  examples: { line: string; why: string }[];
  epilogue: string;
}

/** The options speak to a parser that only listens. */
export function definitionOf({ options }: LoadedCommand): CommandDefinition {
  const said: CommandDefinition = { purpose: '', positionals: [], options: [], examples: [], epilogue: '' };
  const listener = {
    usage: (text: string) => {
      said.purpose = text.split('\n\n').slice(1).join('\n\n');
      return listener;
    },
    positional: (name: string, { describe }: PositionalOptions) => {
      said.positionals.push({ name, describe: wordsOf(describe) });
      return listener;
    },
    option: (name: string, { type, describe, default: byDefault }: Options) => {
      said.options.push({
        name,
        isSwitch: type === 'boolean',
        describe: wordsOf(describe),
        byDefault: byDefault === undefined ? undefined : String(byDefault),
      });
      return listener;
    },
    options: (several: Record<string, Options>) => {
      for (const [name, each] of Object.entries(several)) listener.option(name, each);
      return listener;
    },
    example: (line: string, why: string) => {
      said.examples.push({
        line: line.replaceAll('$0', 'nightrender'),
        why: why.replaceAll('$0', 'nightrender'),
      });
      return listener;
    },
    epilogue: (text: string) => {
      said.epilogue = text;
      return listener;
    },
  };
  options(listener as unknown as Argv);
  return said;
}

function wordsOf(describe: unknown): string {
  return typeof describe === 'string' ? describe : '';
}
