/** Settings of an endpoint, and the schema of their keys in service.yaml and in the console's form. */
import { z } from 'zod';
import { isJsonObject } from '../../lib/text/json.ts';
import {
  count,
  durationText,
  durationWithin,
  flag,
  longestWait,
  programText,
  sizeWithin,
} from '../../lib/yaml/scalar-schemas.ts';
import { defaultTerms } from './job.ts';

/** Default time in ms for which a worker that was started for a job is kept without one. */
export const defaultIdleMs = 60_000;

const nameExpected = 'a name of at most 64 characters, on one line';
const idExpected = 'an id of 1 to 128 letters, digits, - and _';

/** Keys that name an endpoint for people and programs. */
export const identityFields = {
  name: z
    .string(nameExpected)
    .regex(/^\s*[^\s\p{C}]([^\p{C}\p{Zl}\p{Zp}]{0,62}[^\s\p{C}])?\s*$/u, nameExpected)
    .overwrite((text) => text.trim())
    .describe('the name of the endpoint for people; unique'),
  id: z
    .string(idExpected)
    .regex(/^[A-Za-z0-9_-]{1,128}$/, idExpected)
    .optional()
    .describe('the id in the URLs of the endpoint; made of the name by default'),
};

const workerRange = z
  .strictObject({
    min: count(0, 1_000, 'workers that are kept')
      .default(0)
      .meta({ title: 'Kept without a job', description: 'workers that are kept without a job' }),
    max: count(1, 1_000, 'workers that are started here').describe('workers that are started at most'),
    idle: durationWithin('1s', longestWait).prefault(durationText(defaultIdleMs)).meta({
      title: 'Idle time',
      description: 'how long one more than these is kept without a job',
    }),
  })
  .refine(({ min, max }) => min <= max, { path: ['min'], message: 'at most `max`' })
  .describe('a range, to keep some workers without a job');

const workers = z.codec(
  z.union(
    [count(0, 1_000, 'workers that are started here'), workerRange],
    'workers that are started here, a whole number from 0 to 1000, or such as {min: 0, max: 8, idle: 5m}',
  ),
  z.object({ min: z.number(), max: z.number(), idle: z.number() }),
  {
    decode: (given) => (typeof given === 'number' ? workersUpTo(given) : given),
    encode: (range) => (range.min === 0 && range.idle === defaultIdleMs ? range.max : range),
  },
);

/** Numbers of workers, kept and maximum. `idle`: ms for which the others are kept without a job. */
type WorkerRange = { min: number; max: number; idle: number };

export function workersUpTo(max: number): WorkerRange {
  return { min: 0, max, idle: defaultIdleMs };
}

const sbatchExpected = 'an option of sbatch with its value after =, such as --gres=gpu:1';

/** Options that the service sets itself, because it finds its workers by them. */
const ownOptions = /^--(array|comment|export(-file)?|job-name|parsable|test-only|wait|wrap)(=|$)/;

const cluster = z.strictObject({
  slurm: z
    .array(
      z
        .string(sbatchExpected)
        .regex(/^--[a-z][^\p{C}]*$/u, sbatchExpected)
        .refine((option) => !ownOptions.test(option), 'no option that names or counts jobs'),
      'options of sbatch such as [--gres=gpu:1, --time=8:00:00]',
    )
    .meta({
      title: 'Options of sbatch',
      description: 'options of sbatch, each with its value after =',
      examples: [['--gres=gpu:1', '--time=8:00:00']],
    }),
});

const on = z.codec(
  z.union(
    [z.literal('slurm'), cluster],
    'slurm, or such as {slurm: [--gres=gpu:1]}; for Kubernetes see nightrender help kubernetes-workers',
  ),
  z.object({ slurm: z.array(z.string()) }),
  {
    decode: (given) => (given === 'slurm' ? { slurm: [] } : given),
    encode: (given) => (given.slurm.length === 0 ? 'slurm' : given),
  },
);

