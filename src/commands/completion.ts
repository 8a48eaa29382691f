/** `nightrender completion`: a script that has a shell complete what may be typed. */
import { basename } from 'node:path';
import { ConfigError } from '../lib/yaml/problem.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { writeOut } from '../terminal/console.ts';
import type { Command } from './command.ts';
import { completions, shells, type CompletedCommand, type CompletedOption } from './completions.ts';
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

/** Completion for fish. */
function fishScript(commands: CompletedCommand[]): string {
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

/** Of words that an `=` has split bash makes three. */
function bashScript(commands: CompletedCommand[]): string {
  return `# nightrender in bash: source <(nightrender completion bash)
_nightrender() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  COMPREPLY=()
  if [[ $COMP_CWORD == 1 ]]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')} --help --version' -- "$cur"))
    return
  fi
  case "$command $prev" in
${commands.flatMap(valueCases).join('\n')}
  esac
  case "$command" in
${commands.map(optionCase).join('\n')}
  esac
}
complete -o bashdefault -o default -F _nightrender nightrender`;
}

function valueCases({ name, options }: CompletedCommand): string[] {
  return options.flatMap((option) => {
    const at = `    '${name} --${option.name}')`;
    if (option.takes === 'nothing') return [];
    // Without an answer bash completes files.
    if (typeof option.takes === 'string') return [`${at} return ;;`];
    return [`${at} COMPREPLY=($(compgen -W '${option.takes.words.join(' ')}' -- "$cur")); return ;;`];
  });
}

function optionCase({ name, options, words }: CompletedCommand): string {
  const dashed = options.map((option) => `--${option.name}`).join(' ');
  const first =
    words.length === 0
      ? ''
      : ` elif [[ $COMP_CWORD == 2 ]]; then COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$cur"));`;
  return `    ${name}) if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '${dashed}' -- "$cur"));${first} fi ;;`;
}
