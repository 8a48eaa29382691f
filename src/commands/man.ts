/** `nightrender man`: prints the man page, generated from the definitions of the commands. */
import { writeOut } from '../terminal/terminal.ts';
import { type Commands, definitionOf, exitCodes, loadAll, type LoadedCommand, purpose } from './command.ts';
import { program } from '../lib/files/package-file.ts';

export const manCommand: LoadedCommand = {
  purpose: `Prints the man page: every command and its options. A global installation includes it. For the manual, see nightrender help.`,
  examples: [['$0 man | man -l -', 'read it']],
  exits: { complete: 'printed' },
  work: (_, commands) => man(commands),
};

/** Resolves to the exit code. */
async function man(commands: Commands): Promise<number> {
  writeOut(manPage(await loadAll(commands)));
  return 0;
}

type Described = Awaited<ReturnType<typeof loadAll>>[number];

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
  const { positionals, options, epilogue } = definitionOf(command);
  return [
    `.SS nightrender ${command.name} ${escaped(command.takes)}`,
    paragraph(command.purpose),
    ...Object.entries(positionals).flatMap(([name, { describe }]) => [
      '.TP',
      `.I ${escaped(name)}`,
      escaped(describe),
    ]),
    ...Object.entries(options).flatMap(([name, { type, describe, default: byDefault }]) => [
      '.TP',
      bold(`--${name}`, type === 'boolean' ? '' : name.toUpperCase()),
      escaped(`${describe}${byDefault === undefined ? '' : ` (${byDefault})`}`.replaceAll('\n', ' ')),
    ]),
    '.P',
    'Examples:',
    ...command.examples.flatMap((texts) => {
      const [line, why] = texts.map((text) => escaped(text.replaceAll('$0', 'nightrender')));
      return ['.TP', `.B ${line}`, why ?? ''];
    }),
    ...epilogue
      .split('\n\n')
      .flatMap((part) => (part.startsWith('Exit codes') ? table(part) : [paragraph(part)])),
  ];
}

/** Formats a heading and lines without filling them. */
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

/** Escapes text for roff. A leading point or quote would start a request, and some versions only read ASCII. */
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
