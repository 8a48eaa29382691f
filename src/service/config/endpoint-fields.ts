/** What each field of an endpoint may hold, in service.yaml as in the console's form. A message says what was expected. */
import { z } from 'zod';
import { environment, programText } from './environment-field.ts';
import { imageExpected, imagePattern } from './image-name.ts';
import { count, flag, durationWithin, longestWait, sizeWithin } from '../../lib/yaml/scalar-schemas.ts';

const nameExpected = 'a name of at most 64 characters, in one line';
const idExpected = 'an id of 1 to 128 letters, digits, - and _';
const cpusExpected = 'processors, a number from 0.01 to 1024';

/** Those that are written alike in both. */
export const commonFields = {
  name: z
    .string(nameExpected)
    .regex(/^\s*[^\s\p{C}]([^\p{C}\p{Zl}\p{Zp}]{0,62}[^\s\p{C}])?\s*$/u, nameExpected)
    .transform((text) => text.trim())
    .describe('the name of the endpoint for people; no two have the same'),
  workers: count(0, 1_000, 'workers that are started here')
    .optional()
    .describe(
      'workers that are started here, 1 where left out; 0 leaves the jobs to workers elsewhere. One that ends again and again is started anew after pauses of 2 s to 1 min, in which its jobs wait',
    ),
  quickStart: flag.describe('whether workers are kept running, rather than started when there are jobs'),
  environment: environment.describe(
    'environment variables of the workers, none that begin with RUNPOD_, which are the service’s own',
  ),
  retries: count(0, 100, 'times that a job is tried again')
    .optional()
    .describe('how often a job is tried again whose worker died, before it fails; 2 where left out'),
  executionTimeout: durationWithin('1s', longestWait)
    .optional()
    .describe('a job that takes longer in a worker is TIMED_OUT; 10m where left out'),
  ttl: durationWithin('1s', longestWait)
    .optional()
    .describe('a job that has not ended this long after its submission is TIMED_OUT; 24h where left out'),
  maxQueued: count(1, 10_000_000, 'jobs that wait')
    .optional()
    .describe('submissions are answered with 429 while this many jobs wait'),
};

export const id = z
  .string(idExpected)
  .regex(/^[A-Za-z0-9_-]{1,128}$/, idExpected)
  .describe('as it stands in the addresses of the endpoint; made of the name where left out');

export const memory = sizeWithin('16MB', '16000GB').describe(
  'the memory of a container, or of the process of a command or module, at most, such as 8GB; one that takes more is killed',
);

export const cpus = z
  .number(cpusExpected)
  .min(0.01, cpusExpected)
  .max(1024, cpusExpected)
  .describe('the processors of a container at most');

export const quickDeploy = z
  .enum(['painter', 'scene-renderer'], 'painter or scene-renderer')
  .describe('a workload that comes with the program: `painter` (no GPU) or `scene-renderer`');

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

const devicesExpected = 'devices of this machine, such as [0, 1], none of them twice';
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
      'devices of this machine: of a container, by number, name or path; of a command or module, by number or name, in its CUDA_VISIBLE_DEVICES',
    );
}

const commandExpected = 'a list such as [python3, worker.py]';

export const command = z
  .array(programText, commandExpected)
  .min(1, commandExpected)
  .refine(([program]) => program !== '', { path: [0], message: 'the name or path of a program' })
  .describe('a program, with its arguments, that reads jobs from its input and writes results to its output');

const argumentExpected =
  'an option of `docker run` with its value behind =, such as --shm-size=1g; the tool would take a word of its own for the image';

export const dockerArguments = z
  .array(programText.regex(/^--?[A-Za-z0-9]/, argumentExpected), 'a list such as [--shm-size=1g]')
  .describe('further options of `docker run`, each with its value behind =, such as --shm-size=1g');

export const folderPath = programText.min(1, 'a path');

export const modulePath = folderPath
  .regex(/\.[cm]?[jt]s$/, 'the path of a JavaScript module, such as ./handler.mjs')
  .describe('a JavaScript module that exports `handler`');
