/** The command line: from arguments to a command's work. Commands are loaded when they are called. */
import yargs from 'yargs';
import type { BatchLock } from '../checkpoint/batch-lock.ts';
import { endings } from '../core/ending.ts';
import { writeError } from '../terminal/console.ts';
import {
  cancelOptions,
  exitCodes,
  explainOptions,
  listOptions,
  planOptions,
  reportOptions,
  retryOptions,
  runOptions,
  schemaOptions,
  serveOptions,
  statusOptions,
  verifyOptions,
  watchOptions,
} from './command-options.ts';
import { optionRules } from './run-options.ts';
import { program } from './version.ts';

/** Resolves to the exit code. `early`: the lock of the batch that is asked for, where it was taken already. */
export async function parseCommandLine(args: string[], early?: BatchLock): Promise<number> {
  let work: Work;
  try {
    assertSwitches(args);
    work = await workOf(args, early);
  } catch (thrown) {
    if (!isWrongUse(thrown)) throw thrown;
    writeError(`${thrown.message}\nSee ${['nightrender', ...commandIn(args), '--help'].join(' ')}.`);
    return endings['wrong-use'].exitCode;
  }
  // Outside of the parser: what goes wrong in a command is never taken for wrong use of the command line.
  return await work();
}

/** What a command does, up to its exit code. */
type Work = () => Promise<number> | number;

async function workOf(args: string[], early: BatchLock | undefined): Promise<Work> {
  // Where help or the version was asked for, no command is chosen and nothing is left to do.
  let work: Work = () => 0;
  const parser = baseParser(args)
    .command('run <pipeline>', summaries.run, runOptions, (argv) => {
      work = async () => (await import('./run.ts')).run(argv.pipeline, argv, early);
    })
    .command('plan <pipeline>', summaries.plan, planOptions, (argv) => {
      work = async () => (await import('./plan.ts')).plan(argv.pipeline, argv);
    })
    .command('status <pipeline>', summaries.status, statusOptions, (argv) => {
      work = async () => (await import('./status.ts')).status(argv.pipeline, argv);
    })
    .command('list <pipeline>', summaries.list, listOptions, (argv) => {
      work = async () => (await import('./list.ts')).list(argv.pipeline, argv);
    })
    .command('explain <pipeline> <id>', summaries.explain, explainOptions, (argv) => {
      work = async () => (await import('./explain.ts')).explain(argv.pipeline, argv.id, argv);
    })
    .command('watch <pipeline>', summaries.watch, watchOptions, (argv) => {
      work = async () => (await import('./watch.ts')).watch(argv.pipeline, argv);
    })
    .command('report <pipeline>', summaries.report, reportOptions, (argv) => {
      work = async () => (await import('./report.ts')).report(argv.pipeline, argv);
    })
    .command('verify <pipeline>', summaries.verify, verifyOptions, (argv) => {
      work = async () => (await import('./verify.ts')).verify(argv.pipeline, argv);
    })
    .command('retry <pipeline>', summaries.retry, retryOptions, (argv) => {
      work = async () => (await import('./retry.ts')).retry(argv.pipeline, argv);
    })
    .command('cancel <pipeline>', summaries.cancel, cancelOptions, (argv) => {
      work = async () => (await import('./cancel.ts')).cancel(argv.pipeline, argv);
    })
    .command('schema [what]', summaries.schema, schemaOptions, (argv) => {
      work = async () => (await import('./schema.ts')).schema(argv.what);
    })
    .command('serve', summaries.serve, serveOptions, (argv) => {
      work = async () => (await import('./serve.ts')).serve(argv);
    });
  await parser.parseAsync();
  return work;
}

const summaries = {
  plan: 'what a run would do, cost and take; nothing is sent',
  run: 'start or continue a batch',
  status: 'where a batch stands, from any terminal',
  list: 'the scenes, all or some, one a line',
  explain: 'one scene: its attempts, pictures and failures, and what happens next',
  watch: 'a page in the browser on which a batch can be watched',
  report: 'write the result files anew from the checkpoint',
  verify: 'look at every saved picture; --repair puts back what is missing or damaged',
  retry: 'put scenes that were set aside back to be rendered again',
  cancel: 'have the service cancel what is in flight',
  schema: 'print the JSON Schema of pipeline.yaml, or of the lines of --json',
  serve: 'run the local service: the same interface, on this machine',
};

function baseParser(args: string[]) {
  const purpose = 'Renders long lists of scenes on a GPU job service, and goes on where it was stopped.';
  return yargs(args)
    .scriptName('nightrender')
    .locale('en')
    .updateStrings({ 'Not enough arguments following: %s': '--%s needs a value.' })
    .usage(`$0 <command>\n\n${purpose}`)
    .version(program)
    .help()
    .alias('h', 'help')
    .demandCommand(1, `Say what to do: ${Object.keys(summaries).join(', ')}.`)
    .strict()
    .epilogue(exitCodes())
    .wrap(Math.min(100, process.stdout.columns || 100))
    .exitProcess(false)
    .fail((message, error) => {
      throw error ?? new WrongUse(inWords(message));
    });
}

/** The parser counts arguments without a name instead of saying which are missing. */
function inWords(message: string): string {
  const [, got] = /^Not enough non-option arguments: got (\d+), /.exec(message) ?? [];
  if (got === undefined) return message;
  return got === '0' ? 'Say which pipeline.yaml.' : `Say which scene, by its id.`;
}

class WrongUse extends Error {}

/** The parser's own errors are told by their name alone: it does not export their class. */
function isWrongUse(thrown: unknown): thrown is Error {
  return thrown instanceof WrongUse || (thrown instanceof Error && thrown.name === 'YError');
}

/** The parser takes every text but `true` for false. */
function assertSwitches(args: string[]): void {
  const rules = Object.entries(optionRules);
  const shared = rules.flatMap(([name, { type }]) => (type === 'boolean' ? name : []));
  const own = ['watch', 'csv', 'repair', 'contact-sheet', 'failed', 'expired', 'held', 'elsewhere', 'check'];
  const switches = new Set([...shared, ...own]);
  for (const arg of args) {
    if (arg === '--') return;
    const [, name = '', text = ''] = /^--([^=]+)=([^]*)$/.exec(arg) ?? [];
    const kebab = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    if (switches.has(kebab) && text !== 'true' && text !== 'false')
      throw new WrongUse(`--${name} is ${JSON.stringify(text)}; expected true, false or no value.`);
  }
}

/** The command's name, where it is known. */
function commandIn([first = '']: string[]): string[] {
  return Object.hasOwn(summaries, first) ? [first] : [];
}
