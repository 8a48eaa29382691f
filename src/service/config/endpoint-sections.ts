/** The keys of an endpoint that hold keys of their own. A message says what was expected. */
import { z } from 'zod';
import { count, durationText, durationWithin, longestWait } from '../../lib/yaml/scalar-schemas.ts';
import { sizeWithin } from '../../lib/yaml/scalar-schemas.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { defaultIdleMs } from '../endpoint-settings.ts';
import { hasOnlyKeys } from '../workloads/job-workflow.ts';
import { ownVariables } from '../workloads/worker-environment.ts';
import { image } from './image-name.ts';

/** What can be an argument: C ends a string at a NUL. */
export const programText = z
  .string('a text')
  .max(100_000, 'a text of at most 100000 characters')
  .refine((given) => !given.includes('\0'), 'a text without NUL characters');

export const filePath = programText.min(1, 'a path');

const blenderPath = filePath.nullable().default(null);

export const blender = z.strictObject({
  program: blenderPath.describe('the program; else the one in PATH'),
  assets: blenderPath.meta({
    title: 'Folder of files',
    description: 'the folder of .blend, glTF and OBJ files that jobs may name; none by default',
    examples: ['/srv/models'],
  }),
  scripts: blenderPath.meta({
    title: 'Folder of scripts',
    description:
      'the folder of Python scripts that jobs may run, with the rights of the service; none by default',
  }),
  image: image.nullable().default(null).meta({
    title: 'Image with Blender',
    description: 'an image with Blender, in which podman or docker runs it; none by default',
  }),
});

const boxExpected = 'an address such as http://box:8188, or several in a list, each once';

/** Returns the schema of an address of a service, perhaps with a path. */
export function address(expected: string) {
  return z
    .string(expected)
    .regex(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/, expected)
    .refine((text) => URL.canParse(text), expected);
}

const box = address(boxExpected);

const boxes = z
  .array(box, boxExpected)
  .min(1, boxExpected)
  .max(1_000, boxExpected)
  .refine((all) => new Set(all).size === all.length, boxExpected);

const setExpected = 'a value, or a text with placeholders such as {{ prompt }}';

const setValue = z.union([z.string().refine(hasOnlyKeys, setExpected), z.number(), z.boolean()], setExpected);

export const comfyui = z.strictObject({
  url: z.union([box, boxes], boxExpected).meta({
    title: 'Addresses of the boxes',
    description: 'the address of a ComfyUI, or a list of several; each runs one job at a time',
    examples: [['http://box-1:8188', 'http://box-2:8188']],
  }),
  workflow: filePath.meta({
    title: 'File of the workflow',
    description: 'the workflow, exported in API format; relative to the folder of service.yaml',
    examples: ['/srv/flow.json'],
  }),
  set: z
    .record(z.string(), setValue, 'inputs of nodes with values, such as {6.text: "{{ prompt }}"}')
    .default({})
    .meta({
      title: 'What is set in it',
      description:
        'inputs of nodes, as `node.input`, and what they are set to; `{{ prompt }}` is a key of the input of a job, and without that the workflow keeps its own value',
    }),
});

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
    .meta({
      title: 'Options of sbatch',
      description: 'options of sbatch, each with its value after =',
      examples: [['--gres=gpu:1', '--time=8:00:00']],
    }),
});

const devicesExpected = 'devices of this machine, such as [0, 1], each once';
const deviceExpected =
  'a device of this machine: a number from 0, or a name such as GPU-5f3c or /dev/dri/renderD128';

const device = z.union(
  [
    z.int(deviceExpected).min(0, deviceExpected).max(1_023, deviceExpected),
    z.string(deviceExpected).regex(/^[A-Za-z0-9_./:=][A-Za-z0-9_./:=-]{0,127}$/, deviceExpected),
  ],
  deviceExpected,
);

export const gpuDevices = z.strictObject({
  devices: z
    .array(device, devicesExpected)
    .min(1, devicesExpected)
    .max(64, devicesExpected)
    .refine((all) => new Set(all.map(String)).size === all.length, devicesExpected)
    .meta({
      title: 'GPU devices',
      description:
        'devices of this machine: by number, name or path for a container; by number or name, in CUDA_VISIBLE_DEVICES, for a command or module',
    }),
});

export const workerRange = z
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
  .describe('where some are kept without a job');

export const recycle = z.strictObject({
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

const environmentExpected = 'names with texts, such as {MODEL: x}';
const variableName = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/;

/** A record of zod would lose __proto__ without a word. */
export const environment = z
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

const isOwn = new RegExp(`^${ownVariables}$`);

function nameProblem(name: string): string | undefined {
  if (isOwn.test(name)) return 'another name: the service sets this one itself';
  if (name === 'NIGHTRENDER_API_KEY') return 'another name: workers never get the key of the service';
  return variableName.test(name)
    ? undefined
    : 'a name of letters, digits and _ that does not begin with a digit';
}
