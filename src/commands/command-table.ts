/** Every command: what it takes and what it is for; the rest of it is loaded when it is called. */
import type { Command, Commands } from './command.ts';

/** In the order in which the help names them. */
export const commands = {
  init: {
    takes: '[dir]',
    summary: 'create a pipeline.yaml and a small manifest, or a service.yaml',
    load: async () => (await import('./init.ts')).initCommand,
  },
  plan: {
    takes: '[pipeline..]',
    summary: 'show what a run would do and cost; sends nothing',
    load: async () => (await import('./plan.ts')).planCommand,
  },
  run: {
    takes: '[pipeline..]',
    summary: 'start or resume a batch, or several in turn',
    load: async () => (await import('./run.ts')).runCommand,
  },
  status: {
    takes: '[pipeline]',
    summary: 'show the state of a batch, from any terminal',
    load: async () => (await import('./status.ts')).statusCommand,
  },
  list: {
    takes: '[pipeline]',
    summary: 'list scenes, one a line',
    load: async () => (await import('./list.ts')).listCommand,
  },
  explain: {
    takes: '[pipeline] [id]',
    summary: 'show one scene: attempts, pictures, failures, next step',
    load: async () => (await import('./explain.ts')).explainCommand,
  },
  watch: {
    takes: '[pipeline]',
    summary: 'watch a batch in the browser',
    load: async () => (await import('./watch.ts')).watchCommand,
  },
  report: {
    takes: '[pipeline]',
    summary: 'write the result files again from the checkpoint',
    load: async () => (await import('./report.ts')).reportCommand,
  },
  export: {
    takes: '[pipeline] <dir>',
    summary: 'write the pictures as a dataset: imagefolder, webdataset, captions, parquet',
    load: async () => (await import('./export.ts')).exportCommand,
  },
  inspect: {
    takes: '<picture..>',
    summary: 'show the prompt, inputs, seed and job of pictures',
    load: async () => (await import('./inspect.ts')).inspectCommand,
  },
  verify: {
    takes: '[pipeline]',
    summary: 'check every saved picture; --repair puts bad ones back',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  retry: {
    takes: '[pipeline]',
    summary: 'give failed scenes new attempts',
    load: async () => (await import('./retry.ts')).retryCommand,
  },
  cancel: {
    takes: '[pipeline]',
    summary: 'cancel the jobs in flight',
    load: async () => (await import('./cancel.ts')).cancelCommand,
  },
  submit: {
    takes: '[pipeline]',
    summary: 'have Slurm or Kubernetes run a batch',
    load: async () => (await import('./submit.ts')).submitCommand,
  },
  serve: {
    takes: '[service]',
    summary: 'run the job service: endpoints, workers, console',
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  work: {
    takes: '<service>',
    summary: 'work for a service elsewhere, on this machine',
    load: async () => (await import('./work.ts')).workCommand,
  },
  keys: {
    takes: '<action> [name]',
    summary: 'add, list or revoke keys of the service',
    load: async () => (await import('./keys.ts')).keysCommand,
  },
  backup: {
    takes: '<dir>',
    summary: 'copy the data of the service, also while it runs',
    load: async () => (await import('./backup.ts')).backupCommand,
  },
  help: {
    takes: '[topic]',
    summary: 'list the topics of the manual, or print one',
    load: async () => (await import('./help.ts')).helpCommand,
  },
  schema: {
    takes: '[what]',
    summary: 'print the JSON Schema of pipeline.yaml, service.yaml or the --json lines',
    load: async () => (await import('./schema.ts')).schemaCommand,
  },
  completion: {
    takes: '[shell]',
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./completion.ts')).completionCommand,
  },
  man: {
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
