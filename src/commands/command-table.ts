/** Every command: what it takes, what it is for, its options, and its work, which is loaded when it is called. */
import type { Argv } from 'yargs';
import {
  completionOptions,
  helpOptions,
  initOptions,
  inspectOptions,
  manOptions,
  schemaOptions,
  serveOptions,
} from './batchless-options.ts';
import type { Command } from './command.ts';
import { keysOptions } from './keys-options.ts';
import {
  explainOptions,
  listOptions,
  reportOptions,
  statusOptions,
  watchOptions,
} from './looking-options.ts';
import { cancelOptions, retryOptions, verifyOptions } from './maintenance-options.ts';
import { endings } from '../runner/core/ending.ts';
import { beginOptions } from './begin-options.ts';
import { common, exitCodes } from './exit-codes.ts';
import { partOptions } from './part-options.ts';
import { precedence, withPipeline } from './pipeline-options.ts';

/** In the order in which the help names them. */
export const commands = {
  init: {
    takes: '[dir]',
    summary: 'a pipeline.yaml and a small manifest to begin with, or a service.yaml',
    options: initOptions,
    work: async (argv) => (await import('./init.ts')).init(textIn(argv, 'dir'), argv),
  },
  plan: {
    takes: '<pipeline>',
    summary: 'what a run would do, cost and take; nothing is sent',
    options: planOptions,
    work: async (argv) => (await import('./plan.ts')).plan(fileIn(argv), argv),
  },
  run: {
    takes: '<pipeline>',
    summary: 'start or continue a batch',
    options: runOptions,
    work: async (argv, early) => (await import('./run.ts')).run(fileIn(argv), argv, early),
  },
  status: {
    takes: '<pipeline>',
    summary: 'where a batch stands, from any terminal',
    options: statusOptions,
    work: async (argv) => (await import('./status.ts')).status(fileIn(argv), argv),
  },
  list: {
    takes: '<pipeline>',
    summary: 'the scenes, all or some, one a line',
    options: listOptions,
    work: async (argv) => (await import('./list.ts')).list(fileIn(argv), argv),
  },
  explain: {
    takes: '<pipeline> [id]',
    summary: 'one scene: its attempts, pictures and failures, and what happens next',
    options: explainOptions,
    work: async (argv) => (await import('./explain.ts')).explain(fileIn(argv), textIn(argv, 'id'), argv),
  },
  watch: {
    takes: '<pipeline>',
    summary: 'a page in the browser on which a batch can be watched',
    options: watchOptions,
    work: async (argv) => (await import('./watch.ts')).watch(fileIn(argv), argv),
  },
  report: {
    takes: '<pipeline>',
    summary: 'write the result files anew from the checkpoint',
    options: reportOptions,
    work: async (argv) => (await import('./report.ts')).report(fileIn(argv), argv),
  },
  inspect: {
    takes: '<picture>',
    summary: 'what a picture says of itself: its prompt, inputs, seed, job',
    options: inspectOptions,
    work: async (argv) => (await import('./inspect.ts')).inspect(textIn(argv, 'picture'), argv),
  },
  verify: {
    takes: '<pipeline>',
    summary: 'look at every saved picture; --repair puts back what is missing or damaged',
    options: verifyOptions,
    work: async (argv) => (await import('./verify.ts')).verify(fileIn(argv), argv),
  },
  retry: {
    takes: '<pipeline>',
    summary: 'put scenes that were set aside back to be rendered again',
    options: retryOptions,
    work: async (argv) => (await import('./retry.ts')).retry(fileIn(argv), argv),
  },
  cancel: {
    takes: '<pipeline>',
    summary: 'have the service cancel what is in flight',
    options: cancelOptions,
    work: async (argv) => (await import('./cancel.ts')).cancel(fileIn(argv), argv),
  },
  serve: {
    takes: '[service]',
    summary: 'run the service itself on this machine: endpoints, workers, console',
    options: serveOptions,
    work: async (argv) => (await import('./serve.ts')).serve(textIn(argv, 'service') || undefined, argv),
  },
  keys: {
    takes: '<action> [name]',
    summary: 'add, list or revoke the keys of the local service',
    options: keysOptions,
    work: async (argv) =>
      (await import('./keys.ts')).keys(textIn(argv, 'action'), textIn(argv, 'name'), argv),
  },
  help: {
    takes: '[topic]',
    summary: 'the manual: lists its topics, or prints one',
    options: helpOptions,
    work: async (argv) =>
      (await import('./help.ts')).help(
        textIn(argv, 'topic'),
        commandList().map(([name]) => name),
      ),
  },
  schema: {
    takes: '[what]',
    summary: 'print the JSON Schema of pipeline.yaml, service.yaml or the lines of --json',
    options: schemaOptions,
    work: async (argv) => (await import('./schema.ts')).schema(textIn(argv, 'what')),
  },
  completion: {
    takes: '[shell]',
    summary: 'a script that completes commands and options in bash, zsh or fish',
    options: completionOptions,
    work: async (argv) => (await import('./completion.ts')).completion(argv['shell'], commandList()),
  },
  man: {
    takes: '',
    summary: 'the man page: every command and option',
    options: manOptions,
    work: async () => (await import('./man.ts')).man(commandList()),
  },
} as const satisfies Record<string, Command>;

