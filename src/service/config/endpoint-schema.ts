/** Every key of an endpoint, in service.yaml as in the console's form, which is made of this. A message says what was expected. */
import { z } from 'zod';
import { count, durationWithin, flag } from '../../lib/yaml/scalar-schemas.ts';
import { longestWait, sizeWithin } from '../../lib/yaml/scalar-schemas.ts';
import {
  address,
  blender,
  cluster,
  comfyui,
  environment,
  filePath,
  gpuDevices,
  programText,
} from './endpoint-sections.ts';
import { recycle, workerRange } from './endpoint-sections.ts';
import { image } from './image-name.ts';
import { serviceUrlExpected } from './endpoint-rules.ts';

const nameExpected = 'a name of at most 64 characters, on one line';
const idExpected = 'an id of 1 to 128 letters, digits, - and _';

export const quickDeploy = z.enum(
  ['painter', 'scene-renderer', 'blender'],
  'painter, scene-renderer or blender',
);

const argumentExpected =
  'an option of `docker run` with its value after =, such as --shm-size=1g; a separate word would be taken as the image';

const commandExpected = 'a list such as [python3, worker.py]';

const labelExpected = 'a label such as 24 GB';

const networkExpected = 'host, default, or the name of a network of docker or podman';

const capabilityExpected = 'a capability such as CHOWN, or default';

const cpusExpected = 'processors, a number from 0.01 to 1024';

/** The keys that say what a worker runs, of which an endpoint has one. */
export const workloadKeys = ['quickDeploy', 'image', 'command', 'module', 'comfyui', 'remote'] as const;

/** Those of which there are processes of their own. */
const processKeys = ['image', 'command', 'module'] as const satisfies (typeof workloadKeys)[number][];

const isBlender = { properties: { quickDeploy: { const: 'blender' } }, required: ['quickDeploy'] };

const limit = durationWithin('1s', longestWait).optional();