const devicesExpected = 'devices of this machine, such as [0, 1], each once';
const deviceExpected =
  'a device of this machine: a number from 0, or a name such as GPU-5f3c or /dev/dri/renderD128';

const device = z.codec(
  z.union(
    [
      z.int(deviceExpected).min(0, deviceExpected).max(1_023, deviceExpected),
      z.string(deviceExpected).regex(/^[A-Za-z0-9_./:=][A-Za-z0-9_./:=-]{0,127}$/, deviceExpected),
    ],
    deviceExpected,
  ),
  z.string(),
  { decode: String, encode: (text) => text },
);

const gpuDevices = z.strictObject({
  devices: z
    .array(device, devicesExpected)
    .min(1, devicesExpected)
    .max(64, devicesExpected)
    .refine((all) => new Set(all).size === all.length, devicesExpected)
    .meta({
      title: 'GPU devices',
      description:
        'devices of this machine: by number, name or path for a container; by number or name, in CUDA_VISIBLE_DEVICES, for a command or module',
    }),
});

const labelExpected = 'a label such as 24 GB';

const gpu = z.union(
  [
    z
      .string(labelExpected)
      .regex(/^[^\p{C}]{1,64}$/u, labelExpected)
      .regex(/\S/, labelExpected),
    gpuDevices,
  ],
  'a label such as 24 GB, or devices such as {devices: [0, 1]}',
);

const recycle = z.strictObject({
  jobs: count(1, 1_000_000, 'jobs of one worker')
    .optional()
    .meta({ title: 'Jobs of a worker', description: 'jobs that one worker does' }),
  memory: sizeWithin('16MB', '16000GB').optional().meta({
    title: 'Memory of a worker',
    description: 'memory of a command or module and the processes it has started',
  }),
  time: durationWithin('1s', longestWait)
    .optional()
    .meta({ title: 'Age of a worker', description: 'how long one worker is used' }),
});

/** Variables that the service sets itself: the worker's id, its key, and the URLs that it pulls from. */
const ownVariables = 'RUNPOD_(WEBHOOK_.*|PING_INTERVAL|ENDPOINT_ID|POD_ID|AI_API_KEY)';
const isOwn = new RegExp(`^${ownVariables}$`);
const environmentExpected = 'names with texts, such as {MODEL: x}';
const variableName = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/;

/** A custom schema, because a zod record drops `__proto__` silently. */
const environment = z
  .custom<Record<string, string>>(isJsonObject, environmentExpected)
  .superRefine((given, context) => {
    for (const [name, value] of Object.entries(given)) {
      const wrongName = nameProblem(name);
      if (wrongName !== undefined)
        context.addIssue({ code: 'custom', path: [name], message: wrongName, params: { isOfName: true } });
      const read = programText.safeParse(value);
      for (const { message } of read.error?.issues ?? [])
        context.addIssue({ code: 'custom', path: [name], message });
    }
  })
  .meta({
    type: 'object',
    propertyNames: {
      pattern: `^(?!(${ownVariables}|NIGHTRENDER_API_KEY|__proto__)$)[A-Za-z_][A-Za-z0-9_]*$`,
    },
    additionalProperties: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] },
  })
  .prefault({});

function nameProblem(name: string): string | undefined {
  if (isOwn.test(name)) return 'another name: the service sets this one itself';
  if (name === 'NIGHTRENDER_API_KEY') return 'another name: workers never get the key of the service';
  return variableName.test(name)
    ? undefined
    : 'a name of letters, digits and _ that does not begin with a digit';
}

const cpusExpected = 'processors, a number from 0.01 to 1024';
const limit = durationWithin('1s', longestWait).optional();

