/** A program in any language as a workload, which speaks in JSON lines. */
import { LineWorker } from './line-worker.ts';
import { processEnvironment } from './worker-environment.ts';
import { WorkerLog } from './worker-log.ts';
import { WorkerProcess } from './worker-process.ts';
import type { AnswerLimits, Worker, WorkerContext, Workload } from './workload.ts';

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
