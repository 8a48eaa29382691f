/** What may be typed after `nightrender`, as the commands define it. */
import { failureRules } from '../runner/core/failure.ts';
import { rowKinds, rowStates } from '../runner/core/report-row.ts';
import { keyKinds } from '../service/keys/key.ts';
import { definitionOf } from './command-definition.ts';
import type { Command } from './command.ts';
import { helpTopics } from './help-topics.ts';
import { keyActions } from './key-actions.ts';
import { schemaNames } from './schema-names.ts';

export interface CompletedCommand {
  name: string;
  summary: string;
  options: CompletedOption[];
  /** Words that its first argument may be; files where empty. */
  words: readonly string[];
}

export interface CompletedOption {
  /** Without dashes. */
  name: string;
  describe: string;
  takes: 'nothing' | 'file' | 'text' | { words: readonly string[] };
}

export function completions(commands: [string, Command][]): CompletedCommand[] {
  return commands.map(([name, command]) => ({
    name,
    summary: command.summary,
    words: words[name] ?? [],
    options: [
      ...definitionOf(command).options.map((option) => ({
        name: option.name,
        describe: option.describe.split('\n')[0] ?? '',
        takes: option.isSwitch ? ('nothing' as const) : taken(name, option.name),
      })),
      { name: 'help', describe: 'show what it does, with examples', takes: 'nothing' as const },
    ],
  }));
}

/** That a script is printed for. */
export const shells = ['bash', 'zsh', 'fish'] as const;

const words: Record<string, readonly string[] | undefined> = {
  completion: shells,
  help: helpTopics,
  keys: keyActions,
  schema: schemaNames,
};

const kinds: Record<string, readonly string[] | undefined> = {
  retry: Object.keys(failureRules),
  keys: keyKinds,
};

const files = new Set(['manifest', 'output', 'data', 'log']);

function taken(command: string, option: string): CompletedOption['takes'] {
  if (option === 'state') return { words: rowStates };
  if (option === 'kind') return { words: kinds[command] ?? rowKinds };
  return files.has(option) ? 'file' : 'text';
}
