/** The command line: the table of commands, and how arguments become a call. Commands are loaded when they are called. */
import { existsSync, statSync } from 'node:fs';
import yargs from 'yargs';
import { pipelineIn } from '../lib/files/glob.ts';
import { endings } from '../runner/core/ending.ts';
import { wrapIndented } from '../terminal/fit-text.ts';
import { writeError, writeOut } from '../terminal/terminal.ts';
import {
  type Command,
  type Commands,
  declareCommand,
  definitionOf,
  exitCodes,
  type LoadedCommand,
  purpose,
  topicList,
} from './command.ts';
import { program } from '../lib/files/package-file.ts';
import { closest, didYouMean } from '../lib/text/closest.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { shellWord } from '../lib/text/format.ts';

/** All commands, in the order in which the help lists them. */
export const commands = {
  init: {
    group: 'Make',
    takes: '[dir]',
    summary: 'create a pipeline.yaml and a small manifest, or a service.yaml',
    load: async () => (await import('./init.ts')).initCommand,
  },
  plan: {
    group: 'Make',
    takes: '[pipeline..]',
    summary: 'show what a run would do and cost; sends nothing',
    load: async () => (await import('./plan.ts')).planCommand,
  },
  run: {
    group: 'Make',
    takes: '[pipeline..]',
    summary: 'start or resume a batch, or several one after the other',
    load: async () => (await import('./run.ts')).runCommand,
  },
  retry: {
    group: 'Make',
    takes: '[pipeline]',
    summary: 'give failed scenes new attempts',
    load: async () => (await import('./retry.ts')).retryCommand,
  },
  cancel: {
    group: 'Make',
    takes: '[pipeline]',
    summary: 'cancel the jobs in flight',
    load: async () => (await import('./cancel.ts')).cancelCommand,
  },
  submit: {
    group: 'Make',
    takes: '[pipeline]',
    summary: 'run a batch on Slurm or Kubernetes',
    load: async () => (await import('./submit.ts')).submitCommand,
  },
  status: {
    group: 'Watch',
    takes: '[pipeline]',
    summary: 'show the state of a batch, from any terminal',
    load: async () => (await import('./status.ts')).statusCommand,
  },
  watch: {
    group: 'Watch',
    takes: '[pipeline]',
    summary: 'watch a batch in the browser',
    load: async () => (await import('./watch.ts')).watchCommand,
  },
  list: {
    group: 'Choose',
    takes: '[pipeline]',
    summary: 'list scenes, one a line',
    load: async () => (await import('./list.ts')).listCommand,
  },
  explain: {
    group: 'Choose',
    takes: '[pipeline] [id]',
    summary: 'show one scene: attempts, pictures, failures, next step; or what a picture says of itself',
    load: async () => (await import('./explain.ts')).explainCommand,
  },
  export: {
    group: 'Choose',
    takes: '[pipeline] <dir>',
    summary: 'write pictures and clips as a dataset, or as a gallery to send to somebody',
    load: async () => (await import('./export.ts')).exportCommand,
  },
  report: {
    group: 'Keep',
    takes: '[pipeline]',
    summary: 'write the result files again from the checkpoint',
    load: async () => (await import('./report.ts')).reportCommand,
  },
  verify: {
    group: 'Keep',
    takes: '[pipeline]',
    summary: 'check every saved file; --repair puts scenes with bad files back',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  serve: {
    group: 'Serve',
    takes: '[service]',
    summary: 'run the job service: endpoints, workers, console',
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  work: {
    group: 'Serve',
    takes: '<service>',
    summary: 'run a worker on this machine, for a service elsewhere',
    load: async () => (await import('./work.ts')).workCommand,
  },
  keys: {
    group: 'Serve',
    takes: '<action> [name]',
    summary: 'add, list or revoke keys of the service',
    load: async () => (await import('./keys.ts')).keysCommand,
  },
  backup: {
    group: 'Serve',
    takes: '<dir>',
    summary: 'copy the data of the service, also while it runs',
    load: async () => (await import('./backup.ts')).backupCommand,
  },
  help: {
    group: 'More',
    takes: '[topic]',
    summary: 'list the topics of the manual, or print one',
    load: async () => (await import('./help.ts')).helpCommand,
  },
  schema: {
    group: 'More',
    takes: '[what]',
    summary: 'print the JSON Schema of pipeline.yaml, service.yaml or the --json lines',
    load: async () => (await import('./schema.ts')).schemaCommand,
  },
  completion: {
    group: 'More',
    takes: '[shell]',
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./completion.ts')).completionCommand,
  },
  man: {
    group: 'More',
    takes: '',
    summary: 'print the man page',
    load: async () => (await import('./man.ts')).manCommand,
  },
} as const satisfies Record<string, Command>;

export function commandList(): Commands {
  return Object.entries(commands);
}

export function commandNamed(name: string): Command | undefined {
  return commandList().find(([each]) => each === name)?.[1];
}

/** Earlier names of commands, which scripts still use. */
const formerNames: ReadonlyMap<string, string> = new Map([['inspect', 'explain']]);

/** Resolves to the exit code. */
export async function parseCommandLine([first = '', ...others]: string[]): Promise<number> {
  const given = first === '' ? [] : [formerNames.get(first) ?? first, ...others];
  const [version, ...more] = given.filter((name) => name !== '--json');
  if (more.length === 0 && /^(--version|-[vV])$/.test(version ?? '')) return printVersions(given.length > 1);
  const args = withHelp(given);
  if (isForHelp(args)) return printHelp();
  let chosen: Chosen | undefined;
  let loaded: Loaded = new Map();
  try {
    loaded = await loadNamed(args);
    assertSwitches(args, loaded);
    chosen = await choose(args, loaded);
  } catch (thrown) {
    if (!isWrongUse(thrown)) throw thrown;
    const { message } = thrown;
    const text = thrown instanceof Misparsed ? await explainWrongUse(message, args, loaded) : message;
    writeError(`${text}\nSee ${['nightrender', ...commandIn(args), '--help'].join(' ')}.`);
    return endings['wrong-use'].exitCode;
  }
  // Runs outside of the parser, so that an error of the command is never reported as wrong use.
  return (await chosen?.command.work(chosen.argv, commandList())) ?? 0;
}

/** Turns `help run` into `run --help`. `help` alone gets a topic, or the parser takes it for `--help`. */
function withHelp(given: string[]): string[] {
  const [first, named, ...others] = given;
  if (first !== 'help') return given;
  if (named === undefined) return [first, topicList];
  const topic = formerNames.get(named) ?? named;
  return commandNamed(topic) === undefined ? given : [topic, ...others, '--help'];
}

type Loaded = ReadonlyMap<string, LoadedCommand>;

/** Loads every command whose name is among the arguments. A value may have the name of a command, too. */
async function loadNamed(args: string[]): Promise<Loaded> {
  const loaded = new Map<string, LoadedCommand>();
  for (const name of args) {
    const command = commandNamed(name);
    if (command !== undefined) loaded.set(name, await command.load());
  }
  return loaded;
}

/** Returns undefined if help or the version was requested; the parser has printed it then. */
async function choose(args: string[], loaded: Loaded): Promise<Chosen | undefined> {
  const parser = baseParser(args, loaded);
  for (const [name, { takes }] of commandList()) {
    const command = loaded.get(name);
    const usage = `${name} ${takes}`.trimEnd();
    parser.command(
      usage,
      // `printHelp` lists all commands.
      false,
      (own) => {
        if (command === undefined) return;
        declareCommand(own, usage, command);
        // `withPipeline` refuses words that are too many.
        if (takes.startsWith('[pipeline')) own.strict(false).strictOptions();
      },
      (argv) => {
        if (command === undefined) return;
        throw new Chosen(command, takes.startsWith('[pipeline') ? withPipeline(name, takes, argv) : argv);
      },
    );
  }
  try {
    await parser.parseAsync();
  } catch (thrown) {
    if (thrown instanceof Chosen) return thrown;
    throw thrown;
  }
  return undefined;
}

/** The chosen command, thrown out of the parser: yargs would build its complete help after a return. */
class Chosen {
  readonly command: LoadedCommand;
  readonly argv: Record<string, unknown>;

  constructor(command: LoadedCommand, argv: Record<string, unknown>) {
    this.command = command;
    this.argv = argv;
  }
}

/** Fills in the current folder's pipeline.yaml. Of two arguments, a single word is the second one. */
function withPipeline(name: string, takes: string, argv: Record<string, unknown>): Record<string, unknown> {
  const second = /[[<](id|dir)/.exec(takes)?.[1];
  const last = second === undefined ? undefined : [argv[second]].flat().at(-1);
  const others = last === undefined ? [] : [last];
  const first = [argv['pipeline'] ?? []].flat();
  // The parser assigns words to required arguments first.
  const named = takes.endsWith('>') ? [...others, ...first] : [...first, ...others];
  const words = [...named, ...[argv['_'] ?? []].flat().slice(1)].map((word) =>
    String(word as string | number),
  );
  if (second === 'id' && words.length > 0 && words.every(isPicture)) return { ...argv, pictures: words };
  const takesMore = takes === '[pipeline..]';
  const tooMany = takesMore ? undefined : words[second === undefined ? 1 : 2];
  if (tooMany !== undefined) throw new WrongUse(`${name} does not take ${JSON.stringify(tooMany)}.`);
  const isShort = second !== undefined && words.length === 1 && !isPipeline(words[0] ?? '');
  const [given, other] = isShort ? [undefined, ...words] : words;
  if (second === 'dir' && other === undefined) throw new WrongUse(noFolder(name));
  if (given === undefined && !existsSync(pipelineFile))
    throw new WrongUse(`${noPipeline} There is none in this folder.`);
  const pipeline = given === undefined ? pipelineFile : takesMore ? words : given;
  return { ...argv, pipeline, ...(second !== undefined && { [second]: other }) };
}

/** True for a path that ends in .yaml or .yml, and for a folder that has a pipeline.yaml. */
function isPipeline(word: string): boolean {
  return /\.ya?ml$/i.test(word) || pipelineIn(word) !== word;
}

/** True for the file of a picture. Without a batch in this folder, a file that is missing counts too. */
function isPicture(word: string): boolean {
  if (!/\.(png|jpe?g|webp|avif)\b/i.test(word)) return false;
  return statSync(word, { throwIfNoEntry: false })?.isFile() ?? !existsSync(pipelineFile);
}

/** Columns of the help. */
const helpColumns = Math.min(100, process.stdout.columns || 100);
/** Columns of the names and arguments of commands. */
const nameColumns = 27;

/** True if the help of the program is wanted, not that of a command. */
function isForHelp(args: string[]): boolean {
  return (
    args.some((arg) => /^(--help|-h)$/.test(arg)) && !args.some((arg) => commandNamed(arg) !== undefined)
  );
}

/** Prints the help with the commands by group, because the parser knows groups of options only. */
async function printHelp(): Promise<number> {
  const text = await baseParser([], new Map()).getHelp();
  writeOut(text.replace('\nOptions:', (options) => `${groupedCommands()}\n${options}`));
  return 0;
}

function groupedCommands(): string {
  let last: string | undefined;
  const lines = commandList().flatMap(([name, { group, takes, summary }]) => {
    const head = group === last ? [] : ['', `${group}:`];
    last = group;
    return [...head, ...wrapIndented(`  ${name} ${takes}`, summary, helpColumns, nameColumns)];
  });
  return lines.join('\n');
}

function baseParser(args: string[], loaded: Loaded) {
  const names = commandList().map(([name]) => name);
  return yargs(args)
    .scriptName('nightrender')
    .locale('en')
    .updateStrings({ 'Not enough arguments following: %s': '--%s needs a value.' })
    .usage(`$0 <command>\n\n${purpose}`)
    .version(program)
    .help()
    .alias('h', 'help')
    .demandCommand(1, `Specify a command: ${names.join(', ')}.`)
    .strict()
    .parserConfiguration({ 'populate--': loaded.get(args[0] ?? '')?.takesRest === true })
    .example('$0 run pipeline.yaml', 'start or resume a batch')
    .example('$0 status pipeline.yaml --watch', 'watch it from another terminal')
    .example('$0 <command> --help', 'what a command does, with examples')
    .example('$0 help', 'the topics of the manual')
    .epilogue(exitCodes())
    .wrap(helpColumns)
    .exitProcess(false)
    .fail((message, error) => {
      throw error ?? new Misparsed(message);
    });
}

/** Prints the bare version on the first line, which scripts read, and the versions of the parts below. */
async function printVersions(isJson: boolean): Promise<number> {
  const [{ versions }, { proxyRules, shownProxy }] = await Promise.all([
    import('./command.ts'),
    import('../lib/net/addresses.ts'),
  ]);
  const parts = await versions();
  const { http, https, except } = proxyRules(process.env);
  const proxy = {
    https: https === undefined ? null : shownProxy(https),
    http: http === undefined ? null : shownProxy(http),
    except,
  };
  if (isJson) {
    const { writeJsonLine } = await import('../terminal/terminal.ts');
    writeJsonLine('versions', { program, parts: Object.fromEntries(parts), proxy });
    return 0;
  }
  const used = Object.entries(proxy).filter(([, value]) => value !== null && value.length > 0);
  const shown = used.map(([name, value]) => `${name} ${[value].flat().join(',')}`).join('; ');
  const rows = [...parts, ...(shown === '' ? [] : [['proxy', shown]])];
  writeOut([program, ...rows.map(([name = '', text = '']) => `${name.padEnd(10)}${text}`)].join('\n'));
  return 0;
}

/** True for errors about the command line. The parser doesn't export its error class, so its name is compared. */
function isWrongUse(thrown: unknown): thrown is Error {
  return thrown instanceof WrongUse || (thrown instanceof Error && thrown.name === 'YError');
}

function commandIn([first = '']: string[]): string[] {
  return commandNamed(first) === undefined ? [] : [first];
}

const pipelineFile = 'pipeline.yaml';
const noFolder = (command: string): string => `Specify a folder for the ${command}.`;
const noPipeline = `Specify a ${pipelineFile}.`;

/** Wrong use of the command line; the message suggests what was probably meant. */
class WrongUse extends Error {}

/** Wrong use in the parser's own words. */
class Misparsed extends WrongUse {}

/** Rewrites the parser's message, which counts unnamed arguments and suggests nothing. */
async function explainWrongUse(message: string, args: string[], loaded: Loaded): Promise<string> {
  if (message.startsWith('Specify a command') && args[0]?.startsWith('-'))
    return (await unknownIn(args, loaded)) ?? message;
  if (message.startsWith('Not enough non-option arguments')) return missingIn(args, loaded);
  return /^Unknown (argument|command)/.test(message)
    ? ((await unknownIn(args, loaded)) ?? tooMuch(message, args))
    : message;
}

function missingIn([name = '']: string[], loaded: Loaded): string {
  const words = loaded.get(name)?.words;
  if (words !== undefined) return `Specify a command: ${words.join(', ')}.`;
  const takes = commandNamed(name)?.takes ?? '';
  return takes.endsWith('<dir>') ? noFolder(name) : noPipeline;
}

/** Throws for `--switch=text` unless the text is true or false: the parser reads any other text as false. */
function assertSwitches(args: string[], loaded: Loaded): void {
  const switches = new Set(
    optionsOf(loaded.get(args[0] ?? ''))
      .filter(([, { type }]) => type === 'boolean')
      .map(([name]) => name),
  );
  for (const arg of beforeDashes(args)) {
    const [, name = '', text = ''] = /^--([^=]+)=([^]*)$/.exec(arg) ?? [];
    if (switches.has(kebab(name)) && text !== 'true' && text !== 'false')
      throw new WrongUse(`--${name} is ${JSON.stringify(text)}; expected true, false or no value.`);
  }
}

async function unknownIn(args: string[], loaded: Loaded): Promise<string | undefined> {
  const [first = ''] = args;
  const command = loaded.get(first);
  if (command === undefined && !first.startsWith('-')) {
    const file = await hintOfFile(first);
    if (file !== undefined) return file;
    const names = commandList().map(([name]) => name);
    const hint = didYouMean(first, names) ?? `there are ${names.join(', ')}`;
    return `${JSON.stringify(first)} is not a command; ${hint}`;
  }
  const of = command === undefined ? '' : ` of ${first}`;
  const known = [...optionsOf(command).map(([name]) => name), 'help', 'version'];
  const isKnown = (name: string): boolean => known.includes(kebab(name).replace(/^no-/, '')) || name === 'h';
  const names = beforeDashes(args).flatMap((arg) => /^--?([^=]+)/.exec(arg)?.[1] ?? []);
  const unknown = names.find((name) => !isKnown(name));
  if (unknown === undefined) return undefined;
  const instead = removed.get(`${first} --${unknown}`);
  if (instead !== undefined) return `${first} no longer has --${unknown}: ${instead}.`;
  const meant = closest(unknown, known);
  const hint =
    meant === undefined
      ? `there are ${known.map((name) => `--${name}`).join(', ')}`
      : `did you mean --${meant}?`;
  return `--${unknown} is not an option${of}; ${hint}`;
}

/** Advice for a file that is given instead of a command. Undefined if the file isn't ours. */
async function hintOfFile(word: string): Promise<string | undefined> {
  const file = pipelineIn(word);
  if (!existsSync(file) || statSync(file).isDirectory()) return undefined;
  // The parser of YAML takes a third of the time that the help needs.
  const { isPipelineFile, readYamlFile } = await import('../lib/yaml/yaml-file.ts');
  try {
    const text = `${word} is a batch; start it with \`nightrender run ${shellWord(word)}\`.`;
    return isPipelineFile(readYamlFile(file, {}).value) ? text : undefined;
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    return / this is a /.test(thrown.message) ? `${thrown.message}.` : undefined;
  }
}

/** Options that earlier versions had, with their replacement. */
const removed: ReadonlyMap<string, string> = new Map([
  ['report --contact-sheet', 'the gallery, report/index.html, shows all pictures'],
  ['serve --faults', 'it was only for tests and has no replacement'],
]);

function tooMuch(message: string, [first = '']: string[]): string {
  const [, words = ''] = /^[^:]*: ([^]*)$/.exec(message) ?? [];
  return `${first} does not take ${words
    .split(', ')
    .map((word) => JSON.stringify(word))
    .join(', ')}.`;
}

function optionsOf(command: LoadedCommand | undefined) {
  return command === undefined ? [] : Object.entries(definitionOf(command).options);
}

function beforeDashes(args: string[]): string[] {
  const end = args.indexOf('--');
  return end === -1 ? args : args.slice(0, end);
}

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
