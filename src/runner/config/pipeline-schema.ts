/** Every key of pipeline.yaml with its default. Messages say what was expected. */
import { z } from 'zod';
import { endpointVersions } from '../core/attempt.ts';
import { isClipFile } from '../core/picture.ts';
import { hasPrice } from '../core/spending.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import {
  check,
  halt,
  limits,
  notifyTarget,
  polling,
  pricing,
  rate,
  report,
  retry,
  shutdown,
  terminal,
  timeouts,
  notice,
} from './run-schema.ts';
import { files, formats, output, outputFile, pictureCopy } from './output-schema.ts';
import { isPostgresAddress, postgresExpected } from '../../lib/postgres/postgres.ts';
import { count, duration, durationWithin, flag, path } from '../../lib/yaml/scalar-schemas.ts';
import { columns, scenes } from './scene-schema.ts';
import { type Layout, fileSchema } from '../../lib/yaml/check-shape.ts';

const paths = 'a path, a pattern such as lists/*.txt, or a list of them; - is standard input';

const apiKey = z
  .string('the key, as ${NAME} of an environment variable')
  .min(1, 'a key that is not empty')
  .optional()
  .describe('the key, from the environment as `${NIGHTRENDER_API_KEY}`; not needed for `local`');

const freshness = (ms: string) =>
  duration.prefault(ms).describe('a 404 for a job younger than this means "not known yet"');

export const statusMeaning = z.enum(
  ['waiting', 'running', 'done', 'failed', 'cancelled', 'timed-out'],
  'waiting, running, done, failed, cancelled or timed-out',
);

const policy = z.strictObject({
  executionTimeout: durationWithin('1s', '7d')
    .optional()
    .describe('how long a job may execute; many services end it after 10 minutes by default'),
  ttl: durationWithin('1s', '7d').optional().describe('how long a job may wait and execute together'),
  lowPriority: z
    .boolean('true or false')
    .optional()
    .describe('`true` lets other jobs of the endpoint go first'),
});