/** Names and commands. */
export function commandList(): [string, Command][] {
  return Object.entries(commands);
}

export function commandNamed(name: string): Command | undefined {
  return commandList().find(([each]) => each === name)?.[1];
}

function fileIn(argv: Record<string, unknown>): string {
  return textIn(argv, 'pipeline');
}

function textIn(argv: Record<string, unknown>, name: string): string {
  // Given twice, the last one counts.
  const value: unknown = [argv[name]].flat().at(-1);
  return typeof value === 'string' ? value : '';
}

/** The help of the commands that render a batch, or tell what rendering it would do. */
function runOptions(parser: Argv) {
  const purpose = `Renders every scene of the manifest that has no picture yet, and writes the report. The same command goes on after a stop, a crash or an edit of the manifest; nothing is paid twice.`;
  return withPipeline(parser, [
    'manifest',
    'output',
    'concurrency',
    'skip-bad-rows',
    'allow-fewer',
    'log',
    'stats',
    'json',
    'quiet',
  ])
    .usage(`$0 run <pipeline>\n\n${purpose}`)
    .options({ ...partOptions, ...beginOptions })
    .example('$0 run pipeline.yaml', 'start, or go on after a stop or a crash')
    .example('$0 run pipeline.yaml --concurrency 4', 'four jobs in flight at most')
    .example(
      '$0 run pipeline.yaml --limit 20',
      'a preview: 20 scenes from all over the list, once and for good',
    )
    .example('$0 run pipeline.yaml --stats', 'in the morning, see what held the night back')
    .example('$0 run pipeline.yaml --log night.log', 'every event as a JSON line in a file')
    .example('zcat list.txt.gz | $0 run pipeline.yaml --manifest -', 'scenes from standard input')
    .example('$0 run pipeline.yaml --quiet', 'from cron: a line only where something is wrong')
    .epilogue(`${precedence}\n\n${exitCodes()}`);
}

function planOptions(parser: Argv) {
  const purpose = `Checks all that a run would check, and tells what it would do: which scenes are new, edited, done or failed, the first requests in full, the names of their pictures, and what it will cost and take by what earlier runs of this batch needed. It sends nothing, writes nothing and takes no lock, and may be asked beside a run and where no folder is yet. Room for a copy of the checkpoint is needed in the folder of temporary files.`;
  return withPipeline(parser, ['manifest', 'output', 'concurrency', 'skip-bad-rows', 'allow-fewer', 'json'])
    .usage(`$0 plan <pipeline>\n\n${purpose}`)
    .options({ ...partOptions, ...beginOptions })
    .option('check', {
      type: 'boolean',
      describe: 'ask the service whether key and endpoint are right; that starts nothing',
    })
    .option('requests', {
      type: 'string',
      requiresArg: true,
      describe: 'how many of the first requests are shown (default: 3)',
    })
    .example('$0 plan pipeline.yaml', 'before the night')
    .example('$0 plan pipeline.yaml --check', 'the key and the endpoint, too')
    .example('$0 plan pipeline.yaml --limit 20', 'what a preview of 20 scenes would do')
    .example('$0 plan pipeline.yaml --json', 'for a script: one JSON object')
    .epilogue(`${precedence}\n\n${exitCodes({ ...common, ...planning })}`);
}

const planning = {
  complete: 'a run could begin',
  'wrong-use': endings['wrong-use'].means,
  halted: 'with --check: no useful answer came',
  'not-allowed': `with --check: ${endings['not-allowed'].means}`,
  'output-unwritable': 'the plan was shown, and a run could not write',
  interrupted: endings.interrupted.means,
  terminated: endings.terminated.means,
};
