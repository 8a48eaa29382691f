/** `nightrender completion`: a script that has a shell complete what may be typed. */
import { basename } from 'node:path';
import { ConfigError } from '../lib/yaml/problem.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { writeOut } from '../terminal/console.ts';
import type { Command } from './command.ts';
import { bashScript } from './completion-bash.ts';
import { fishScript } from './completion-fish.ts';
import { completions, shells } from './completions.ts';
import { zshScript } from './completion-zsh.ts';
import { refuse } from './refuse.ts';

const scripts: Record<(typeof shells)[number], typeof bashScript> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** Resolves to the exit code. */
export function completion(shell: unknown, commands: [string, Command][]): number {
  const name = typeof shell === 'string' ? shell : basename(process.env['SHELL'] ?? '');
  const script = Object.entries(scripts).find(([each]) => each === name)?.[1];
  if (script === undefined) return refuse(noScript(name), undefined, false);
  writeOut(script(completions(commands)));
  return 0;
}

function noScript(name: string): ConfigError {
  const hint = didYouMean(name, shells) ?? `say one of ${shells.join(', ')}`;
  const what =
    name === '' ? 'SHELL does not say which shell' : `there is no script for ${JSON.stringify(name)}`;
  return new ConfigError([{ where: '', text: `${what}; ${hint}` }]);
}
