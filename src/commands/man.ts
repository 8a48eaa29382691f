/** `nightrender man`: the manual page, made from what the commands say of themselves. */
import { writeOut } from '../terminal/console.ts';
import { definitionOf, type LoadedCommand } from './command.ts';
import { loadAll } from './command-table.ts';
import { exitCodes } from './exit-codes.ts';
import { program, purpose } from './version.ts';
import type { Argv } from 'yargs';

export const manCommand: LoadedCommand = {
  options: manOptions,
  work: () => man(),
};

function manOptions(parser: Argv) {
  const means = `Prints the man page: every command and its options. A global installation includes it. For the manual, see nightrender help.`;
  return parser
    .usage(`$0 man\n\n${means}`)
    .example('$0 man | man -l -', 'read it')
    .epilogue(exitCodes({ complete: 'printed' }));
}

/** Resolves to the exit code. */
async function man(): Promise<number> {
  writeOut(manPage(await loadAll()));
  return 0;
}

type Described = Awaited<ReturnType<typeof loadAll>>[number];

/** In the language of man(7); a dozen kinds of line are all it takes. */
function manPage(commands: Described[]): string {
  return [
    `.TH NIGHTRENDER 1 "" ${quoted(program)} "User Commands"`,
    '.SH NAME',
    `nightrender \\- ${escaped(purpose.replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    ...commands.flatMap(({ name, takes }) => ['.br', bold(`nightrender ${name}`, takes)]),
    '.SH DESCRIPTION',
    '.TP\n.B nightrender --version\nprints the versions of the program and its parts.',
    '.TP\n.B nightrender <command> --help\nprints the help of a command.',
    '.TP\n.B nightrender help [topic]\nprints a page of the manual, or lists its topics.',
    '.SH COMMANDS',
    ...commands.flatMap(commandPart),
    '.SH EXIT STATUS',
    ...table(exitCodes()),
  ].join('\n');
}

function commandPart(command: Described): string[] {
  const { purpose: what, positionals, options, examples, epilogue } = definitionOf(command);
  return [
    `.SS nightrender ${command.name} ${escaped(command.takes)}`,
    paragraph(what),
    ...positionals.flatMap((each) => ['.TP', `.I ${escaped(each.name)}`, escaped(each.describe)]),
    ...options.flatMap(({ name: option, isSwitch, describe, byDefault }) => [
      '.TP',
      bold(`--${option}`, isSwitch ? '' : option.toUpperCase()),
      escaped(`${describe}${byDefault === undefined ? '' : ` (${byDefault})`}`.replaceAll('\n', ' ')),
    ]),
    ...(examples.length === 0 ? [] : ['.P', 'Examples:']),
    ...examples.flatMap(({ line, why }) => ['.TP', `.B ${escaped(line)}`, escaped(why)]),
    ...epilogue
      .split('\n\n')
      .flatMap((part) => (part.startsWith('Exit codes') ? table(part) : [paragraph(part)])),
  ];
}

/** A head and lines as they stand. */
function table(text: string): string[] {
  const [head = '', ...lines] = text.split('\n');
  return ['.P', escaped(head), '.RS', '.nf', ...lines.map((line) => escaped(line.trimStart())), '.fi', '.RE'];
}

function paragraph(text: string): string {
  return text === '' ? '' : `.P\n${escaped(text)}`;
}

function bold(text: string, then: string): string {
  return `\\fB${escaped(text)}\\fR${then === '' ? '' : ` \\fI${escaped(then)}\\fR`}`;
}

function quoted(text: string): string {
  return `"${escaped(text).replaceAll('"', '\\(dq')}"`;
}

/** A point or a quote at the beginning of a line would be a request; other letters than ASCII have no place in some. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1')
    .replaceAll(
      /[^\x20-\x7e\n]/gu,
      (letter) => `\\[u${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}
