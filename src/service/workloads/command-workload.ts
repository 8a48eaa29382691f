/** A program in any language as a workload. The program reads jobs and writes results as JSON lines. */
import { basename, delimiter, isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { shellWord } from '../../lib/text/format.ts';
import { filePath, programText } from '../../lib/yaml/scalar-schemas.ts';
import {
  type AnswerLimits,
  at,
  defineWorkload,
  deviceProblems,
  type FieldExpectation,
  folderExpected,
  hiddenWord,
  isPath,
  moduleExpected,
  programExpected,
  programVariables,
  type Worker,
  type WorkerContext,
  type Workload,
} from './workload-definition.ts';
import { LineWorker } from './line-worker.ts';
import { processEnvironment } from './worker-environment.ts';
import { WorkerLog } from './worker-log.ts';
import { WorkerProcess } from './worker-process.ts';

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
        'the folder in which the command runs, relative to the folder of service.yaml; by default that folder',
    }),
  },
  elsewhere: { cwd: 'none: only a command has a working folder' },
  takes: ['memory'],
  choice: { title: 'Command', means: 'A program that reads jobs and writes results as JSON lines.' },
  gpu: 'machine',
  words: (settings) =>
    `Command ${settings.command.map((word) => (isAbsolute(word) ? basename(word) : word)).join(' ')}`,
  // Arguments may hold secrets; the name of the program does not.
  concealed: (settings) => ({ command: settings.command.map((word, i) => (i === 0 ? word : hiddenWord)) }),
  inFolder: ({ command: [program = '', ...rest], cwd }, folder) => ({
    command: [isPath(program) ? resolve(folder, program) : program, ...rest],
    cwd: resolve(folder, cwd ?? '.'),
  }),
  problems: deviceProblems,
  missing: ({ command: words, cwd, environment }, env) => [
    // The program is found on the endpoint's PATH, if that is set.
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
  allowed: {
    notation: 'command:LINE',
    beginnings: ['command:'],
    read: (text) => {
      const line = text.slice('command:'.length).trim();
      return line === '' ? undefined : { command: ['sh', '-c', line], cwd: process.cwd() };
    },
  },
  onCluster: (settings) => ({
    // `--allow` separates its entries by commas, so a comma before a word such as `scene` would begin another entry.
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
/** Interpreter options whose next argument is code or a module name, not a file. */
const codeOption = /^(-\w*[cm]|-p?e|-p|--eval|--print)$/;

/** Checks that the script exists in commands such as `[python3, -u, worker.py]`. Other commands are not checked. */
function scriptProblems([program = '', ...rest]: string[], cwd: string): FieldExpectation[] {
  const index = rest.findIndex((argument) => !argument.startsWith('-'));
  const script = rest[index] ?? '';
  const hasCode = rest.slice(0, index).some((option) => codeOption.test(option));
  if (hasCode || !interpreters.test(program) || !scriptEnding.test(script)) return [];
  return at(`command.${index + 1}`, moduleExpected(resolve(cwd, script)));
}

export interface CommandOptions {
  endpointId: string;
  /** Program (a path, or a name on the PATH) and its arguments. Runs without a shell. */
  command: readonly string[];
  /** Working folder; null for that of the service. */
  cwd: string | null;
  environment: Readonly<Record<string, string>>;
  /** Memory limit of the program and its child processes together, which are killed beyond it. Needs /proc. */
  memoryBytes?: number | null;
  /** Limits of one line that the program writes. */
  limits?: AnswerLimits | undefined;
}

/**
 * Returns a workload whose workers each run the program once. The program reads one job a line from its standard input
 * and writes JSON lines to its standard output:
 *
 *     in   {"id": "a1b2", "input": {"scene": "a red cube"}}
 *     out  {"progress": "half of it"}            any number of times, shown while the job is in progress
 *     out  {"stream": {"part": 1}}               any number of times, for `GET /stream`
 *     out  {"output": [{"rendered_image": "…"}]} or {"error": "what went wrong"} ends the job
 *
 * The program gets its next job after it has answered the previous one. An answer may name its job (`"id": "a1b2"`),
 * and is dropped if it names a job that the program is not running. Programs that may answer late or twice should name
 * it. All other lines, `{"log": text}` and the standard error are the worker's log. The program must flush each line
 * (`print(…, flush=True)`). It should exit within two seconds after its standard input ends. If its job is cancelled or
 * times out, or a line is longer than a result may be, the program and all its child processes are killed.
 */
export function commandWorkload(options: CommandOptions): Workload {
  return {
    name: basename(options.command[0] ?? ''),
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
