/** Schemas of all lines that `--json` prints, each with its meaning, and their JSON Schema. */
import { z } from 'zod';
import type { Event } from '../runner/pipeline/event.ts';
import {
  counts,
  keyShape,
  pictureShape,
  changesShape,
  laterPlanShape,
  planShape,
  statusShape,
  storyShape,
  pictureTotals,
  statsShape,
} from './answer-lines.ts';
import { formatVersion } from './terminal.ts';

const count = z.int().min(0);
const text = z.string();
const scene = text.describe('the id of the scene');
const prompt = text
  .optional()
  .describe('the words of its prompt, at most 120 characters, where the list has no ids');
const attempt = z.int().min(1).describe('number of the submission of the scene, from 1');
const jobId = text.describe("the service's id of the job");
const kind = text.describe('the kind of failure, as `nightrender help operators` lists them');
const ending = text.describe(
  'how it ended, as in `nightrender help resume`: complete, incomplete, halted, …',
);
const exitCode = count.describe('the exit code of the program');
const executionTimeMs = count.optional().describe('as the service reports it');
const cost = z
  .looseObject({
    spent: z.number().describe('cost of the batch so far'),
    stated: z.number().optional().describe('part of it that the service stated, with `pricing.at`'),
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
    formatVersion: z.literal(formatVersion).describe('changes when something is removed'),
    program: text,
    manifest: z.array(text),
    endpoint: text,
    outputDir: text,
    concurrency: count,
    edits: text
      .optional()
      .describe('number of scenes, price and reason, if an edit renders most of the batch again'),
  }),
  warning: line('a warning; the run continues', { text }),
  'plan-made': line('the manifest was compared with the checkpoint', {
    counts,
    part: part.describe('of the scenes that a preview renders (`--sample`, `--limit`)'),
    ...changesShape,
  }),
  adopted: line('files without a record were adopted (`--adopt`)', {
    scenes: count,
    pictures: count,
    clips: count.optional().describe('clips among them'),
    byName: count.describe('of these, by name only: an edited row may have its old file'),
    unused: count.describe('files that are damaged or fit no scene that waits; they stay as they are'),
    examples: z.array(text).describe('the first of these, and why'),
  }),
  recovered: line('crashed runs left unanswered submissions or jobs in flight', {
    unanswered: count,
    inFlight: count,
  }),
  'scene-submitted': line('the service has accepted a job', { scene, attempt, jobId }),
  'job-status': line('the status of a job has changed', { scene, jobId, status: text }),
  'scene-saved': line('the files of a scene are on disk', {
    scene,
    prompt,
    attempt,
    jobId,
    files: z.array(text).describe('relative to the folder images'),
    seed: text.optional(),
    executionTimeMs,
    cost,
  }),
  'attempt-failed': line('an attempt failed', {
    scene,
    prompt,
    attempt,
    jobId: jobId.optional(),
    kind,
    text,
    next: z.enum(['failed', 'waiting']).describe('tells if the scene has failed or another attempt follows'),
    dueAt: z.number().optional().describe('the time of the next attempt, epoch ms'),
    executionTimeMs,
    cost,
  }),
  'result-held': line('the result of a job waits for a setting; its attempt stays in flight', {
    scene,
    prompt,
    jobId,
    kind,
    text,
    setting: text.describe('the setting to change, such as `output.hosts`'),
  }),
  'request-troubled': line('a request failed and is sent again', {
    scene,
    prompt,
    kind,
    text,
    waitMs: z.number().min(0),
  }),
  'access-refused': line('key, account or endpoint worked before and are refused', {
    kind,
    text,
    waitMs: z.number().min(0).describe('until the service is asked again'),
  }),
  'access-regained': line('key, account and endpoint are accepted again; the run continues', {
    afterMs: z.number().min(0),
  }),
  'service-health': line('workers and jobs of the endpoint, if the service reports them', {
    workers: perState('running', 'idle', 'ready', 'initializing', 'throttled', 'unhealthy'),
    jobs: perState('inProgress', 'inQueue', 'completed', 'failed', 'retried'),
  }),
  stopping: line('nothing more is submitted', { ending, text }),
  'run-stats': line('requests, lag, data, and what slowed the run down (`--stats`)', statsShape),
  'run-ended': line('the last line of a run', {
    ending,
    exitCode,
    text,
    counts,
    part: part.describe('as in `plan-made`'),
    bias: text.optional().describe('note on the choice of seeds, with `scenes.until`'),
    pictures: pictureTotals.optional(),
    outputDir: text,
    report: text.optional().describe('the folder of the report, where it was written'),
    cost,
    untold: count.describe('submissions that may have been billed without a result'),
    moreJobs: statsShape.moreJobs,
    isLost: z.boolean().optional().describe('true if the checkpoint was removed during the run'),
    held: z
      .array(
        z.looseObject({
          setting: text,
          kind,
          count,
          kept: count.describe('results whose answers are kept on this machine'),
          addresses: count.describe('results that are only at an address'),
          keptUntil: z
            .number()
            .describe('the time until which the service keeps the first of them, epoch ms'),
        }),
      )
      .optional()
      .describe('results of this run that wait for a setting or a host'),
    lostResults: count.optional().describe('paid results of this run that are lost'),
    missingPictures: count.optional().describe('saved files that are missing or have another size'),
  }),
} as const satisfies Record<Event['type'], z.ZodType>;

