/** Completion for fish. */
import type { CompletedCommand, CompletedOption } from './completions.ts';

export function fishScript(commands: CompletedCommand[]): string {
  const first = commands.map(
    ({ name, summary }) =>
      `complete -c nightrender -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
  );
  return [
    '# nightrender in fish: nightrender completion fish | source',
    ...first,
    ...commands.flatMap(linesOf),
  ].join('\n');
}

function linesOf({ name, options, words }: CompletedCommand): string[] {
  const at = `complete -c nightrender -n '__fish_seen_subcommand_from ${name}'`;
  const own = words.length === 0 ? [] : [`${at} -f -a '${words.join(' ')}'`];
  return [...own, ...options.map((option) => `${at} ${optionSpec(option)}`)];
}

function optionSpec({ name, describe, takes }: CompletedOption): string {
  const value =
    takes === 'nothing'
      ? ''
      : takes === 'file'
        ? ' -r'
        : takes === 'text'
          ? ' -x'
          : ` -x -a '${takes.words.join(' ')}'`;
  return `-l ${name}${value} -d ${quoted(describe)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}
