/** What each field of an endpoint may hold, in service.yaml as in the console's form. A message says what was expected. */
import { z } from 'zod';
import { count, flag, durationWithin, longestWait, sizeWithin } from '../../lib/yaml/scalar-schemas.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { ownVariables } from '../workloads/worker-environment.ts';

/** What can be an argument: C ends a string at a NUL. */
const programText = z
  .string('a text')
  .max(100_000, 'a text of at most 100000 characters')
  .refine((given) => !given.includes('\0'), 'a text without NUL characters');

const environmentExpected = 'names with texts, such as {MODEL: x}';
const variableName = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/;

/** A record of zod would lose __proto__ without a word. */
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

const component = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const host = String.raw`(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*:\d+)`;
const tag = ':[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const digest = '@sha256:[0-9a-f]{64}';

/** `<registry_user>/<image_name>:<tag>`, perhaps with a registry in front and a digest behind or in the tag's place. */
const imagePattern = `^(?:${host}/${component}|${component}/${component})(?:/${component})*(?:${tag}(?:${digest})?|${digest})$`;

const imageName = new RegExp(imagePattern);

const maxLength = 255;

const nameExpected = 'a name of at most 64 characters, on one line';
const idExpected = 'an id of 1 to 128 letters, digits, - and _';
const cpusExpected = 'processors, a number from 0.01 to 1024';

/** Those that are written alike in both. */
export const commonFields = {
  name: z
    .string(nameExpected)
    .regex(/^\s*[^\s\p{C}]([^\p{C}\p{Zl}\p{Zp}]{0,62}[^\s\p{C}])?\s*$/u, nameExpected)
    .transform((text) => text.trim())
    .describe('the name of the endpoint for people; unique'),
  workers: count(0, 1_000, 'workers that are started here')
    .optional()
    .describe(
      'workers started on this machine, 1 by default; 0 leaves the jobs to workers elsewhere. A worker that keeps exiting is restarted after 2 s to 1 min, while its jobs wait',
    ),
  quickStart: flag.describe('true keeps workers running instead of starting them for jobs'),
  environment: environment.describe(
    'environment variables of the workers; those that the service sets itself, such as RUNPOD_POD_ID, are refused',
  ),
  retries: count(0, 100, 'times that a job is tried again')
    .optional()
    .describe('how often a job is retried after its worker died, before it fails; 2 by default'),
  executionTimeout: durationWithin('1s', longestWait)
    .optional()
    .describe('a job that takes longer in a worker is TIMED_OUT; 10m by default'),
  ttl: durationWithin('1s', longestWait)
    .optional()
    .describe('a job that has not ended this long after its submission is TIMED_OUT; 24h by default'),
  maxQueued: count(1, 10_000_000, 'jobs that wait')
    .optional()
    .describe('submissions are answered with 429 while this many jobs wait'),
};

export const workerRange = z
  .strictObject({
    min: count(0, 1_000, 'workers that are kept').default(0).describe('workers that are kept without a job'),
    max: count(1, 1_000, 'workers that are started here'),
    idle: durationWithin('1s', longestWait)
      .prefault('1m')
      .describe('how long one more than these is kept without a job'),
  })
  .refine(({ min, max }) => min <= max, { path: ['min'], message: 'at most `max`' });

const sbatchExpected = 'an option of sbatch with its value after =, such as --gres=gpu:1';

/** What the service says itself, for it finds its workers by that. */
const ownOptions = /^--(array|comment|export(-file)?|job-name|parsable|test-only|wait|wrap)(=|$)/;

export const cluster = z.strictObject({
  slurm: z
    .array(
      z
        .string(sbatchExpected)
        .regex(/^--[a-z][^\p{C}]*$/u, sbatchExpected)
        .refine((option) => !ownOptions.test(option), 'no option that names or counts jobs'),
      'options of sbatch such as [--gres=gpu:1, --time=8:00:00]',
    )
    .describe('options of sbatch, each with its value after ='),
});

export const clusterChoice = z
  .union(
    [z.literal('slurm'), cluster],
    'slurm, or such as {slurm: [--gres=gpu:1]}; for Kubernetes see nightrender help kubernetes-workers',
  )
  .describe('a cluster that runs the workers as jobs: as many of `workers` as the queue asks for');

export const recycle = z
  .strictObject({
    jobs: count(1, 1_000_000, 'jobs of one worker').optional().describe('jobs that one worker does'),
    memory: sizeWithin('16MB', '16000GB')
      .optional()
      .describe('memory of a command or module and the processes it has started'),
    time: durationWithin('1s', longestWait).optional().describe('how long one worker is used'),
  })
  .describe('a worker beyond one of these is replaced when its job is done');

export const stall = durationWithin('1s', longestWait).describe(
  'a worker that writes no progress, stream or log line of its job for so long is ended, and the job retried; never by default',
);