const endpoint = z.strictObject({
  speaks: z
    .literal('jobs', 'jobs, fal, replicate, comfyui or the path of a description')
    .default('jobs')
    .describe('the interface: `jobs`, `fal`, `replicate`, `comfyui` or the path of your own description'),
  baseUrl: z
    .string('`local` or an http(s) URL')
    .superRefine((text, context) => {
      const message = baseUrlExpected(text);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .meta({ pattern: String.raw`^(local|[Hh][Tt][Tt][Pp][Ss]?://[^\s\\?#]+)$` })
    .describe('the address of the service: an http(s) URL, or `local`, which starts the local service'),
  id: z
    .string('the id of the endpoint')
    .regex(/^[A-Za-z0-9_-]{1,128}$/, 'the id of the endpoint (letters, digits, - and _)')
    .describe('the id of the endpoint; with `local`: scene-renderer or painter'),
  version: z
    .enum(endpointVersions, 'v1, v2 or dev')
    .default('v2')
    .describe("the version of the interface; `dev` for a worker's development server"),
  statuses: z
    .record(z.string(), statusMeaning, 'words and their meanings, such as {SUCCEEDED: done}')
    .default({})
    .describe('meanings of further statuses that the service sends: `{SUCCEEDED: done}`'),
  apiKey,
  policy: policy.optional().describe('limits that each job is sent with; without it, none are sent'),
  freshness: freshness('150s'),
});

const otherBaseUrl = z
  .string('an http(s) URL')
  .regex(/^https?:\/\/[^\s\\?#@]+$/i, 'an http(s) URL without ?, # and user name')
  .refine((text) => URL.canParse(text), 'an http(s) URL')
  .describe('address of the service; by default that of its description');

const describedEndpoint = z.strictObject({
  speaks: z.string('the name or the path of a description'),
  baseUrl: otherBaseUrl,
  id: z
    .string('the id of the model or endpoint')
    .regex(/^(?!\/)[\w.:/@-]{0,200}$/, 'an id such as owner/model (letters, digits and . : / @ - _)')
    .describe('the id of the model or endpoint, such as `owner/model`'),
  apiKey,
  freshness: freshness('150s'),
});

const comfyuiEndpoint = z.strictObject({
  speaks: z.literal('comfyui', 'comfyui'),
  baseUrl: otherBaseUrl.describe('address of ComfyUI, such as `http://127.0.0.1:8188`'),
  workflow: path.describe('for ComfyUI: a workflow in API format, relative to this file'),
  set: z
    .custom<JsonObject>(isFilled, "inputs of nodes and their values, such as '6.text': '{{ prompt }}'")
    .meta({ type: 'object', minProperties: 1 })
    .describe('for ComfyUI: the value of each `node.input` that a scene sets'),
  apiKey,
  comfyApiKey: apiKey.describe('for ComfyUI: the key of partner nodes'),
  freshness: freshness('5s'),
});

/** Keys that contain other keys. */
export const sections = {
  scenes,
  endpoint,
  output,
  retry,
  polling,
  halt,
  rate,
  timeouts,
  pricing,
  limits,
  check,
  report,
  shutdown,
  terminal,
};

const header = 'names of columns, each once, such as [id, prompt]';
const comments = 'up to 4 characters without spaces, such as "#"';

const configShape = z.strictObject({
  manifest: z
    .union([path, z.array(path, paths).min(1, paths)], paths)
    .describe('lists of scenes: paths and patterns (`lists/*.txt`), or `-` for standard input'),
  endpoint: endpoint.describe('the job service'),
  // YAML yields JSON here. A record of zod would silently lose keys such as __proto__.
  input: z
    .custom<JsonObject>(isFilled, 'what each job is sent: at least one key with its value')
    .meta({ type: 'object', minProperties: 1 })
    .optional()
    .describe('the input of each job: `{{ column }}` is replaced, other keys are sent as they are'),
  columns: columns
    .transform((named) => new Map(named))
    .prefault({})
    .describe('the types of columns that are not text'),
  header: z
    .array(z.string(header).min(1, header), header)
    .min(1, header)
    .refine((names) => new Set(names).size === names.length, header)
    .optional()
    .describe('the names of the columns of CSV or TSV without a header'),
  comments: z
    .string(comments)
    .regex(/^\S{1,4}$/, comments)
    .optional()
    .describe('lines that begin with this text and a space are left out, such as `#`'),
  encoding: z
    .enum(['utf-8', 'windows-1252'], 'utf-8 or windows-1252')
    .transform((name) => (name === 'utf-8' ? undefined : name))
    .prefault('utf-8')
    .describe('the encoding of lists that are not in Unicode: `windows-1252`'),
  scenes: scenes
    .optional()
    .describe('combinations and seeds for every row of the manifest, or the batch before'),
  proxy: z
    .enum(['public', 'all'], 'public or all')
    .default('public')
    .describe(
      'what goes through the proxy of `HTTPS_PROXY` or `HTTP_PROXY`: with `all` also private addresses and names without a dot',
    ),
  concurrency: count(1, 10_000, 'jobs in flight').default(16).describe('jobs in flight'),
  output: output.describe('saved pictures'),
  checkpoint: z
    .string(postgresExpected)
    .refine(isPostgresAddress, postgresExpected)
    .optional()
    .describe(
      'a PostgreSQL database that runs share, as `${DATABASE_URL}`; by default a file in `output.dir`',
    ),
  retry: retry.prefault({}).describe('attempts and submissions of a scene'),
  polling: polling
    .prefault({})
    .describe('times of polls, planned from the durations of earlier jobs of the run'),
  halt: halt.prefault({}).describe('conditions that stop a run'),
  rate: rate.prefault({}).describe('rate limits; a request answered 429 waits and is sent again'),
  timeouts: timeouts.prefault({}).describe('maximum times of a request and a job'),
  pricing: pricing.optional().describe('the price, for showing and limiting costs'),
  limits: limits.prefault({}).describe('limits of a run'),
  check: check.prefault({}).describe('checks of each picture; if one fails, the attempt has failed'),
  report: report.prefault({}).describe('the result files'),
  shutdown: shutdown.prefault({}).describe('the end of a stopped run'),
  terminal: terminal.prefault({}).describe('terminal output'),
  notify: z
    .array(notice, 'a list of targets such as [{ping: https://…}]')
    .default([])
    .describe('notifications of a run: monitors, chats, commands'),
  skipBadRows: flag.describe('true renders the good rows and reports the bad ones as invalid'),
  skipRepeatedRows: flag.describe('true renders a prompt once, even if the list repeats it'),
  allowFewer: flag.describe('true accepts a list that lost more than a third of its scenes and gained none'),
  acceptEdits: z
    .enum(['always', 'never'], 'always or never')
    .optional()
    .describe(
      '`never` refuses edits that render most saved scenes again, `always` accepts them; by default only a terminal refuses',
    ),
});

export function pipelineLayout(speaks: ServiceKind = 'jobs'): Layout {
  const { endpoint: _, ...others } = sections;
  const all = { ...others, endpoint: endpoints[speaks] };
  return { sections: all, shapeAt: shapeAt(all) };
}

const shapeAt =
  (all: Layout['sections']): Layout['shapeAt'] =>
  ([first, second, ...rest]) => {
    if (first === 'notify' && second !== undefined && rest.length === 0) return notifyTarget.shape;
    if (first === 'output' && second === 'formats') return pictureCopy.shape;
    if (first === 'output' && second === 'files' && rest.length > 0) return outputFile.shape;
    const section = Object.entries(all).find(([name]) => name === first);
    return (section?.[1] ?? configShape).shape;
  };

const endpoints = { jobs: endpoint, described: describedEndpoint, comfyui: comfyuiEndpoint };

type ServiceKind = keyof typeof endpoints;

/** `isManifestOptional`: `scenes` has lists of its own, so that scenes can be made without a manifest. */
export function configSchema(speaks: ServiceKind, isManifestOptional: boolean): z.ZodType<CheckedFile> {
  const key = `${speaks} ${isManifestOptional}`;
  const schema = configSchemas.get(key) ?? makeConfigSchema(speaks, isManifestOptional);
  configSchemas.set(key, schema);
  return schema;
}

const configSchemas = new Map<string, z.ZodType<CheckedFile>>();

function makeConfigSchema(speaks: ServiceKind, isManifestOptional: boolean): z.ZodType<CheckedFile> {
  const shape = configShape.extend({ endpoint: endpoints[speaks].describe('the job service') });
  const checked = isManifestOptional ? shape.partial({ manifest: true }) : shape;
  return checked
    .superRefine(checkCost)
    .superRefine(checkUntil)
    .superRefine(checkMedia)
    .superRefine(checkAddress) as z.ZodType<CheckedFile>;
}

const anyShape = configShape.partial({ manifest: true }).extend({
  endpoint: endpoint
    .extend({
      speaks: z
        .string()
        .default('jobs')
        .describe(endpoint.shape.speaks.description ?? ''),
      id: describedEndpoint.shape.id.describe(
        'the id of the endpoint: scene-renderer with `local`, otherwise for example `owner/model`',
      ),
      workflow: comfyuiEndpoint.shape.workflow,
      set: comfyuiEndpoint.shape.set,
      comfyApiKey: comfyuiEndpoint.shape.comfyApiKey,
    })
    .partial({ baseUrl: true, id: true, workflow: true, set: true })
    .describe('the service that renders'),
});

function checkCost(
  { endpoint: given, limits: { cost }, pricing: price }: Pick<CheckedFile, 'endpoint' | 'limits' | 'pricing'>,
  context: z.RefinementCtx,
): void {
  const isPriced = price !== undefined && hasPrice(price);
  const prices = 'perSecond, perPicture, perMegapixel, perSecondOfVideo or at';
  const lacking = `${prices}, what the service bills, or expect, how long a job executes`;
  if (price !== undefined && !isPriced && price.expect === undefined)
    context.addIssue({ code: 'custom', path: ['pricing'], message: lacking });
  const byRate = 'perSecond or perPicture in its place: ComfyUI states no price';
  if (price?.at !== undefined && 'workflow' in given)
    context.addIssue({ code: 'custom', path: ['pricing', 'at'], message: byRate });
  const message = `pricing.${prices} as well: without a price, costs are unknown`;
  if (cost !== undefined && !isPriced)
    context.addIssue({ code: 'custom', path: ['limits', 'cost'], message });
}

function checkUntil(
  { scenes: expanded, output: { values } }: Pick<z.output<typeof configShape>, 'scenes' | 'output'>,
  context: z.RefinementCtx,
): void {
  if (expanded?.until === undefined || values.length > 0) return;
  const message = 'output.values as well: the values of the condition';
  context.addIssue({ code: 'custom', path: ['scenes', 'until'], message });
}

/** Reports checks of pictures if jobs bring clips, and a price of clips if they do not: these have no effect. */
function checkMedia(
  {
    check: { blank, minSide, decode },
    output: { media, files: asked },
    pricing: price,
  }: Pick<z.output<typeof configShape>, 'check' | 'output' | 'pricing'>,
  context: z.RefinementCtx,
): void {
  if (decode && media === undefined && !asked.some(({ kind }) => isClipFile(`.${kind}`))) {
    const message = '`output.media` as well, or a clip in `output.files`: only clips are decoded';
    context.addIssue({ code: 'custom', path: ['check', 'decode'], message });
  }
  if (media === undefined) {
    const lacking = '`output.media` as well: only clips last seconds';
    if (price?.perSecondOfVideo !== undefined)
      context.addIssue({ code: 'custom', path: ['pricing', 'perSecondOfVideo'], message: lacking });
    return;
  }
  const message = 'none with `output.media`: it has no effect on clips';
  if (blank) context.addIssue({ code: 'custom', path: ['check', 'blank'], message });
  if (minSide !== undefined) context.addIssue({ code: 'custom', path: ['check', 'minSide'], message });
}

/** Keys that the report needs; the others are not checked. */
export const reportPartSchema = z.looseObject({
  report: report.prefault({}),
  output: z.looseObject({
    image: output.shape.image,
    media: output.shape.media,
    files,
    formats,
    keep: output.shape.keep,
    metadata: output.shape.metadata,
    pictures: output.shape.pictures,
  }),
});

const manifestOptional = configShape.partial({ manifest: true });

type AnyEndpoint =
  z.output<typeof endpoint> | z.output<typeof describedEndpoint> | z.output<typeof comfyuiEndpoint>;

/** Result of checking a pipeline.yaml, with defaults filled in. Durations are in ms, sizes in bytes. */
export type CheckedFile = Omit<z.output<typeof manifestOptional>, 'endpoint'> & { endpoint: AnyEndpoint };

function isFilled(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length > 0;
}

/** Returns what was expected; undefined if the URL is valid. */
export function baseUrlExpected(text: string): string | undefined {
  if (text === 'local') return undefined;
  if (!/^https?:\/\/[^\s\\]+$/i.test(text)) return '`local`, or a URL beginning with http:// or https://';
  if (/[?#]/.test(text)) return 'a URL without ? and #';
  if (!URL.canParse(text)) return '`local` or an http(s) URL';
  // Even an empty user name is one, and parsed URLs do not show it.
  if (/^https?:\/\/[^/]*@/i.test(text))
    return 'a URL without user name and password; the key belongs in apiKey';
  const [, base] = requestAddress.exec(text) ?? [];
  return base === undefined ? undefined : `${base} alone; ${addsRest}`;
}

const addsRest = 'nightrender adds the version and the id of the endpoint';

const requestAddress =
  /^(https?:\/\/[^/]+(?:\/.+?)??)\/+v[12](?:\/+[\w-]+\/(?:run|runsync|render|status|status-sync|stream|cancel|health)(?:\/[\w-]*)?)?\/*$/i;

/** Checks addresses against other keys, for example if the path ends with the id of the endpoint. */
function checkAddress(
  { endpoint: given, checkpoint }: Pick<CheckedFile, 'endpoint' | 'checkpoint'>,
  context: z.RefinementCtx,
): void {
  if (!('version' in given)) return;
  const { baseUrl, id, version } = given;
  if (baseUrl === 'local' && checkpoint !== undefined)
    context.addIssue({
      code: 'custom',
      path: ['endpoint', 'baseUrl'],
      message: 'a service that every run can reach, because `checkpoint` is set',
    });
  if (baseUrl === 'local' && version === 'dev')
    context.addIssue({
      code: 'custom',
      path: ['endpoint', 'version'],
      message: 'v1 or v2 where baseUrl is `local`',
    });
  const base = baseUrl.replace(/\/+$/, '');
  if (!base.endsWith(`/${id}`) || base.endsWith(`//${id}`)) return;
  const message = `${base.slice(0, -id.length).replace(/\/+(v[12]\/+)?$/i, '')} alone; ${addsRest}`;
  context.addIssue({ code: 'custom', path: ['endpoint', 'baseUrl'], message });
}

/** Returns the normalized URL, under which jobs in flight are recorded. */
export function endpointUrl(baseUrl: string): string {
  return baseUrl === 'local' ? baseUrl : new URL(baseUrl).href.replace(/\/+$/, '');
}

/** Returns a JSON Schema that accepts everything that a run accepts. Checks across keys are left to the run. */
export function pipelineSchema(): JsonObject {
  return fileSchema(anyShape, 'pipeline.yaml of nightrender');
}

export function pipelineSchemaText(): string {
  return `${JSON.stringify(pipelineSchema(), null, 2)}\n`;
}
