/** `nightrender completion`: prints a script that makes a shell complete commands, options and values. */
import { refuse } from './reply.ts';
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { packageFile } from '../lib/files/package-file.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { writeOut } from '../terminal/terminal.ts';
import { definitionOf, loadAll, type Commands, type LoadedCommand } from './command.ts';
import { failureRules } from '../runner/core/failure.ts';
import { rowKinds, rowStates } from '../runner/core/scene-record.ts';
import { keyKinds } from '../service/model/key.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

export const completionCommand: LoadedCommand = {
  purpose: `Prints a script that completes commands, options, states, kinds and files. The default shell is the one in SHELL.`,
  positionals: { shell: { type: 'string', describe: 'bash, zsh or fish' } },
  examples: [
    ['source <($0 completion bash)', 'in ~/.bashrc'],
    ['source <($0 completion zsh)', 'in ~/.zshrc, after compinit'],
    ['$0 completion fish | source', 'in ~/.config/fish/config.fish'],
  ],
  exits: { 'wrong-use': 'there is no script for this shell', complete: 'printed' },
  work: (argv, commands) => completion(argv['shell'], commands),
  words: shells,
};

const scripts: Record<(typeof shells)[number], typeof bashScript> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** Resolves to the exit code. */
async function completion(shell: unknown, commands: Commands): Promise<number> {
  const name = typeof shell === 'string' ? shell : basename(process.env['SHELL'] ?? '');
  const script = Object.entries(scripts).find(([each]) => each === name)?.[1];
  if (script === undefined) return refuse(noScript(name), undefined, false, undefined, true);
  // Shells run this at each start. The build prints the scripts in advance, so that no command is loaded.
  const printed = packageFile(`dist/completion/${name}`);
  writeOut(
    existsSync(printed) ? readFileSync(printed, 'utf8').trimEnd() : script(await completions(commands)),
  );
  return 0;
}

function noScript(name: string): ConfigError {
  const hint = didYouMean(name, shells) ?? `expected one of ${shells.join(', ')}`;
  const what = name === '' ? 'SHELL is not set' : `there is no script for ${JSON.stringify(name)}`;
  return new ConfigError([{ where: '', text: `${what}; ${hint}` }]);
}

/** Completion for bash, which splits `--option=value` into three words. */
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
    // If nothing is suggested, bash completes files.
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

interface CompletedCommand {
  name: string;
  summary: string;
  options: CompletedOption[];
  /** Possible values of the first argument; if empty, files are completed. */
  words: readonly string[];
}

interface CompletedOption {
  name: string;
  describe: string;
  takes: 'nothing' | 'file' | 'text' | { words: readonly string[] };
}

async function completions(commands: Commands): Promise<CompletedCommand[]> {
  return (await loadAll(commands)).map(({ name, ...command }) => ({
    name,
    summary: command.summary,
    words: command.words ?? [],
    options: [
      ...Object.entries(definitionOf(command).options).map(([option, { type, describe }]) => ({
        name: option,
        describe: describe.split('\n')[0] ?? '',
        takes: type === 'boolean' ? ('nothing' as const) : taken(name, option),
      })),
      { name: 'help', describe: 'show what it does, with examples', takes: 'nothing' as const },
    ],
  }));
}

const kinds: Record<string, readonly string[] | undefined> = {
  retry: Object.keys(failureRules),
  keys: keyKinds,
};

const files = new Set(['manifest', 'output', 'data', 'log', 'ids']);

function taken(command: string, option: string): CompletedOption['takes'] {
  if (option === 'state') return { words: rowStates };
  if (option === 'kind') return { words: kinds[command] ?? rowKinds };
  return files.has(option) ? 'file' : 'text';
}

function fishScript(commands: CompletedCommand[]): string {
  const first = commands.map(
    ({ name, summary }) =>
      `complete -c nightrender -n __fish_use_subcommand -f -a ${name} -d ${fishQuoted(summary)}`,
  );
  return [
    '# nightrender in fish: nightrender completion fish | source',
    ...first,
    ...commands.flatMap(fishLines),
  ].join('\n');
}

function fishLines({ name, options, words }: CompletedCommand): string[] {
  const at = `complete -c nightrender -n '__fish_seen_subcommand_from ${name}'`;
  const own = words.length === 0 ? [] : [`${at} -f -a '${words.join(' ')}'`];
  return [...own, ...options.map((option) => `${at} ${fishOption(option)}`)];
}

function fishOption({ name, describe, takes }: CompletedOption): string {
  const value =
    takes === 'nothing'
      ? ''
      : takes === 'file'
        ? ' -r'
        : takes === 'text'
          ? ' -x'
          : ` -x -a '${takes.words.join(' ')}'`;
  return `-l ${name}${value} -d ${fishQuoted(describe)}`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}

function zshScript(commands: CompletedCommand[]): string {
  return `#compdef nightrender
# nightrender in zsh: source <(nightrender completion zsh), after compinit
_nightrender() {
  if (( CURRENT == 2 )); then
    local -a commands=(
${commands.map(({ name, summary }) => `      ${zshQuoted(`${name}:${summary}`)}`).join('\n')}
    )
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${commands.map(zshCase).join('\n')}
  esac
}
compdef _nightrender nightrender`;
}

function zshCase({ name, options, words }: CompletedCommand): string {
  const own = words.length === 0 ? "'*:file:_files'" : zshQuoted(`1:word:(${words.join(' ')})`);
  return [
    `    ${name}) _arguments \\`,
    ...options.map((option) => `      ${zshOption(option)} \\`),
    `      ${own} ;;`,
  ].join('\n');
}

/** `*` lets an option be given several times. */
function zshOption({ name, describe, takes }: CompletedOption): string {
  const words = describe.replaceAll(/[[\]\\]/g, '\\$&').replaceAll(':', '\\:');
  if (takes === 'nothing') return zshQuoted(`--${name}[${words}]`);
  const values = takes === 'file' ? '_files' : takes === 'text' ? ' ' : `(${takes.words.join(' ')})`;
  return zshQuoted(`*--${name}=[${words}]:${name}:${values}`);
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