/** Schemas of lines by `type`; lines of a run come first. */
export const eventLines = {
  ...runLines,
  refused: line('a command was rejected', {
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
  'picture-missing': line('`verify`, `export`: a saved file is gone', {
    scene,
    state: text,
    file: text,
  }),
  'picture-damaged': line('`verify`, `export`: a saved file has changed', {
    scene,
    state: text,
    file: text,
    problem: text,
    keptAs: text.optional(),
  }),
  'checkpoint-repaired': line('`verify --repair`: the checkpoint was damaged or replaced', {
    lost: count.describe('submissions that are lost and count as unanswered'),
    keptAs: text.nullable().describe('the path of the damaged file; null if there was none'),
  }),
  'checkpoint-moved': line('`verify --move`: the checkpoint was moved', {
    from: text,
    to: text,
    scenes: count,
    attempts: count,
    pictures: count,
  }),
  'pictures-moved': line('`verify --move`: the saved files were moved', {
    from: text,
    to: text,
  }),
  'pictures-renamed': line('the last line of `verify --rename`', {
    renamed: count.describe('files with a new name'),
    missing: count.describe('files that kept their names, because a file of their job is missing'),
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
    kept: count.describe('files kept as `.former`'),
  }),
  'files-written': line('`report`: the files were written', {
    files: z.array(text),
    thumbnails: made.describe('missing ones that were created, and ones that could not be'),
    copies: made.describe('the same for the copies in other formats'),
  }),
  exported: line('the last line of `export`', {
    to: text.describe('as what'),
    dir: text,
    pictures: count.describe('that are in the folder'),
    clips: count.describe('clips among them'),
    written: count.describe('files among them that were missing or different'),
    bytes: count.describe('of what was written'),
    bad: count.describe('saved pictures and clips that are missing or damaged'),
    missing: z.record(z.string(), count).describe('scenes without a saved result, by state'),
    exitCode,
  }),
  serving: line('`serve`: the service is up', {
    url: text,
    endpointIds: z.array(text).describe('endpoints of the file; the console may add more'),
    dataDir: text,
    apiKey: text.optional().describe('the first key of this folder, shown only here'),
  }),
  'key-added': line('`keys add`: a key was created', {
    key: text.describe('the key itself, shown only here'),
    ...keyShape,
  }),
  'key-listed': line('`keys list`: a key of the service', {
    ...keyShape,
    createdAt: keyShape.createdAt.nullable().describe('null for the one in NIGHTRENDER_API_KEY'),
    usage: z
      .array(z.looseObject({ endpointId: text, jobs: count, gpuMs: count }))
      .describe('its submissions, and the time its jobs spent in workers'),
  }),
  'key-rotated': line('`keys rotate`: a key got a new text', {
    key: text.describe('the key itself, shown only here'),
    ...keyShape,
  }),
  'key-revoked': line('`keys revoke`: a key was revoked', keyShape),
  'backed-up': line('`backup`: the data of the service was copied and checked', {
    dir: text,
    jobs: count,
    openJobs: count.describe('jobs among them that wait or run'),
    keys: count,
    files: count.describe('beside the databases'),
    bytes: count,
    lost: count.describe('files that the service names and has lost'),
  }),
  watching: line('`watch`: the page is up', { url: text, dir: text }),
  versions: line('`--version --json`', {
    program: text,
    parts: z.record(text, text).describe('versions of its parts'),
    proxy: z
      .looseObject({ https: text.nullable(), http: text.nullable(), except: z.array(text) })
      .describe('proxies of the environment, without passwords'),
  }),
  plan: line('`plan`: what a run would do', planShape),
  'plan-later': line('`plan`: a stage whose batch has no results yet', laterPlanShape),
  status: line('`status`: the state of a batch', statusShape),
  'scene-story': line('`explain`: all records of a scene', storyShape),
  picture: line('`explain PICTURE`: the metadata of a picture', pictureShape),
};

function line<Shape extends z.ZodRawShape>(means: string, shape: Shape) {
  return z.looseObject(shape).describe(means);
}

/** JSON Schema of a line. Unknown types and fields are valid, because later versions may add some. */
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

const always = {
  at: {
    type: 'string',
    description: 'the time of printing, in UTC',
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
