/** Definition of a workload: its keys in service.yaml, its rules, its part of the console's form, and its workers. */
import type { z } from 'zod';
import type { EndpointSettings, limitedKeys } from '../model/endpoint-settings.ts';
import type { ContainerTool } from './container-tool.ts';
import type { AnswerLimits, PullWorkload, Workload } from './workload.ts';

/**
 * Functions get the settings of an endpoint with this workload. Checking functions run on unchecked settings: keys that
 * their schema rejects are left out, except for the key that chooses the workload.
 */
export interface WorkloadDefinition<Own extends z.ZodRawShape = z.ZodRawShape> {
  /** Key of service.yaml that chooses the workload. */
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
  /** Default values of endpoints that are created in the console. */
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
  /** Returns the value of `--allow` for workers elsewhere; undefined if the workload runs only on this machine. */
  nameElsewhere?(settings: Read<Own>): string;
  /** Returns `--allow` and the folder (default: that of service.yaml) of cluster workers; undefined if unsupported. */
  onCluster?(settings: Read<Own>): { allow: string; folder?: string };
  /** Returns the workload of the service's own workers. Undefined if all workers are elsewhere. */
  start?(settings: EndpointSettings & Read<Own>, edges: WorkloadEdges): Workload | PullWorkload;
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