export const id = z
  .string(idExpected)
  .regex(/^[A-Za-z0-9_-]{1,128}$/, idExpected)
  .describe('the id in the URLs of the endpoint; made of the name by default');

export const memory = sizeWithin('16MB', '16000GB').describe(
  'the memory limit of a container, or of the process of a command or module, such as 8GB; one that exceeds it is killed',
);

export const cpus = z
  .number(cpusExpected)
  .min(0.01, cpusExpected)
  .max(1024, cpusExpected)
  .describe('the processor limit of a container');

export const quickDeploy = z
  .enum(['painter', 'scene-renderer', 'blender'], 'painter, scene-renderer or blender')
  .describe(
    'a built-in workload: `painter` (no GPU), `scene-renderer` or `blender`, which has to be installed',
  );

export const image = z
  .string('an image such as user/name:1.0')
  .superRefine((name, context) => {
    const message = imageExpected(name);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  })
  .meta({ pattern: imagePattern })
  .describe('a container image, run by docker or podman: <registry_user>/<image_name>:<tag>');

const labelExpected = 'a label such as 24 GB';

export const gpuLabel = z
  .string(labelExpected)
  .regex(/^[^\p{C}]{1,64}$/u, labelExpected)
  .regex(/\S/, labelExpected);

const devicesExpected = 'devices of this machine, such as [0, 1], each once';
const deviceExpected =
  'a device of this machine: a number from 0, or a name such as GPU-5f3c or /dev/dri/renderD128';

export const device = z
  .string(deviceExpected)
  .regex(/^[A-Za-z0-9_./:=][A-Za-z0-9_./:=-]{0,127}$/, deviceExpected);

/** By numbers or by names. */
export const deviceNumber = z.int(deviceExpected).min(0, deviceExpected).max(1_023, deviceExpected);

export function devicesOf<T>(each: z.ZodType<T>) {
  return z
    .array(each, devicesExpected)
    .min(1, devicesExpected)
    .max(64, devicesExpected)
    .refine((all) => new Set(all.map(String)).size === all.length, devicesExpected)
    .describe(
      'devices of this machine: by number, name or path for a container; by number or name, in CUDA_VISIBLE_DEVICES, for a command or module',
    );
}

const commandExpected = 'a list such as [python3, worker.py]';

export const command = z
  .array(programText, commandExpected)
  .min(1, commandExpected)
  .refine(([program]) => program !== '', { path: [0], message: 'the name or path of a program' })
  .describe(
    'a program with its arguments; it reads jobs from standard input and writes results to standard output',
  );

const argumentExpected =
  'an option of `docker run` with its value after =, such as --shm-size=1g; a separate word would be taken as the image';

export const dockerArguments = z
  .array(programText.regex(/^--?[A-Za-z0-9]/, argumentExpected), 'a list such as [--shm-size=1g]')
  .describe('more options of `docker run`, each with its value after =, such as --shm-size=1g');

export const folderPath = programText.min(1, 'a path');

const blenderPath = folderPath.nullable().default(null);

export const blender = z
  .strictObject({
    program: blenderPath.describe('the program; else the one in PATH'),
    assets: blenderPath.describe(
      'the folder of .blend, glTF and OBJ files that jobs may name; none by default',
    ),
    scripts: blenderPath.describe(
      'the folder of Python scripts that jobs may run, with the rights of the service; none by default',
    ),
    image: image
      .nullable()
      .default(null)
      .describe('an image with Blender, in which podman or docker runs it'),
  })
  .describe('of `quickDeploy: blender`; paths are relative to this file');

export const modulePath = folderPath
  .regex(/\.[cm]?[jt]s$/, 'the path of a JavaScript module, such as ./handler.mjs')
  .describe('a JavaScript module that exports `handler`');

const isOwn = new RegExp(`^${ownVariables}$`);

function nameProblem(name: string): string | undefined {
  if (isOwn.test(name)) return 'another name: the service sets this one itself';
  if (name === 'NIGHTRENDER_API_KEY') return 'another name: workers never get the key of the service';
  return variableName.test(name)
    ? undefined
    : 'a name of letters, digits and _ that does not begin with a digit';
}

/** Undefined where nothing is wrong with it. */
export function imageExpected(text: string): string | undefined {
  if (text.length > maxLength) return `an image of at most ${maxLength} characters`;
  if (imageName.test(text)) return undefined;
  if (imageName.test(`${text}:1`)) return `a tag or digest as well, such as ${text}:1.0`;
  if (imageName.test(`user/${text}`)) return `the registry's user in front, such as library/${text}`;
  if (imageName.test(`user/${text}:1`))
    return `the registry's user and a tag as well, such as library/${text}:1.0`;
  if (imageName.test(text.toLowerCase())) return 'an image in lower case, such as user/name:1.0';
  return 'an image such as user/name:1.0 or registry.example.com:5000/user/name:1.0';
}
