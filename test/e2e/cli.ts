/** Runs the built program or its commands as a user does. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { lockBatch } from '../../src/runner/checkpoint/batch-lock.ts';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { expect, onTestFinished, vi } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';

export const root = resolve(import.meta.dirname, '../..');
const cli = join(root, 'dist/nightrender.cjs');

export interface CliOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Standard input of the program. */
  stdin?: string;
  /** True to keep standard input open after `stdin` was written. */
  holdsStdin?: boolean;
  /** Arguments for Node itself. */
  nodeArgs?: string[];
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A text that the output contains, or an expression that matches a part of it. */
type Words = string | RegExp;

/** A running command. Expectations are checked when it has ended, and a failure shows its whole output. */
export class Started extends Promise<Finished> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  static of(finished: Promise<Finished>): Started {
    return new Started((settle) => settle(finished));
  }

  /** Expects this exit code, and each of these words on standard output. */
  exits(code: number, ...words: Words[]): Started {
    return this.#expect(({ code: ended }, all) => expect(ended, all).toBe(code)).prints(...words);
  }

  /** Expects this exit code, and each of these words on standard error. */
  fails(code: number, ...words: Words[]): Started {
    return this.exits(code).warns(...words);
  }

  prints(...words: Words[]): Started {
    return this.#expect(({ stdout }, all) => words.forEach((each) => expect(stdout, all).toMatch(each)));
  }

  printsNo(...words: Words[]): Started {
    return this.#expect(({ stdout }, all) => words.forEach((each) => expect(stdout, all).not.toMatch(each)));
  }

  printsOnly(text: string): Started {
    return this.#expect(({ stdout }, all) => expect(stdout, all).toBe(text));
  }

  /** Expects each of these words on standard error. */
  warns(...words: Words[]): Started {
    return this.#expect(({ stderr }, all) => words.forEach((each) => expect(stderr, all).toMatch(each)));
  }

  warnsNo(...words: Words[]): Started {
    return this.#expect(({ stderr }, all) => words.forEach((each) => expect(stderr, all).not.toMatch(each)));
  }

  warnsOnly(text: string): Started {
    return this.#expect(({ stderr }, all) => expect(stderr, all).toBe(text));
  }

  /** Returns the JSON lines that the command has written. */
  async lines<Line = JsonObject>(): Promise<Line[]> {
    return linesOf(await this);
  }

  /** Returns the events of this type. */
  async events(type: string): Promise<JsonObject[]> {
    return (await this.lines()).filter((line) => line['type'] === type);
  }

  #expect(check: (finished: Finished, all: string) => void): Started {
    return Started.of(
      this.then((finished) => {
        check(finished, `code ${finished.code}\n${finished.stdout}\n${finished.stderr}\n`);
        return finished;
      }),
    );
  }
}

/** A running program, whose JSON lines can be read as they are written. */
export class Program {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Resolves when all of its standard input was written. */
  readonly stdinTaken: Promise<void>;
  readonly #closed: Promise<unknown>;
  stdout = '';
  stderr = '';

