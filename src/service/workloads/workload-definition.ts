/** What a workload is to the service: one definition makes its keys in service.yaml, its rules, its part of the console's form, its words, and its workers. */
import type { z } from 'zod';
import type { EndpointSettings, limitedKeys } from '../model/endpoint-settings.ts';
import type { ContainerTool } from './container-tool.ts';
import type { AnswerLimits, PullWorkload, Workload } from './workload.ts';

/**
 * Functions get the settings of an endpoint that has this workload. Those that check an endpoint run before anything is
 * known to be right: a key that is wrong by itself is left out of what they get, except that which names the workload.
 */
export interface WorkloadDefinition<Own extends z.ZodRawShape = z.ZodRawShape> {
  /** The key of service.yaml that chooses the workload. */
  key: string;
  /** Values of the key that choose it, earlier names first: new endpoints get the last. Undefined if no other workload has the key. */
  values?: { names: readonly [string, ...string[]]; description: string };
  /** Schema of the keys that the workload brings: `key`, unless it has `values`, and others. */
  fields: Own;
  /** For each of the others: what is expected of an endpoint that has no workload with this key. */
  elsewhere?: Readonly<Record<string, string>>;
  /** Keys that it takes, of those that not every workload does. */
  takes?: readonly (keyof typeof limitedKeys)[];
  /** Common keys, or keys within them, that have no effect on it. The text is what is expected instead, and why. */
  without?: Readonly<Record<string, string>>;
  /** Its place in the console's form; undefined for what the catalogue of quick deploy offers. */
  choice?: { title: string; means: string };
  /** Shown in the form once it is chosen. */
  note?: string;
  /** What its workers compute on if the endpoint does not say; `machine` for the GPUs of this machine, null if unknown. */
  gpu: string | null;
  /** True if a job's input is a scene in words, as our own renderer reads it. */
  readsScenes?: boolean;

  /** Returns what the endpoint runs, in words for people. */
  words(settings: EndpointSettings & Read<Own>): string;
  /** Returns keys with their words hidden, which may be secrets. */
  concealed?(settings: Read<Own>): Readonly<Record<string, unknown>>;
  /** Returns what is taken for keys that are left out. */
  defaults?(settings: Read<Own>): Partial<EndpointSettings>;
  /** Keys that a new endpoint of the console has unless its form says otherwise. */
  consoleDefaults?: Readonly<Record<string, unknown>>;
  /** Returns keys with paths, made absolute. */
  inFolder?(settings: Read<Own>, folder: string): Readonly<Record<string, unknown>>;
  /** Returns keys that earlier versions left out, so that a change of another key leaves the endpoint as it is. */
  namedDefaults?(settings: Read<Own>): Readonly<Record<string, unknown>>;
  /** Returns what keeps it from working, beside what the schema says. */
  problems?(settings: Partial<EndpointSettings> & Read<Own>, publicUrl?: string): FieldExpectation[];
  /** Returns what its workers miss on this machine. */
  missing?(settings: Partial<EndpointSettings> & Read<Own>, env: NodeJS.ProcessEnv): FieldExpectation[];
  /** Returns keys to write, in words: without them its containers have the rights that earlier versions gave them. */
  unbounded?(settings: Read<Own>): string[];
  /** Returns what decides which programs run on this machine, by the keys of the form. Variables can name programs as well. */
  programs?(settings: EndpointSettings & Read<Own>): Readonly<Record<string, unknown>>;
  /** Returns what a machine elsewhere may be allowed to run for the endpoint; undefined for what is of this machine alone. */
  nameElsewhere?(settings: Read<Own>): string;
  /** Returns what workers of a cluster are allowed to run, and where, if not in the folder of service.yaml. Undefined if none can. */
  onCluster?(settings: Read<Own>): { allow: string; folder?: string };
  /** Returns what the service's own workers run; undefined if all workers are elsewhere. */
  start?(settings: EndpointSettings & Read<Own>, edges: WorkloadEdges): Workload | PullWorkload;
}

type Read<Own extends z.ZodRawShape> = z.output<z.ZodObject<Own>>;

/** Infers the keys of a definition from their schema. */
export function defineWorkload<Own extends z.ZodRawShape>(
  definition: WorkloadDefinition<Own>,
): WorkloadDefinition<Own> {
  return definition;
}

/** A problem with an endpoint: `field` is the path of a key of service.yaml, with dots within it. */
export interface FieldExpectation {
  field: string;
  expected: string;
}

/** Returns the problem at a key; none if nothing is expected. */
export function at(field: string, expected: string | undefined): FieldExpectation[] {
  return expected === undefined ? [] : [{ field, expected }];
}

/** What workers need to reach the service. */
export interface WorkloadContext {
  /** Of the service, on this machine. */
  url: string;
  /** Where others reach it; undefined if nobody has said. */
  publicUrl?: string | undefined;
  /** For the endpoint alone. */
  workerKey: string;
  /** Of what its workers answer; the usual ones by default. */
  limits?: AnswerLimits;
}

/** What workers need of this machine. */
export interface WorkloadNeeds {
  /** Looked for when the first container is to be started; rejects in words where there is none. */
  containerTool: () => Promise<ContainerTool>;
  /** The same at each start, and another for each data folder. */
  serviceId: string;
}

export type WorkloadEdges = WorkloadContext & WorkloadNeeds;

/** Returns the variables of a program of this machine: it sees the devices that it is given, and no others. */
export function programVariables({
  gpu,
  environment,
}: Pick<EndpointSettings, 'gpu' | 'environment'>): Record<string, string> {
  const devices = typeof gpu === 'object' ? { CUDA_VISIBLE_DEVICES: gpu.devices.join(',') } : {};
  return { ...devices, ...environment };
}

/** Tells which devices a program cannot be given: /dev/dri/renderD128 and amd.com/gpu=0 are for containers. */
export function deviceProblems({ gpu }: Pick<Partial<EndpointSettings>, 'gpu'>): FieldExpectation[] {
  const isPathOrKind = (device: string): boolean => device.startsWith('/') || device.includes('=');
  if (typeof gpu !== 'object' || !gpu.devices.some(isPathOrKind)) return [];
  return at(
    'gpu.devices',
    'numbers or names such as GPU-5f3c: a command or module gets them in CUDA_VISIBLE_DEVICES, which takes no paths; an image can use paths',
  );
}

/** Stands in the place of a word or a value that may be a secret. */
export const hiddenWord = '••••';

/** Keys without effect if no cluster can run the workers. */
export const noCluster = {
  on: 'no cluster: it runs a command or quickDeploy, such as [apptainer, run, --nv, worker.sif]',
};