export const commonFields = {
  workers: workers.optional().meta({
    description:
      'workers started at most, 1 by default; 0 leaves the jobs to workers elsewhere. One that keeps exiting is restarted after 2 s to 1 min',
  }),
  on: on.optional().meta({
    title: 'Workers run on',
    description: 'a cluster that runs the workers as jobs: as many of `workers` as the queue asks for',
  }),
  quickStart: flag.describe('keeps workers running instead of starting them for jobs'),
  gpu: gpu.optional().meta({
    title: 'GPU configuration',
    description:
      'the GPU: a label for people such as `24 GB`, or `devices` of this machine, which workers are given',
  }),
  memory: sizeWithin('16MB', '16000GB')
    .optional()
    .describe(
      'the memory limit of a container, or of the process of a command or module, such as 8GB; one that exceeds it is killed. None by default',
    ),
  cpus: z
    .number(cpusExpected)
    .min(0.01, cpusExpected)
    .max(1024, cpusExpected)
    .optional()
    .meta({ title: 'CPUs', description: 'the processor limit of a container; none by default' }),
  executionTimeout: limit.meta({
    title: 'Execution time-out',
    description: 'a job that takes longer in a worker is TIMED_OUT; 10m by default',
  }),
  ttl: limit.meta({
    title: 'Time to live',
    description: 'a job that has not ended this long after its submission is TIMED_OUT; 24h by default',
  }),
  retries: count(0, 100, 'times that a job is tried again')
    .optional()
    .describe('retries of a job after its worker died, before it fails; 2 by default'),
  maxQueued: count(1, 10_000_000, 'jobs that wait').optional().meta({
    title: 'Longest queue',
    description: 'submissions are answered with 429 while this many jobs wait; `limits.maxQueued` by default',
  }),
  recycle: recycle
    .optional()
    .describe(
      'a worker beyond one of these is replaced when its job is done; by default only that of Blender is, after 200 jobs',
    ),
  stall: limit.meta({
    title: 'Stall time',
    description:
      'a worker that writes no progress, stream or log line of its job for this long is ended, and the job is retried; no limit by default',
  }),
  environment: environment.meta({
    title: 'Variables',
    description:
      'environment variables of the workers; those that the service sets itself, such as RUNPOD_POD_ID, are refused',
  }),
};

/** Messages for keys that not every workload accepts. */
export const limitedKeys = {
  memory: 'no memory limit: only an image, a command or a module can have one',
  cpus: 'no processor limit: only an image can have one',
} as const;

const fields = z.object({ ...identityFields, ...commonFields });

type Fields = z.output<typeof fields>;

type Defaulted = 'id' | 'workers' | 'executionTimeout' | 'ttl' | 'retries' | 'maxQueued' | 'recycle';

type CommonSettings = Omit<Fields, Defaulted> & { [Key in Defaulted]: NonNullable<Fields[Key]> };

/** An endpoint with all defaults. Durations are ms, sizes bytes, paths absolute. Only its workload types its keys. */
export type EndpointSettings = CommonSettings & Readonly<Record<string, unknown>>;

/** Returns the settings of an endpoint with defaults. `workers` is as in service.yaml. */
export function endpointSettings(
  {
    workers: wanted = 1,
    ...given
  }: Omit<Partial<CommonSettings>, 'workers'> & { id: string; workers?: number | WorkerRange },
  workload: Readonly<Record<string, unknown>> = { quickDeploy: 'scene-renderer' },
): EndpointSettings {
  const { ttl = defaultTerms.ttlMs } = given;
  const written = Object.entries(given).filter(([, value]) => value !== undefined);
  return {
    name: given.id,
    ...workload,
    workers: typeof wanted === 'number' ? workersUpTo(wanted) : wanted,
    quickStart: false,
    recycle: {},
    environment: {},
    retries: defaultTerms.maxRetries,
    executionTimeout: Math.min(defaultTerms.executionTimeoutMs, ttl),
    ttl,
    maxQueued: 1_000_000,
    ...(Object.fromEntries(written) as typeof given),
  };
}

/** A problem with one field of a form. `field` is the path of its key, joined with dots. */
export interface FieldProblem {
  field: string;
  text: string;
}