  constructor(
    args: string[],
    { cwd = root, env = {}, nodeArgs = [], stdin = '', holdsStdin = false }: CliOptions = {},
  ) {
    this.child = spawn(process.execPath, [...nodeArgs, cli, ...args], {
      cwd,
      env: { ...cleanEnv(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child.stdin.on('error', () => undefined);
    this.stdinTaken = new Promise((taken) => this.child.stdin.write(stdin, () => taken()));
    if (!holdsStdin) this.child.stdin.end();
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#closed = once(this.child, 'close');
    onTestFinished(() => void this.child.kill('SIGKILL'));
  }

  finish(): Started {
    return Started.of(
      this.#closed.then(() => ({
        code: this.child.exitCode,
        stdout: this.stdout,
        stderr: this.stderr,
      })),
    );
  }

  /** Returns the nth event of a type (1 for the first). Rejects if the program ends before. */
  async event(type: string, nth = 1): Promise<Record<string, unknown>> {
    let seen = 0;
    for await (const line of createInterface({ input: this.child.stdout })) {
      const event = JSON.parse(line) as Record<string, unknown>;
      if (event['type'] === type && ++seen === nth) return event;
    }
    throw new Error(`the program ended without ${nth} × ${type}: ${this.stderr}`);
  }

  /** Resolves when the output contains these words. Rejects if the program ends before. */
  async says(words: RegExp): Promise<void> {
    const has = (): boolean => words.test(this.stdout + this.stderr);
    if (has()) return;
    await new Promise<void>((done, reject) => {
      const look = (): void => (has() ? done() : undefined);
      this.child.stdout.on('data', look);
      this.child.stderr.on('data', look);
      this.child.on('close', () => reject(new Error(`it never said ${String(words)}: ${this.stderr}`)));
    });
  }
}

/** Parses the JSON lines that a program has written. */
export function linesOf<Line = JsonObject>({ stdout }: Pick<Finished, 'stdout'>): Line[] {
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
}

export function nightrender(args: string[], options?: CliOptions): Started {
  return new Program(args, options).finish();
}

/** An action of a test once the command has written certain words. */
export interface Moment {
  words: RegExp;
  act: () => void;
}

interface InProcessOptions extends Pick<CliOptions, 'cwd' | 'env'> {
  /** Several moments are reached one after another. */
  at?: Moment | Moment[];
}

/**
 * Sends this signal to the command within this process once it has written these words. A signal after the
 * end has no effect.
 */
export function signalAt(words: RegExp, signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP' = 'SIGTERM'): Moment {
  return { words, act: () => void process.emit(signal, signal) };
}

/** Matches the output once it has this event `nth` times. */
export function nthEvent(type: string, nth = 1): RegExp {
  return new RegExp(`(?:"type":"${type}"[^]*){${nth}}`);
}

let isBusy = false;

/**
 * Runs the command line within this process, which is several times faster than a separate process. Only one
 * command runs at a time, because it uses the working directory, environment and output of this process.
 */
export function inProcess(args: string[], options: InProcessOptions = {}): Started {
  return Started.of(parseWithin(args, options));
}

async function parseWithin(
  args: string[],
  { cwd = root, env = {}, at = [] }: InProcessOptions,
): Promise<Finished> {
  const awaited = Array.isArray(at) ? [...at] : [at];
  if (isBusy) throw new Error('one command at a time within this process');
  isBusy = true;
  const before = { cwd: process.cwd(), env: { ...process.env } };
  const said = { stdout: '', stderr: '' };
  const ears = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((...[text, ...more]) => {
      said[stream] += String(text);
      const [next] = awaited;
      if (next?.words.test(said.stdout + said.stderr) === true) {
        setImmediate(next.act);
        awaited.shift();
      }
      more.find((one) => typeof one === 'function')?.();
      return true;
    }),
  );
  // Vitest replaces the console, and the argument parser prints help with it.
  const log = vi.spyOn(console, 'log').mockImplementation((text) => void (said.stdout += `${text}\n`));
  process.chdir(cwd);
  setEnv({ ...cleanEnv(), ...env });
  try {
    const { parseCommandLine } = await import('../../src/commands/command-line.ts');
    return { code: await parseCommandLine(args), ...said };
  } finally {
    process.chdir(before.cwd);
    setEnv(before.env);
    for (const ear of [...ears, log]) ear.mockRestore();
    isBusy = false;
  }
}

/** Changes the environment in place, because native code reads it there too. */
function setEnv(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
}

/**
 * A folder with a pipeline.yaml, and the commands for it. `run`, `plan` and `cancel` get the API key if the
 * file asks for it.
 */
export class Night {
  readonly cwd: string;
  readonly #options: NightOptions;

  constructor(cwd: string, options: NightOptions = {}) {
    this.cwd = cwd;
    this.#options = options;
  }

