/** What an endpoint is: what the console and service.yaml ask for. */
import { defaultTerms } from './jobs/job.ts';
import type { WorkflowSet } from './workloads/job-workflow.ts';

export interface EndpointSettings {
  /** As it stands in the endpoint's addresses: `[A-Za-z0-9_-]{1,128}`. */
  id: string;
  /** Unique, for people. */
  name: string;
  workload: WorkloadSettings;
  /** The cluster that runs the workers: options of sbatch, and the folder, absolute, for their logs; null for this machine. */
  on: { slurm: string[]; folder: string } | null;
  /** How many workers the service itself starts; 0 leaves the jobs to workers elsewhere that pull. */
  workers: number;
  /** How many of these are kept without a job. */
  minWorkers: number;
  /** How long the others are. */
  idleMs: number;
  /** Keeps all of them. */
  quickStart: boolean;
  /** A worker is replaced after its job beyond one of these; null for no bound. */
  recycle: Recycle;
  /** A worker that shows no sign of its job for so long is ended, and the job given back; null for never. */
  stallMs: number | null;
  /** A label for people such as `24 GB`, or devices of this machine; null for none. */
  gpu: { label: string } | { devices: string[] } | null;
  /** Of a container. Bytes and processors; null for no bound. */
  memoryBytes: number | null;
  cpus: number | null;
  /** Network of containers, or `default` for that of the tool; undefined if nobody has said, as in earlier versions: that of the machine. */
  network?: string;
  /** Where containers reach the service, without a slash at the end; undefined for `publicUrl`. */
  serviceUrl?: string;
  /** Capabilities that containers keep, or `default` for those that the tool gives; undefined if nobody has said, which means the same. */
  capabilities?: string[];
  /** For the worker's environment. */
  environment: Record<string, string>;
  /** How often a job is put back into the queue because its worker died, before it fails. */
  retries: number;
  /** Bounds of jobs that bring none of their own: in a worker, and from submission to end. */
  executionTimeoutMs: number;
  ttlMs: number;
  /** Submissions beyond this are answered with 429. */
  maxQueued: number;
}

/** Jobs, bytes of memory of its process and the children of that, and ms since its start. */
export interface Recycle {
  jobs: number | null;
  memoryBytes: number | null;
  ms: number | null;
}

export const neverRecycled: Recycle = { jobs: null, memoryBytes: null, ms: null };

/** Of Blender, which leaks. */
export const blenderRecycle: Recycle = { ...neverRecycled, jobs: 200 };

/** How long a worker that was started for a job is kept without one. */
export const defaultIdleMs = 60_000;

export type WorkloadSettings =
  /** Quick deploy; `painter` is the old name of scene-renderer, which files, keys and workers elsewhere may still say. */
  | { kind: 'prebuilt'; name: 'painter' | 'scene-renderer' }
  /** The same: the program where it is not in PATH, folders of files and of scripts that jobs may name, all absolute, and an image to run it in. */
  | {
      kind: 'blender';
      program: string | null;
      assets: string | null;
      scripts: string | null;
      image: string | null;
    }
  /** `<registry_user>/<image_name>:<tag>`, with further arguments for `docker run`. */
  | { kind: 'image'; image: string; arguments: string[] }
  /** A program that reads jobs from its standard input and writes results to its standard output. */
  | { kind: 'command'; command: string[]; cwd: string | null }
  /** A JavaScript module that exports `handler`; absolute. */
  | { kind: 'module'; path: string }
  /** Boxes with ComfyUI, by their addresses, and a workflow in API format, absolute, with what is set in it. */
  | { kind: 'comfyui'; urls: string[]; workflow: string; set: WorkflowSet }
  /** Workers elsewhere pull; the service starts none. */
  | { kind: 'remote' };

/** What is wrong with one field of a form; `field` is the path of its key, with dots within it. */
export interface FieldProblem {
  field: string;
  text: string;
}

/** An endpoint of which only this is known to be wanted; workers draw. */
export function endpointSettings(given: Partial<EndpointSettings> & { id: string }): EndpointSettings {
  return {
    name: given.id,
    workload: { kind: 'prebuilt', name: 'scene-renderer' },
    on: null,
    workers: 1,
    minWorkers: 0,
    idleMs: defaultIdleMs,
    quickStart: false,
    recycle: neverRecycled,
    stallMs: null,
    gpu: null,
    memoryBytes: null,
    cpus: null,
    environment: {},
    retries: defaultTerms.maxRetries,
    executionTimeoutMs: defaultTerms.executionTimeoutMs,
    ttlMs: defaultTerms.ttlMs,
    maxQueued: 1_000_000,
    ...given,
  };
}
