/** A program in any language as a workload, which speaks in JSON lines. */
import { delimiter, resolve } from 'node:path';
import { z } from 'zod';
import { shellWord } from '../../lib/text/format.ts';
import { filePath, programText } from '../../lib/yaml/scalar-schemas.ts';
import { folderExpected, isPath, moduleExpected, programExpected } from './expected-files.ts';
import { LineWorker } from './line-worker.ts';
import { processEnvironment } from './worker-environment.ts';
import { WorkerLog } from './worker-log.ts';
import { WorkerProcess } from './worker-process.ts';
import type { AnswerLimits, Worker, WorkerContext, Workload } from './workload.ts';
import {
  at,
  defineWorkload,
  deviceProblems,
  hiddenWord,
  programVariables,
  type FieldExpectation,
} from './workload-definition.ts';

const commandExpected = 'a list such as [python3, worker.py]';

export const lineProgram = defineWorkload({
  key: 'command',
  fields: {
    command: z
      .array(programText, commandExpected)
      .min(1, commandExpected)
      .refine(([program]) => program !== '', { path: [0], message: 'the name or path of a program' })
      .meta({
        description:
          'a program with its arguments; it reads jobs from standard input and writes results to standard output',
        examples: [['python3', 'worker.py']],
      }),
    cwd: filePath.optional().meta({
      title: 'Folder',
      description:
        'the folder in which the command runs, relative to that of service.yaml, which it is by default',
    }),
  },
  elsewhere: { cwd: 'none: only a command has a working folder' },
  takes: ['memory'],
  choice: { title: 'Command', means: 'A program that reads jobs and writes results as JSON lines.' },
  gpu: 'machine',
  words: (settings) => `Command ${settings.command.join(' ')}`,
  // The program itself is no secret.
  concealed: (settings) => ({ command: settings.command.map((word, i) => (i === 0 ? word : hiddenWord)) }),
  inFolder: ({ command: [program = '', ...rest], cwd }, folder) => ({
    command: [isPath(program) ? resolve(folder, program) : program, ...rest],
    cwd: resolve(folder, cwd ?? '.'),
  }),
  problems: deviceProblems,
  missing: ({ command: words, cwd, environment }, env) => [
    // Its own variables say where programs are, before those of this process do.
    ...at(
      'command.0',
      programExpected(words[0] ?? '', (environment?.['PATH'] ?? env['PATH'] ?? '').split(delimiter)),
    ),
    ...scriptProblems(words, cwd ?? ''),
    ...at('cwd', cwd === undefined ? undefined : folderExpected(cwd)),
  ],
  programs: (settings) => ({
    command: [settings.command, settings.cwd],
    environment: settings.environment,
    on: settings.on,
  }),
  onCluster: (settings) => ({
    // A comma before a word such as `scene` would begin another that is allowed.
    allow: `command:${settings.command.map((word) => shellWord(word).replaceAll(',', "','")).join(' ')}`,
    ...(settings.cwd !== undefined && { folder: settings.cwd }),
  }),
  start: ({ id: endpointId, command: words, cwd = null, memory = null, ...settings }, { limits }) =>
    commandWorkload({
      endpointId,
      command: words,
      cwd,
      environment: programVariables(settings),
      memoryBytes: memory,
      limits,
    }),
});

const interpreters = /(^|\/)(python|pypy|node|bun|bash|dash|sh|zsh|ruby|perl|php|lua|julia|Rscript)[\d.]*$/;
const scriptEnding = /^\S+\.(py|[cm]?[jt]s|sh|rb|pl|php|lua|jl|R)$/;
/** What follows one of these is code, or the name of a module. */
const codeOption = /^(-\w*[cm]|-p?e|-p|--eval|--print)$/;

/** Looks for the worker of `[python3, -u, worker.py]`. What other programs do with their arguments is unknown. */
function scriptProblems([program = '', ...rest]: string[], cwd: string): FieldExpectation[] {
  const index = rest.findIndex((argument) => !argument.startsWith('-'));
  const script = rest[index] ?? '';
  const hasCode = rest.slice(0, index).some((option) => codeOption.test(option));
  if (hasCode || !interpreters.test(program) || !scriptEnding.test(script)) return [];
  return at(`command.${index + 1}`, moduleExpected(resolve(cwd, script)));
}

export interface CommandOptions {
  endpointId: string;
  /** The program, found on the PATH where it is no path, and its arguments; no shell. */
  command: readonly string[];
  /** Null for the service's own. */
  cwd: string | null;
  environment: Readonly<Record<string, string>>;
  /** Of the program and the processes it starts, together; beyond it they are killed. Needs /proc. */
  memoryBytes?: number | null;
  /** Of one line that it writes. */
  limits?: AnswerLimits | undefined;
}

/**
 * The program is started once a worker, reads one job a line from its standard input and writes JSON lines to its
 * standard output:
 *
 *     in   {"id": "a1b2", "input": {"scene": "a red cube"}}
 *     out  {"progress": "half of it"}            any number of times, shown while the job is in progress
 *     out  {"stream": {"part": 1}}               any number of times, for `GET /stream`
 *     out  {"output": [{"rendered_image": "…"}]} or {"error": "what went wrong"} ends the job
 *
 * One job at a time; the next line comes when the last one is answered. An answer may name its job (`"id": "a1b2"`),
 * and is dropped where it names another than the one at hand: a program that could answer too late, or twice, should.
 * Lines that are none of these, and its standard error, are its log; so is `{"log": text}`. What it writes must be
 * flushed after each line (`print(…, flush=True)`). When its standard input ends, so should the program: it has two
 * seconds for that. A job that is cancelled or takes too long ends the program, with all the processes it has started;
 * the same goes for a line longer than a result may be.
 */
export function commandWorkload(options: CommandOptions): Workload {
  return {
    name: options.command[0] ?? '',
    startWorker: (context) => startCommand(options, context),
  };
}

async function startCommand(options: CommandOptions, { workerId, log }: WorkerContext): Promise<Worker> {
  const { endpointId, command, cwd, environment, memoryBytes = null, limits } = options;
  const process = await WorkerProcess.start({
    title: "the worker's process",
    command,
    cwd,
    environment: processEnvironment(environment, { endpointId, workerId }),
    memoryBytes,
    isMarked: true,
  });
  const { stdin, stdout, stderr } = process.pipes;
  const workerLog = new WorkerLog(log);
  workerLog.follow(stderr);
  return new LineWorker({ process, requests: stdin, answers: stdout, log: workerLog, limits });
}
