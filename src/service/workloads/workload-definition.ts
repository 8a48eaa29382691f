/** Definition of a workload: its keys in service.yaml, rules and form; the ports to its workers; and checks of files. */
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import type { z } from 'zod';
import type { Text } from '../../lib/files/filed-text.ts';
import { defaultMaxValues } from '../../lib/text/scan-json.ts';
import type { EndpointSettings, limitedKeys } from '../model/endpoint-settings.ts';
import type { ContainerTool } from './container-tool.ts';

/** Functions get an endpoint's settings. Checking ones run on unchecked settings, without rejected keys. */
export interface WorkloadDefinition<Own extends z.ZodRawShape = z.ZodRawShape> {
  key: string;
  /** Values of `key` that choose this workload; new endpoints get the last. Undefined if no other workload uses `key`. */
  values?: { names: readonly [string, ...string[]]; description: string };
  /** Schema of the workload's own keys: `key` (unless there are `values`) and others. */
  fields: Own;
  /** Messages by key of `fields`: the expectation for endpoints whose workload does not have this key. */
  elsewhere?: Readonly<Record<string, string>>;
  /** Optional common keys that this workload supports. */
  takes?: readonly (keyof typeof limitedKeys)[];
  /** Common keys (or their nested keys) without effect on this workload. Each text says the expected value, and why. */
  without?: Readonly<Record<string, string>>;
  /** Entry in the console's form; undefined for workloads that the quick-deploy catalogue offers. */
  choice?: { title: string; means: string };
  /** Text that the form shows when the workload is chosen. */
  note?: string;
  /** Hardware of the workers if the endpoint names none: `machine` for this machine's GPUs, null if unknown. */
  gpu: string | null;
  /** True if a job's input is a scene description, as the built-in renderer reads it. */
  readsScenes?: boolean;

  /** Returns a human-readable text that says what the endpoint runs. */
  words(settings: EndpointSettings & Read<Own>): string;
  /** Returns keys with those words hidden that may be secrets. */
  concealed?(settings: Read<Own>): Readonly<Record<string, unknown>>;
  /** Returns default values of common keys. */
  defaults?(settings: Read<Own>): Partial<EndpointSettings>;
  consoleDefaults?: Readonly<Record<string, unknown>>;
  /** Returns the keys that hold paths, with absolute paths. */
  inFolder?(settings: Read<Own>, folder: string): Readonly<Record<string, unknown>>;
  /** Returns explicit values for keys that earlier versions left out, so that editing another key does not change them. */
  namedDefaults?(settings: Read<Own>): Readonly<Record<string, unknown>>;
  /** Returns problems that the schema cannot find. */
  problems?(settings: Partial<EndpointSettings> & Read<Own>, publicUrl?: string): FieldExpectation[];
  /** Returns problems with files and programs that are missing on this machine. */
  missing?(settings: Partial<EndpointSettings> & Read<Own>, env: NodeJS.ProcessEnv): FieldExpectation[];
  /** Returns keys (human-readable) that the endpoint should set. Without them, containers keep rights of earlier versions. */
  unbounded?(settings: Read<Own>): string[];
  /** Returns the settings that decide which programs run on this machine, by form key. Variables can name programs, too. */
  programs?(settings: EndpointSettings & Read<Own>): Readonly<Record<string, unknown>>;
  /** Values of `nightrender work --allow` for this workload. Undefined if `work` cannot run it. */
  allowed?: AllowedNotation;
  /** Returns the value of `--allow` for workers elsewhere; undefined if the workload runs only on this machine. */
  nameElsewhere?(settings: Read<Own>): string;
  /** Returns `--allow` and the folder (default: that of service.yaml) of cluster workers; undefined if unsupported. */
  onCluster?(settings: Read<Own>): { allow: string; folder?: string };
  /** Returns the workload of the service's own workers. Undefined if all workers are elsewhere. */
  start?(settings: EndpointSettings & Read<Own>, edges: WorkloadEdges): Workload | PullWorkload;
}