  /** Returns the same folder with other options for its commands. */
  with(options: NightOptions): Night {
    return new Night(this.cwd, { ...this.#options, ...options });
  }

  run = (...args: string[]): Started => this.do('run', ...args);
  plan = (...args: string[]): Started => this.do('plan', ...args);
  status = (...args: string[]): Started => this.do('status', ...args);
  list = (...args: string[]): Started => this.do('list', ...args);
  explain = (...args: string[]): Started => this.do('explain', ...args);
  retry = (...args: string[]): Started => this.do('retry', ...args);
  verify = (...args: string[]): Started => this.do('verify', ...args);

  /** Runs a command for pipeline.yaml within this process. */
  do(command: string, ...args: string[]): Started {
    return this.start(command, 'pipeline.yaml', ...args);
  }

  /** Runs any command line in this folder, within this process. */
  start(...args: string[]): Started {
    return inProcess(args, this.#optionsFor(args));
  }

  /** Starts any command line in this folder as the built program. */
  program(...args: string[]): Program {
    return new Program(args, this.#optionsFor(args));
  }

  /** Runs any command line in this folder as the built program. */
  built(...args: string[]): Started {
    return this.program(...args).finish();
  }

  #optionsFor([command = '', ...args]: string[]): InProcessOptions & CliOptions {
    const asks = (name: string): boolean =>
      this.has(name) && this.read(name).includes('${NIGHTRENDER_API_KEY}');
    const named = args.filter((name) => name.endsWith('.yaml'));
    const files = named.length === 0 ? ['pipeline.yaml'] : named;
    const needsKey = ['run', 'plan', 'cancel'].includes(command) && files.some(asks);
    return { cwd: this.cwd, ...(needsKey && withKey), ...this.#options };
  }

  /** Returns the output of `status --json`. */
  async state(): Promise<unknown> {
    return (await this.status('--json').lines())[0];
  }

  path(...names: string[]): string {
    return join(this.cwd, ...names);
  }

  has(name: string): boolean {
    return existsSync(this.path(name));
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  write(name: string, content: string | Uint8Array): void {
    writeFileSync(this.path(name), content);
  }

  /** Returns the number of jobs that the local service was given. */
  localJobs(): number {
    return jobsOf(this.path('out/local-service'));
  }

  /** Starts a run and kills it right after its nth submission. */
  async killAfter(submissions: number): Promise<void> {
    const run = this.program('run', 'pipeline.yaml', '--json');
    await run.event('scene-submitted', submissions);
    run.child.kill('SIGKILL');
    await run.finish();
  }

  /**
   * Leaves the output folder as if a run was killed right after its nth event, but several times faster than
   * `killAfter`. It copies the folder at that moment, and later replaces the original by the copy. The
   * checkpoint names this process as its run, so only commands within this process see that run as dead.
   */
  async cutOff(nth: number, { event = 'scene-submitted', args = [] as string[] } = {}): Promise<void> {
    const [out, copy] = [this.path('out'), this.path('out-at-that-moment')];
    const { words, act } = signalAt(nthEvent(event, nth));
    const copyAndEnd = (): void => {
      cpSync(out, copy, { recursive: true, preserveTimestamps: true });
      act();
    };
    await this.with({ at: { words, act: copyAndEnd } }).run('--json', ...args);
    rmSync(out, { recursive: true });
    renameSync(copy, out);
  }

  /**
   * Holds the batch in the name of this process, as a live run does, until `release` or the end of the test.
   */
  async hold(): Promise<{ release: () => void }> {
    const lock = await lockBatch(this.path('out'), Date.now());
    let isHeld = true;
    const release = (): void => {
      if (isHeld) lock.release();
      isHeld = false;
    };
    onTestFinished(release);
    return { release };
  }
}

type NightOptions = Omit<InProcessOptions & CliOptions, 'cwd'>;

/**
 * Creates a folder with a pipeline.yaml and this list, or a list of so many scenes. `more` is added to
 * pipeline.yaml.
 */
export function nightOf(baseUrl: string, list: number | string, more = ''): Night {
  const csv = typeof list === 'string' ? list : scenes(list);
  return nightWith({ 'pipeline.yaml': pipeline(baseUrl, more), 'scenes.csv': csv });
}

/** Creates a folder with these files. */
export function nightWith(files: Record<string, string | Uint8Array>): Night {
  return new Night(folderWith(files));
}

/** Creates a temporary folder with these files, and returns its path. */
export function folderWith(files: Record<string, string | Uint8Array>): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

/** Starts a service that draws within this process, with its data in `service`. It ends with the test. */
export async function serve(dir: string): Promise<{ url: string; dataDir: string }> {
  const { startService } = await import('../../src/service/instance/start-service.ts');
  const { endpointSettings } = await import('../../src/service/model/endpoint-settings.ts');
  const { localWorkload } = await import('../../src/service/instance/local-service.ts');
  const dataDir = join(dir, 'service');
  const service = await startService({
    dataDir,
    keys: [testKey],
    endpoints: [endpointSettings({ id: 'scene-renderer', workers: 2, quickStart: true })],
    workloadOf: () => localWorkload,
    onProblem: (text) => process.emitWarning(text),
  });
  onTestFinished(() => service.close());
  return { url: service.url, dataDir };
}

const made = new Map<string, string>();

/** Returns a copy of a batch whose run is complete. Each such batch is rendered once per process. */
export function finishedNight(files: Record<string, string>): Promise<Night> {
  return copyOf(JSON.stringify(files), async (night) => {
    for (const [name, text] of Object.entries(files)) night.write(name, text);
    await night.run('--quiet').exits(0);
  });
}

/** Returns a copy of the folder with this name, which `make` fills once per process. */
export async function copyOf(name: string, make: (night: Night) => Promise<void>): Promise<Night> {
  let folder = made.get(name);
  if (folder === undefined) {
    folder = mkdtempSync(join(tmpdir(), 'nightrender-made-'));
    const dir = folder;
    process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
    await make(new Night(dir));
    made.set(name, dir);
  }
  const night = nightWith({});
  cpSync(folder, night.cwd, { recursive: true, preserveTimestamps: true });
  return night;
}

/** Returns the number of jobs that the local service of a batch was given. */
export function jobsOf(dataDir: string): number {
  const db = new Sqlite(join(dataDir, 'service.sqlite'), { readonly: true });
  try {
    // Jobs are deleted later, but stay in the tally.
    const given = "SELECT sum(jobs) AS n FROM tally WHERE what <> 'retried'";
    return db.prepare<[], { n: number | null }>(given).get()?.n ?? 0;
  } finally {
    db.close();
  }
}

/** Settings for tiny pictures, which the local service draws almost instantly. */
export const small = 'input: {scene: "{{ scene }}", width: 32, height: 32}\n';

export const testKey = 'canary-2f9d4c81e7b3';
export const withKey = { env: { NIGHTRENDER_API_KEY: testKey } };

/** Returns the environment without settings of this machine that would affect the program. */
function cleanEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('NIGHTRENDER_') && name !== 'NODE_OPTIONS',
  );
  return Object.fromEntries(kept);
}

/** Returns an environment with only PATH and the folder in which this process records batches. */
export function ownPlaces(): NodeJS.ProcessEnv {
  const { PATH, XDG_STATE_HOME } = process.env;
  return { PATH, XDG_STATE_HOME };
}

/** Returns a pipeline.yaml for the scenes.csv beside it. `more` has further top-level keys. */
export function pipeline(baseUrl: string, more = ''): string {
  const key = baseUrl === 'local' ? '' : '  apiKey: ${NIGHTRENDER_API_KEY}\n';
  return `manifest: scenes.csv
endpoint:
  baseUrl: ${baseUrl}
  id: scene-renderer
${key}output:
  dir: out
polling: {shortest: 10ms}
${more}`;
}

export function scenes(count: number): string {
  return (
    ['id,scene', ...Array.from({ length: count }, (_, i) => `s${i},"Hills and ${i} trees"`)].join('\n') + '\n'
  );
}
