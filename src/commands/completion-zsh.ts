/** Completion for zsh. */
import type { CompletedCommand, CompletedOption } from './completions.ts';

export function zshScript(commands: CompletedCommand[]): string {
  return `#compdef nightrender
# nightrender in zsh: source <(nightrender completion zsh), after compinit
_nightrender() {
  if (( CURRENT == 2 )); then
    local -a commands=(
${commands.map(({ name, summary }) => `      ${quoted(`${name}:${summary}`)}`).join('\n')}
    )
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${commands.map(commandCase).join('\n')}
  esac
}
compdef _nightrender nightrender`;
}

function commandCase({ name, options, words }: CompletedCommand): string {
  const own = words.length === 0 ? "'*:file:_files'" : quoted(`1:word:(${words.join(' ')})`);
  return [
    `    ${name}) _arguments \\`,
    ...options.map((option) => `      ${optionSpec(option)} \\`),
    `      ${own} ;;`,
  ].join('\n');
}

/** An option may be given several times. */
function optionSpec({ name, describe, takes }: CompletedOption): string {
  const words = describe.replaceAll(/[[\]\\]/g, '\\$&').replaceAll(':', '\\:');
  if (takes === 'nothing') return quoted(`--${name}[${words}]`);
  const values = takes === 'file' ? '_files' : takes === 'text' ? ' ' : `(${takes.words.join(' ')})`;
  return quoted(`*--${name}=[${words}]:${name}:${values}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
