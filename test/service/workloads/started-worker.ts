/** A worker for one test: started, its log kept, ended with the test. */
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
  /** Runs a job and keeps what it reports. */
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

/** A program in JavaScript as a command. */
export function startScript(script: string, options: Partial<CommandOptions> = {}): Promise<StartedWorker> {
  const command = [process.execPath, '--input-type=commonjs', '--eval', script];
  return start(
    commandWorkload({ endpointId: 'endpoint-1', command, cwd: null, environment: {}, ...options }),
  );
}

/** Answers each job with what `answer`, an expression, is for the line read (`job`, `write`). */
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

/** A folder that goes with the test. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nightrender-workloads-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A process that has ended but was not yet waited for is none any more. */
export function isRunning(pid: number): boolean {
  if (!existsSync('/proc/self/status')) return process.kill(pid, 0);
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Time passes for timers only when the test lets it. */
export function holdTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets half a second pass again and again until `ended` resolves. */
export async function passTimeUntil(ended: Promise<unknown>): Promise<void> {
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  const pass = (): boolean => {
    if (!hasEnded) vi.advanceTimersByTime(500);
    return hasEnded;
  };
  await expect.poll(pass, { interval: 10 }).toBe(true);
}
