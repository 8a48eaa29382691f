/** Every command: what it takes, what it is for, its options, and its work, which is loaded when it is called. */
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
import { cancelOptions, retryOptions, verifyOptions } from './mending-options.ts';
import { planOptions, runOptions } from './rendering-options.ts';

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
