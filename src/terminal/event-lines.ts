/** Every line that `--json` writes: what it means and what it holds, and the JSON Schema of all. */
import { z } from 'zod';
import type { Event } from '../runner/pipeline/event.ts';
import {
  counts,
  keyShape,
  pictureShape,
  planShape,
  statusShape,
  storyShape,
  statsShape,
} from './answer-lines.ts';
import { formatVersion } from './json-lines.ts';

const count = z.int().min(0);
const text = z.string();
const scene = text.describe('the id of the scene');
const attempt = z.int().min(1).describe('the how manieth submission of the scene');
const jobId = text.describe("the service's id of the job");
const kind = text.describe('the kind of failure, as `nightrender help failures` lists them');
const ending = text.describe(
  'how it ended, as `nightrender help resume` lists exit codes: complete, incomplete, halted, …',
);
const exitCode = count.describe('the exit code of the program');
const executionTimeMs = count.optional().describe('as the service told it');
const cost = z
  .looseObject({
    spent: z.number().describe('what the batch has cost so far'),
    currency: text,
    limit: z.number().optional().describe('`limits.cost`'),
  })
  .optional();
const made = z.looseObject({ made: count, lacking: count }).optional();
const part = counts.optional();
const perState = (...states: string[]) =>
  z.looseObject(Object.fromEntries(states.map((state) => [state, count.optional()])));

const runLines = {
  'run-started': line('a run has begun', {
    formatVersion: z.literal(formatVersion).describe('becomes another where something goes away'),
    program: text,
    manifest: z.array(text),
    endpoint: text,
    outputDir: text,
    concurrency: count,
  }),
  warning: line('something to know and perhaps to change; the run goes on', { text }),
  'plan-made': line('the manifest was compared with the checkpoint', {
    counts,
    part: part.describe('of the scenes that a preview renders (`--sample`, `--limit`)'),
    added: count,
    changed: count,
    unchanged: count,
    withdrawn: count,
  }),
  adopted: line('pictures that no record knew were taken into the batch (`--adopt`)', {
    scenes: count,
    pictures: count,
    byName: count.describe('of these, by their names alone: an edited row may have its old picture'),
    unused: count.describe('pictures that are damaged or fit no scene that waits; they stay as they are'),
    examples: z.array(text).describe('the first of these, and why'),
  }),
  recovered: line('what dead runs have left: submissions without an answer, jobs in flight', {
    unanswered: count,
    inFlight: count,
  }),
  'scene-submitted': line('the service has taken a job', { scene, attempt, jobId }),
  'job-status': line("the service's word for a job has changed", { scene, jobId, status: text }),
  'scene-saved': line('the pictures of a scene are on disk', {
    scene,
    attempt,
    jobId,
    files: z.array(text).describe('relative to the folder images'),
    seed: text.optional(),
    executionTimeMs,
    cost,
  }),
  'attempt-failed': line('an attempt failed', {
    scene,
    attempt,
    jobId: jobId.optional(),
    kind,
    text,
    next: z.enum(['failed', 'waiting']).describe('whether the scene has failed, or another attempt follows'),
    dueAt: z.number().optional().describe('when it follows, epoch ms'),
    executionTimeMs,
    cost,
  }),
  'request-troubled': line('a request was not answered usefully and is sent again', {
    scene,
    kind,
    text,
    waitMs: z.number().min(0),
  }),
  'service-health': line("how the endpoint's workers and jobs are, where the service tells", {
    workers: perState('running', 'idle', 'ready', 'initializing', 'throttled', 'unhealthy'),
    jobs: perState('inProgress', 'inQueue', 'completed', 'failed', 'retried'),
  }),
  stopping: line('nothing more is submitted', { ending, text }),
  'run-stats': line('what the run needed and what held it back (`--stats`)', statsShape),
  'run-ended': line('the last line of a run', {
    ending,
    exitCode,
    text,
    counts,
    part: part.describe('as in `plan-made`'),
    outputDir: text,
    report: text.optional().describe('the folder of the report, where it was written'),
    cost,
    untold: count.describe('submissions that may have been billed for nothing'),
    isLost: z.boolean().optional().describe('true where the checkpoint was removed during the run'),
    missingPictures: count.optional().describe('saved pictures that are missing or have another size'),
  }),
} as const satisfies Record<Event['type'], z.ZodType>;