export const endpointSchema = z
  .strictObject({
    name: z
      .string(nameExpected)
      .regex(/^\s*[^\s\p{C}]([^\p{C}\p{Zl}\p{Zp}]{0,62}[^\s\p{C}])?\s*$/u, nameExpected)
      .transform((text) => text.trim())
      .describe('the name of the endpoint for people; unique'),
    id: z
      .string(idExpected)
      .regex(/^[A-Za-z0-9_-]{1,128}$/, idExpected)
      .optional()
      .describe('the id in the URLs of the endpoint; made of the name by default'),
    quickDeploy: quickDeploy
      .optional()
      .describe(
        'a built-in workload: `scene-renderer` (no GPU; `painter` is its old name) or `blender`, which has to be installed',
      ),
    blender: blender
      .optional()
      .describe('of `quickDeploy: blender`; paths are relative to the folder of service.yaml'),
    image: image.optional().meta({
      description:
        'a container image for linux/amd64, run by docker or podman: <registry_user>/<image_name>:<tag>',
      examples: ['registry_user/image_name:tag'],
    }),
    arguments: z
      .array(programText.regex(/^--?[A-Za-z0-9]/, argumentExpected), 'a list such as [--shm-size=1g]')
      .optional()
      .meta({
        title: 'Further arguments',
        description: 'more options of `docker run`, each with its value after =, such as --shm-size=1g',
      }),
    network: z
      .string(networkExpected)
      .regex(/^(?!none$)[A-Za-z0-9][A-Za-z0-9_.:,=/-]*$/, networkExpected)
      .optional()
      .meta({
        description:
          'the network of the containers: `default` for that of docker or podman, a name, or `host` for that of this machine, with all that listens there',
        examples: ['default'],
      }),
    serviceUrl: address(serviceUrlExpected)
      .optional()
      .meta({
        title: 'Address of the service',
        description:
          'the address at which the containers reach this service, unless their network is `host`; `publicUrl` by default',
        examples: ['http://172.17.0.1:4747'],
      }),
    capabilities: z
      .array(
        z.string(capabilityExpected).regex(/^(default|(CAP_)?[A-Z][A-Z_]*)$/, capabilityExpected),
        'a list such as [CHOWN, SETUID, SETGID]',
      )
      .optional()
      .meta({
        description:
          'capabilities that containers keep, such as CHOWN; with a list, processes gain no privileges and are 4,096 at most. `default` leaves all that to docker or podman',
      }),
    command: z
      .array(programText, commandExpected)
      .min(1, commandExpected)
      .refine(([program]) => program !== '', { path: [0], message: 'the name or path of a program' })
      .optional()
      .meta({
        description:
          'a program with its arguments; it reads jobs from standard input and writes results to standard output',
        examples: [['python3', 'worker.py']],
      }),
    cwd: filePath.optional().meta({
      title: 'Folder',
      description:
        'the folder in which the command runs, relative to that of service.yaml, which it is by default',
    }),
    module: filePath
      .regex(/\.[cm]?[jt]s$/, 'the path of a JavaScript module, such as ./handler.mjs')
      .optional()
      .meta({
        title: 'File of the module',
        description: 'a JavaScript module that exports `handler`',
        examples: ['/srv/worker.mjs'],
      }),
    comfyui: comfyui
      .optional()
      .describe('boxes with ComfyUI, each of which is one worker, and the workflow that they run'),
    remote: z
      .literal(true, 'true')
      .optional()
      .describe('true leaves the jobs to workers elsewhere and starts none here'),
    workers: z
      .union(
        [count(0, 1_000, 'workers that are started here'), workerRange],
        'workers that are started here, a whole number from 0 to 1000, or such as {min: 0, max: 8, idle: 5m}',
      )
      .optional()
      .meta({
        description:
          'workers started at most, 1 by default; 0 leaves the jobs to workers elsewhere. One that keeps exiting is restarted after 2 s to 1 min',
      }),
    on: z
      .union(
        [z.literal('slurm'), cluster],
        'slurm, or such as {slurm: [--gres=gpu:1]}; for Kubernetes see nightrender help kubernetes-workers',
      )
      .optional()
      .meta({
        title: 'Workers run on',
        description: 'a cluster that runs the workers as jobs: as many of `workers` as the queue asks for',
      }),
    quickStart: flag.describe('keeps workers running instead of starting them for jobs'),
    gpu: z
      .union(
        [
          z
            .string(labelExpected)
            .regex(/^[^\p{C}]{1,64}$/u, labelExpected)
            .regex(/\S/, labelExpected),
          gpuDevices,
        ],
        'a label such as 24 GB, or devices such as {devices: [0, 1]}',
      )
      .optional()
      .meta({
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
      .describe('how often a job is retried after its worker died, before it fails; 2 by default'),
    maxQueued: count(1, 10_000_000, 'jobs that wait').optional().meta({
      title: 'Longest queue',
      description:
        'submissions are answered with 429 while this many jobs wait; `limits.maxQueued` by default',
    }),
    recycle: recycle
      .optional()
      .describe(
        'a worker beyond one of these is replaced when its job is done; by default only that of Blender is, after 200 jobs',
      ),
    stall: limit.meta({
      title: 'Stall time',
      description:
        'a worker that writes no progress, stream or log line of its job for so long is ended, and the job retried; never by default',
    }),
    environment: environment.meta({
      title: 'Variables',
      description:
        'environment variables of the workers; those that the service sets itself, such as RUNPOD_POD_ID, are refused',
    }),
  })
  .meta({
    oneOf: workloadKeys.map((key) => ({ required: [key] })),
    dependencies: {
      arguments: ['image'],
      blender: isBlender,
      cwd: ['command'],
      memory: { anyOf: [...processKeys.map((key) => ({ required: [key] })), isBlender] },
      cpus: ['image'],
      network: ['image'],
      serviceUrl: ['image'],
      capabilities: { anyOf: [{ required: ['image'] }, isBlender] },
      on: ['workers'],
    },
  });

export type FileEndpoint = z.output<typeof endpointSchema>;
