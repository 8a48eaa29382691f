/** A container image as a workload: its containers pull their jobs, as workers elsewhere do. */
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ContainerOptions,
  createArguments,
  environmentFile,
  serviceLabel,
} from './container-arguments.ts';
import { type ContainerTool, runTool, toolEnvironment } from './container-tool.ts';
import { WorkerLog } from './worker-log.ts';
import { WorkerProcess } from './worker-process.ts';
import type { Puller, PullWorkload, WorkerContext } from './workload.ts';

/** An image of many gigabytes may have to come first. */
const createTimeoutMs = 2 * 60 * 60_000;
const commandTimeoutMs = 60_000;
/** Between SIGTERM and SIGKILL. */
const graceSeconds = 5;

export function containerWorkload(options: ContainerOptions): PullWorkload {
  return { name: options.image, startPuller: (context) => startContainer(options, context) };
}

/** Of a service that was killed, whose containers nobody ended. Tells how many there were; rejects in words. */
export async function removeLeftContainers(tool: ContainerTool, serviceId: string): Promise<number> {
  const filter = ['--filter', `label=${serviceLabel(serviceId)}`];
  const list = ['ps', '--all', '--quiet', ...filter];
  const { exitCode, stdout, complaint } = await runTool(tool, list, { timeoutMs: commandTimeoutMs });
  if (exitCode !== 0) throw new Error(`${tool.kind} does not list its containers: ${complaint}`);
  const ids = stdout.split('\n').filter(Boolean);
  if (ids.length === 0) return 0;
  const removal = ['rm', '--force', ...ids];
  const removed = await runTool(tool, removal, { timeoutMs: commandTimeoutMs * ids.length });
  if (removed.exitCode !== 0)
    throw new Error(`${tool.kind} does not remove containers: ${removed.complaint}`);
  return ids.length;
}

async function startContainer(options: ContainerOptions, context: WorkerContext): Promise<Puller> {
  const { tool, endpointId } = options;
  const name = `nightrender-${endpointId}-${context.workerId}`;
  const log = new WorkerLog(context.log);
  await create(name, options, context, log);
  const attached = await WorkerProcess.start({
    title: 'the container',
    command: [...tool.command, 'start', '--attach', name],
    cwd: null,
    environment: toolEnvironment(),
    memoryBytes: null,
    cleanUp: [...tool.command, 'rm', '--force', name],
  });
  log.follow(attached.pipes.stdout);
  log.follow(attached.pipes.stderr);
  return new Container(tool, name, attached, log);
}

async function create(
  name: string,
  options: ContainerOptions,
  context: WorkerContext,
  log: WorkerLog,
): Promise<void> {
  const input = environmentFile({ ...options.environment, ...options.pullEnvironment(context.workerId) });
  const { exitCode, complaint } = await runTool(options.tool, createArguments(name, options), {
    input,
    log,
    timeoutMs: createTimeoutMs,
    signal: context.signal,
  });
  if (exitCode === 0) return;
  await remove(options.tool, name);
  throw new Error(
    `${options.tool.kind} cannot make a container of ${options.image}: ${complaint || 'it was ended'}`,
  );
}

class Container implements Puller {
  readonly ended: Promise<string>;
  readonly #tool: ContainerTool;
  readonly #name: string;
  readonly #attached: WorkerProcess;
  readonly #log: WorkerLog;
  #isStopped = false;

  constructor(tool: ContainerTool, name: string, attached: WorkerProcess, log: WorkerLog) {
    this.#tool = tool;
    this.#name = name;
    this.#attached = attached;
    this.#log = log;
    this.ended = this.#untilEnded();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#ask('stop', '-t', String(graceSeconds), this.#name);
    // What it wrote last is on its way through the tool that is attached to it.
    await Promise.race([this.#attached.ended, sleep(graceSeconds * 1_000, undefined, { ref: false })]);
    await this.#attached.end('the container was stopped');
    await this.ended;
  }

  async #untilEnded(): Promise<string> {
    const reason = await this.#attached.ended;
    this.#log.end();
    const state = await this.#ask(
      'inspect',
      '--format',
      '{{.State.OOMKilled}} {{.State.ExitCode}}',
      this.#name,
    );
    await remove(this.#tool, this.#name);
    if (this.#isStopped) return 'the container was stopped';
    const [wasOutOfMemory, exitCode] = state.trim().split(' ');
    if (wasOutOfMemory === 'true') return 'the container took more than its memory and was killed';
    return exitCode === undefined || exitCode === '' ? reason : `the container ${inWords(Number(exitCode))}`;
  }

  /** What it says; nothing where it cannot. */
  async #ask(...toolArguments: string[]): Promise<string> {
    return runTool(this.#tool, toolArguments, { timeoutMs: commandTimeoutMs }).then(
      ({ exitCode, stdout }) => (exitCode === 0 ? stdout : ''),
      () => '',
    );
  }
}

/** Whatever state it is in; one that is not there is fine. */
async function remove(tool: ContainerTool, name: string): Promise<void> {
  await runTool(tool, ['rm', '--force', name], { timeoutMs: commandTimeoutMs }).catch(() => undefined);
}

/** A shell's way to say by which signal a program was killed. */
function inWords(exitCode: number): string {
  const signal = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0];
  if (signal !== undefined) return `was killed by ${signal}`;
  if (exitCode === 126 || exitCode === 127) return `could not run its command (exit code ${exitCode})`;
  return `ended with exit code ${exitCode}`;
}
