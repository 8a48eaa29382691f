/** Wrong use of the command line, in words, with what was probably meant. */
import { closest, didYouMean } from '../lib/text/closest.ts';
import { definitionOf } from './command-definition.ts';
import type { Command } from './command.ts';
import { commandList, commandNamed } from './command-table.ts';
import { keyActions } from './key-actions.ts';

export class WrongUse extends Error {}

/** What the parser found wrong: it counts arguments without a name, and does not know what was meant. */
export function inWords(message: string, args: string[]): string {
  if (message.startsWith('Not enough non-option arguments'))
    return missing[commandOf(args)?.takes.split(' ')[0] ?? ''] ?? 'Say which pipeline.yaml.';
  return /^Unknown (argument|command)/.test(message) ? (unknownIn(args) ?? tooMuch(message, args)) : message;
}

/** By what a command takes first. */
const missing: Record<string, string | undefined> = {
  '<picture>': 'Say which picture.',
  '<action>': `Say what to do: ${keyActions.join(', ')}.`,
};

/** The parser takes every text but `true` for false. */
export function assertSwitches(args: string[]): void {
  const switches = new Set(
    optionsOf(commandOf(args))
      .filter(({ isSwitch }) => isSwitch)
      .map(({ name }) => name),
  );
  for (const arg of beforeDashes(args)) {
    const [, name = '', text = ''] = /^--([^=]+)=([^]*)$/.exec(arg) ?? [];
    if (switches.has(kebab(name)) && text !== 'true' && text !== 'false')
      throw new WrongUse(`--${name} is ${JSON.stringify(text)}; expected true, false or no value.`);
  }
}

function unknownIn(args: string[]): string | undefined {
  const command = commandOf(args);
  const [first = ''] = args;
  if (command === undefined && !first.startsWith('-')) {
    const names = commandList().map(([name]) => name);
    const hint = didYouMean(first, names) ?? `there are ${names.join(', ')}`;
    return `${JSON.stringify(first)} is no command; ${hint}`;
  }
  const of = command === undefined ? '' : ` of ${first}`;
  const known = [...optionsOf(command).map(({ name }) => name), 'help', 'version'];
  const isKnown = (name: string): boolean => known.includes(kebab(name).replace(/^no-/, '')) || name === 'h';
  const names = beforeDashes(args).flatMap((arg) => /^--?([^=]+)/.exec(arg)?.[1] ?? []);
  const unknown = names.find((name) => !isKnown(name));
  if (unknown === undefined) return undefined;
  const meant = closest(unknown, known);
  const hint =
    meant === undefined
      ? `there are ${known.map((name) => `--${name}`).join(', ')}`
      : `did you mean --${meant}?`;
  return `--${unknown} is no option${of}; ${hint}`;
}

function tooMuch(message: string, [first = '']: string[]): string {
  const [, words = ''] = /^[^:]*: ([^]*)$/.exec(message) ?? [];
  return `${JSON.stringify(words)} is more than ${first} takes.`;
}

function commandOf([first = '']: string[]): Command | undefined {
  return commandNamed(first);
}

function optionsOf(command: Command | undefined): { name: string; isSwitch: boolean }[] {
  return command === undefined ? [] : definitionOf(command).options;
}

function beforeDashes(args: string[]): string[] {
  const end = args.indexOf('--');
  return end === -1 ? args : args.slice(0, end);
}

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
