/** Every command: what it takes and what it is for; the rest of it is loaded when it is called. */
import type { Command, LoadedCommand } from './command.ts';

/** In the order in which the help names them. */
export const commands = {
  init: {
    takes: '[dir]',
    summary: 'a pipeline.yaml and a small manifest to begin with, or a service.yaml',
    load: async () => (await import('./init.ts')).initCommand,
  },
  plan: {
    takes: '<pipeline>',
    summary: 'what a run would do, cost and take; nothing is sent',
    load: async () => (await import('./plan.ts')).planCommand,
  },
  run: {
    takes: '<pipeline>',
    summary: 'start or continue a batch',
    load: async () => (await import('./run.ts')).runCommand,
  },
  status: {
    takes: '<pipeline>',
    summary: 'where a batch stands, from any terminal',
    load: async () => (await import('./status.ts')).statusCommand,
  },
  list: {
    takes: '<pipeline>',
    summary: 'the scenes, all or some, one a line',
    load: async () => (await import('./list.ts')).listCommand,
  },
  explain: {
    takes: '<pipeline> [id]',
    summary: 'one scene: its attempts, pictures and failures, and what happens next',
    load: async () => (await import('./explain.ts')).explainCommand,
  },
  watch: {
    takes: '<pipeline>',
    summary: 'a page in the browser on which a batch can be watched',
    load: async () => (await import('./watch.ts')).watchCommand,
  },
  report: {
    takes: '<pipeline>',
    summary: 'write the result files anew from the checkpoint',
    load: async () => (await import('./report.ts')).reportCommand,
  },
  inspect: {
    takes: '<picture>',
    summary: 'what a picture says of itself: its prompt, inputs, seed, job',
    load: async () => (await import('./inspect.ts')).inspectCommand,
  },
  verify: {
    takes: '<pipeline>',
    summary: 'look at every saved picture; --repair puts back what is missing or damaged',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  retry: {
    takes: '<pipeline>',
    summary: 'put scenes that were set aside back to be rendered again',
    load: async () => (await import('./retry.ts')).retryCommand,
  },
  cancel: {
    takes: '<pipeline>',
    summary: 'have the service cancel what is in flight',
    load: async () => (await import('./cancel.ts')).cancelCommand,
  },
  serve: {
    takes: '[service]',
    summary: 'run the service itself on this machine: endpoints, workers, console',
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  keys: {
    takes: '<action> [name]',
    summary: 'add, list or revoke the keys of the local service',
    load: async () => (await import('./keys.ts')).keysCommand,
  },
  help: {
    takes: '[topic]',
    summary: 'the manual: lists its topics, or prints one',
    load: async () => (await import('./help.ts')).helpCommand,
  },
  schema: {
    takes: '[what]',
    summary: 'print the JSON Schema of pipeline.yaml, service.yaml or the lines of --json',
    load: async () => (await import('./schema.ts')).schemaCommand,
  },
  completion: {
    takes: '[shell]',
    summary: 'a script that completes commands and options in bash, zsh or fish',
    load: async () => (await import('./completion.ts')).completionCommand,
  },
  man: {
    takes: '',
    summary: 'the man page: every command and option',
    load: async () => (await import('./man.ts')).manCommand,
  },
} as const satisfies Record<string, Command>;

/** Names and commands. */
export function commandList(): [string, Command][] {
  return Object.entries(commands);
}

export function commandNamed(name: string): Command | undefined {
  return commandList().find(([each]) => each === name)?.[1];
}

/** For those who describe all of them. */
export function loadAll(): Promise<(Command & LoadedCommand & { name: string })[]> {
  return Promise.all(
    commandList().map(async ([name, command]) => ({ name, ...command, ...(await command.load()) })),
  );
}
