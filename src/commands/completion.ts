/** `nightrender completion`: a script that has a shell complete what may be typed. */
import { basename } from 'node:path';
import { ConfigError } from '../config/problem.ts';
import { closest } from '../core/closest.ts';
import { writeOut } from '../terminal/console.ts';
import type { Command } from './command.ts';
import { bashScript } from './completion-bash.ts';
import { fishScript } from './completion-fish.ts';
import { completions } from './completions.ts';
import { zshScript } from './completion-zsh.ts';
import { refuse } from './refuse.ts';

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** Resolves to the exit code. */
export function completion(shell: unknown, commands: [string, Command][]): number {
  const name = typeof shell === 'string' ? shell : basename(process.env['SHELL'] ?? '');
  const script = Object.entries(scripts).find(([each]) => each === name)?.[1];
  if (script === undefined) return refuse(noScript(name), undefined, false);
  writeOut(script(completions(commands)));
  return 0;
}

function noScript(name: string): ConfigError {
  const known = Object.keys(scripts);
  const meant = closest(name, known);
  const hint = meant === undefined ? `say one of ${known.join(', ')}` : `did you mean ${meant}?`;
  const what =
    name === '' ? 'SHELL does not say which shell' : `there is no script for ${JSON.stringify(name)}`;
  return new ConfigError([{ where: '', text: `${what}; ${hint}` }]);
}