/** Notation of a workload in `nightrender work --allow`. */
export interface AllowedNotation {
  /** Notation in messages, such as `image:NAME`. */
  notation: string;
  /** Beginnings of such values. In a list, a comma before one of them starts a new value. */
  beginnings: readonly [string, ...string[]];
  /** Returns keys of an endpoint that runs this workload. Undefined if the value is incomplete. */
  read(text: string): Readonly<Record<string, unknown>> | undefined;
}

type Read<Own extends z.ZodRawShape> = z.output<z.ZodObject<Own>>;

/** Returns `definition`. Infers the types of its keys from their schema. */
export function defineWorkload<Own extends z.ZodRawShape>(
  definition: WorkloadDefinition<Own>,
): WorkloadDefinition<Own> {
  return definition;
}

/** Problem with an endpoint. `field` is the path of a key in service.yaml, separated by dots. */
export interface FieldExpectation {
  field: string;
  expected: string;
}

/** Returns a list with one problem; empty if `expected` is undefined. */
export function at(field: string, expected: string | undefined): FieldExpectation[] {
  return expected === undefined ? [] : [{ field, expected }];
}

/** Addresses and key with which workers reach the service. */
export interface WorkloadContext {
  /** Address of the service on this machine. */
  url: string;
  /** Address at which other machines reach the service; undefined if not configured. */
  publicUrl?: string | undefined;
  /** Key that is valid only for this endpoint. */
  workerKey: string;
  /** Limits of a worker's answers; `defaultAnswerLimits` by default. */
  limits?: AnswerLimits;
}

/** Parts of this machine that workers need. */
export interface WorkloadNeeds {
  /** Returns the container tool, which is found on first use. Rejects with a message for people if there is none. */
  containerTool: () => Promise<ContainerTool>;
  /** Id of the service, which is derived from its data folder and the same after every start. */
  serviceId: string;
}

export type WorkloadEdges = WorkloadContext & WorkloadNeeds;

/** Returns the environment variables of a program. CUDA_VISIBLE_DEVICES restricts it to the endpoint's devices. */
export function programVariables({
  gpu,
  environment,
}: Pick<EndpointSettings, 'gpu' | 'environment'>): Record<string, string> {
  const devices = typeof gpu === 'object' ? { CUDA_VISIBLE_DEVICES: gpu.devices.join(',') } : {};
  return { ...devices, ...environment };
}

/** Returns a problem if a program is given devices that only containers support, such as /dev/dri/renderD128. */
export function deviceProblems({ gpu }: Pick<Partial<EndpointSettings>, 'gpu'>): FieldExpectation[] {
  const isPathOrKind = (device: string): boolean => device.startsWith('/') || device.includes('=');
  if (typeof gpu !== 'object' || !gpu.devices.some(isPathOrKind)) return [];
  return at(
    'gpu.devices',
    'numbers or names such as GPU-5f3c: a command or module gets them in CUDA_VISIBLE_DEVICES, which takes no paths; an image can use paths',
  );
}

/** Replaces a word or value that may be a secret. */
export const hiddenWord = '••••';

/** Entry of `without` for workloads that no cluster can run. */
export const noCluster = {
  on: 'no cluster: it runs a command or quickDeploy, such as [apptainer, run, --nv, worker.sif]',
};

export interface WorkloadJob {
  id: string;
  /** JSON text of an object as submitted, so integers beyond 2^53 stay exact. Bytes if the text is long. */
  inputText: Text;
  /** JSON text with the bucket for results and its credentials; null if the client named none. */
  s3Config: string | null;
}

/** A value as JSON text. Keeps integers exact that a JavaScript number cannot hold. */
export class JsonText {
  readonly text: Text;

  constructor(text: Text) {
    this.text = text;
  }
}

/** Returns the JSON text of an output, `null` for undefined. Throws if the output cannot be written as JSON. */
export function outputText(output: unknown): Text {
  if (output === undefined) return 'null';
  if (output instanceof JsonText) return output.text;
  // The declared type of `stringify` omits undefined, which it returns for functions and symbols.
  const text = JSON.stringify(output) as string | undefined;
  if (text === undefined) throw new Error('the output of the worker cannot be written as JSON');
  return text;
}