/** By `type`, those of a run first. */
export const eventLines = {
  ...runLines,
  refused: line('a command did not do its work', {
    ending,
    exitCode,
    text,
    problems: z.array(z.looseObject({ where: text, text })),
  }),
  'cancel-ended': line('the last line of `cancel`', {
    ending,
    exitCode,
    text,
    found: count,
    left: z.array(z.looseObject({ scene, jobId, why: text })),
    unanswered: count,
    report: text.optional().describe('the folder of the report, where it was written'),
    saved: count,
    cancelled: count,
    expired: count,
    failed: count,
  }),
  'picture-missing': line('`verify`: the file of a picture is gone', { scene, state: text, file: text }),
  'picture-damaged': line('`verify`: the file of a picture is not as it was saved', {
    scene,
    state: text,
    file: text,
    problem: text,
    keptAs: text.optional(),
  }),
  'checkpoint-repaired': line('`verify --repair`: the checkpoint was damaged, or another than it was', {
    lost: count.describe('submissions that are not on record any more: they count as unanswered'),
    keptAs: text.nullable().describe('where what was damaged is; null where nothing was'),
  }),
  verified: line('the last line of `verify`', {
    checked: count,
    good: count,
    missing: count,
    damaged: count,
    withdrawn: count,
    putBack: count,
    exitCode,
  }),
  'scene-put-back': line('`retry`: the scene waits to be rendered again', { scene, was: text }),
  'put-back': line('the last line of `retry`', {
    scenes: count,
    givenUp: count,
    kept: count.describe('pictures that are kept as `.former`'),
  }),
  'files-written': line('`report`: the files', {
    files: z.array(text),
    thumbnails: made.describe('those that were missing and are made now, and those that could not be made'),
    copies: made.describe('the same of the copies in other formats'),
  }),
  serving: line('`serve`: the service is up', {
    url: text,
    endpointIds: z.array(text).describe('those of the file; more may be made in the console'),
    dataDir: text,
    apiKey: text.optional().describe('the first key of this folder, which is told here and never again'),
  }),
  'key-added': line('`keys add`: a key was made', {
    key: text.describe('the key itself, which is told here and never again'),
    ...keyShape,
  }),
  'key-listed': line('`keys list`: a key of the service', {
    ...keyShape,
    createdAt: keyShape.createdAt
      .nullable()
      .describe('null for one that was in NIGHTRENDER_API_KEY as the service was started'),
    usage: z
      .array(z.looseObject({ endpointId: text, jobs: count, gpuMs: count }))
      .describe('what was done for it: submissions, and how long its jobs were in workers'),
  }),
  'key-revoked': line('`keys revoke`: a key is good for nothing any more', keyShape),
  watching: line('`watch`: the page is up', { url: text, dir: text }),
  plan: line('`plan`: what a run would do', planShape),
  status: line('`status`: where a batch stands', statusShape),
  'scene-story': line('`explain`: all that is on record of a scene', storyShape),
  picture: line('`inspect`: what a picture says of itself', pictureShape),
};

function line<Shape extends z.ZodRawShape>(means: string, shape: Shape) {
  return z.looseObject(shape).describe(means);
}

/** Lines and fields may be added later: lines of types that are not known here are valid, too. */
export function eventsSchema(): object {
  const known = Object.entries(eventLines).map(([type, schema]) => lineSchema(type, schema));
  const isKnown = { type: 'string', enum: Object.keys(eventLines) };
  const other = { properties: { ...always, type: { type: 'string', not: isKnown } } };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'A line of nightrender --json',
    type: 'object',
    required: ['type', 'at'],
    anyOf: [...known, { description: 'a line of a later version', ...other }],
  };
}

export function eventsSchemaText(): string {
  return `${JSON.stringify(eventsSchema(), null, 2)}\n`;
}

const always = {
  at: {
    type: 'string',
    description: 'when it was said, in UTC',
    pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`,
  },
};

function lineSchema(type: string, schema: z.ZodType): object {
  const { $schema: _draft, description, ...body } = z.toJSONSchema(schema, { target: 'draft-7' });
  const { properties, required = [], additionalProperties: _more, ...rest } = body;
  return {
    description,
    ...rest,
    required: ['type', 'at', ...required],
    properties: { type: { const: type }, ...always, ...properties },
  };
}
