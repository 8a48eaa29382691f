/** Starts a worker for a test and keeps its log. The worker ends with the test. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { commandWorkload, type CommandOptions } from '../../../src/service/workloads/command-workload.ts';
import { moduleWorkload, type ModuleOptions } from '../../../src/service/workloads/module-workload.ts';
import { JsonText, type Worker, type Workload } from '../../../src/service/workloads/workload-definition.ts';

export interface StartedWorker extends Worker {
  log: string[];
  /** Runs a job and records its progress. */
  job(input: Record<string, unknown>, id?: string): RunningJob;
}

export interface RunningJob {
  output: Promise<unknown>;
  progress: unknown[];
  stream: unknown[];
  callOff(): void;
}

export async function start(workload: Workload): Promise<StartedWorker> {
  const log: string[] = [];
  const worker = await workload.startWorker({ workerId: 'worker-1', log: (line) => log.push(line) });
  onTestFinished(() => worker.stop());
  const job = (input: Record<string, unknown>, id = 'job-1'): RunningJob => {
    const calledOff = new AbortController();
    const [progress, stream]: unknown[][] = [[], []];
    const report = {
      signal: calledOff.signal,
      progress: async (message: unknown) => void progress?.push(valueOf(message)),
      stream: async (part: unknown) => void stream?.push(valueOf(part)),
    };
    const output = worker.run({ id, inputText: JSON.stringify(input), s3Config: null }, report).then(valueOf);
    output.catch(() => undefined);
    return { output, progress: progress ?? [], stream: stream ?? [], callOff: () => calledOff.abort() };
  };
  return Object.assign(Object.create(worker) as Worker, {
    ended: worker.ended,
    run: worker.run.bind(worker),
    stop: () => worker.stop(),
    log,
    job,
  });
}

function valueOf(said: unknown): unknown {
  return said instanceof JsonText ? (JSON.parse(said.text.toString()) as unknown) : said;
}

/** Starts a JavaScript program as a command worker. */
export function startScript(script: string, options: Partial<CommandOptions> = {}): Promise<StartedWorker> {
  const command = [process.execPath, '--input-type=commonjs', '--eval', script];
  return start(
    commandWorkload({ endpointId: 'endpoint-1', command, cwd: null, environment: {}, ...options }),
  );
}

/** Returns a program that runs these statements for each line read. They can use `job`, `write` and `say`. */
export function answering(statements: string): string {
  return `
    const write = (text) => process.stdout.write(text);
    const say = (message) => write(JSON.stringify(message) + '\\n');
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const job = JSON.parse(line);
      ${statements}
    });`;
}

export async function startModule(
  source: string,
  options: Partial<ModuleOptions> & { file?: string } = {},
): Promise<StartedWorker> {
  const path = join(await makeFolder(), options.file ?? 'workload.mjs');
  await writeFile(path, source);
  return start(moduleWorkload({ endpointId: 'endpoint-1', path, environment: {}, ...options }));
}

/** Creates a folder, which is removed at the end of the test. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nightrender-workloads-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** True if the process runs. A process that has ended but was not reaped does not count. */
export function isRunning(pid: number): boolean {
  if (!existsSync('/proc/self/status')) return process.kill(pid, 0);
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Makes timers advance only when the test says so. */
export function holdTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets half a second pass repeatedly until `ended` resolves. */
export async function passTimeUntil(ended: Promise<unknown>): Promise<void> {
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  const pass = (): boolean => {
    if (!hasEnded) vi.advanceTimersByTime(500);
    return hasEnded;
  };
  await expect.poll(pass, { interval: 10 }).toBe(true);
}