export interface AnswerLimits {
  maxBytes: number;
  /** Maximum number of values in the answer's JSON. */
  maxValues: number;
}

export const defaultAnswerLimits: AnswerLimits = {
  maxBytes: 100 * 1024 * 1024,
  maxValues: defaultMaxValues,
};

/** Port to user-supplied code that turns a job's input into an output. */
export interface Workload {
  name: string;
  /** Starts a worker for one job at a time. Rejects with a message for people, such as for a missing program. */
  startWorker(context: WorkerContext): Promise<Worker>;
}

export interface WorkerContext {
  /** Id that clients see in `workerId`: `[A-Za-z0-9_-]+`. */
  workerId: string;
  /** Called with each log line of the worker, in order, without its line break. */
  log(line: string): void;
  /** Aborts a start that is no longer wanted. */
  signal?: AbortSignal;
}

export interface Worker {
  /**
   * Runs a job and resolves to its output: a JSON-serialisable value or `JsonText`. An `Error` fails the job with its
   * message. `WorkerDied` and `WorkerAway` put the job back into the queue. When `signal` aborts, the result is no longer
   * wanted: the job was cancelled, timed out or went back to the queue. The promise then settles soon, if necessary
   * because the worker is killed.
   */
  run(job: WorkloadJob, report: RunReport): Promise<unknown>;
  /** Returns the memory of the worker's process and its children. Undefined for workers that cannot measure it. */
  memoryBytes?(): number;
  /** Resolves with a human-readable reason when the worker can take no more jobs. */
  readonly ended: Promise<string>;
  /** Ends the worker, if necessary by force, and resolves when all its processes have ended. Never rejects. */
  stop(): Promise<void>;
}

export interface RunReport {
  signal: AbortSignal;
  /** Reports progress, which clients see as `output` while the job is `IN_PROGRESS`. Never rejects. */
  progress(message: unknown): Promise<void>;
  /** Reports a part of the output for `GET /stream`. Never rejects. */
  stream(output: unknown): Promise<void>;
}

/** The worker ended in the middle of a job: its process exited, was killed, or no longer answers. */
export class WorkerDied extends Error {}

/** The worker ended before it began the job, so the job returns to the queue without a counted attempt. */
export class WorkerAway extends WorkerDied {}

/** Workload whose workers, such as containers, pull jobs over the network themselves. */
export interface PullWorkload {
  name: string;
  /** Starts one worker, which pulls jobs until it is stopped or ends by itself. Rejects like `startWorker`. */
  startPullWorker(context: WorkerContext): Promise<PullWorker>;
}

export type PullWorker = Pick<Worker, 'memoryBytes' | 'ended' | 'stop'>;

/** Returns a message for anything that was thrown. User code can throw values that are not errors. */
export function thrownText(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === 'string' ? error : inspect(error);
}

/** Returns a message if the path is not a file; undefined if all is well, as in every `…Expected`. */
export function moduleExpected(path: string): string | undefined {
  return kindOf(path) === 'file' ? undefined : `an existing file: ${path} is not one`;
}

export function folderExpected(path: string): string | undefined {
  return kindOf(path) === 'folder' ? undefined : `an existing folder: ${path} is not one`;
}

/** Checks that a program exists. A name that is no path is searched in `folders`. */
export function programExpected(program: string, folders: string[]): string | undefined {
  if (!isPath(program)) {
    const isFound = folders.some((folder) => folder !== '' && isProgram(join(folder, program)));
    return isFound ? undefined : `an existing program: ${program} is in no folder of PATH`;
  }
  if (isProgram(program)) return undefined;
  if (kindOf(program) !== 'file') return `an existing program: ${program} is not one`;
  return `an executable program: run chmod +x ${program}`;
}

/** True for a path, false for a name that is searched in the folders of PATH. */
export function isPath(program: string): boolean {
  return program.includes('/');
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return kindOf(path) === 'file';
  } catch {
    return false;
  }
}

function kindOf(path: string): 'file' | 'folder' | undefined {
  try {
    const found = statSync(path);
    if (found.isDirectory()) return 'folder';
    return found.isFile() ? 'file' : undefined;
  } catch {
    return undefined;
  }
}
