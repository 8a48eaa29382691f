/** Completion for bash. */
import type { CompletedCommand } from './completions.ts';

/** Of words that an `=` has split bash makes three. */
export function bashScript(commands: CompletedCommand[]): string {
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
