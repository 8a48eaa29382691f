/** Reads the description of a service: one that comes with the program, or a file of one's own. */
import { basename, resolve } from 'node:path';
import { z } from 'zod';
import {
  placeholdersIn,
  type DescribedRequest,
  type ServiceDescription,
} from '../core/service-description.ts';
import { packageFile } from '../../lib/files/package-file.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { checkAgainst, type Layout } from '../../lib/yaml/check-shape.ts';
import { fileSchema } from '../../lib/yaml/file-schema.ts';
import { ConfigError, gatherProblems } from '../../lib/yaml/problem.ts';
import { duration } from '../../lib/yaml/scalar-schemas.ts';
import { readYamlFile } from '../../lib/yaml/yaml-file.ts';
import { endpointVersions } from '../core/attempt.ts';

/** Those that come with the program. */
export const knownServices = ['fal', 'replicate'] as const;

const text = z.string('a text').min(1, 'a text');
const answerPath = z.string('a path such as images[*].url').min(1, 'a path such as images[*].url');
const perSecond = z.number('a number above 0').positive('a number above 0');
const addressExpected =
  'a URL whose host is written out, or one that begins with {{ baseUrl }} or {{ job.… }}';
const address = z
  .string(addressExpected)
  .regex(/^(https?:\/\/[^/?#{}]+([/?][^]*)?|\{\{\s*(baseUrl|job\.)[^]*)$/, addressExpected);

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
const oneRequest = 'one of get, post, put, patch and delete, with its URL';

type Methods = Record<(typeof methods)[number], typeof address>;
const byMethod = Object.fromEntries(methods.map((name) => [name, address])) as Methods;

/** With exactly one of the methods. */
function request<Shape extends z.ZodRawShape>(more: Shape) {
  return z
    .strictObject({ ...z.object(byMethod).partial().shape, ...more })
    .refine(
      (given) => methods.filter((name) => given[name as keyof typeof given] !== undefined).length === 1,
      oneRequest,
    );
}

const statusMeaning = z.enum(
  ['waiting', 'running', 'done', 'failed', 'cancelled', 'timed-out'],
  'waiting, running, done, failed, cancelled or timed-out',
);

const descriptionShape = z.strictObject({
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'an http(s) URL' })
    .optional()
    .describe('where the service is; left out, the pipeline has to say it'),
  id: text
    .default('the id of what renders there')
    .describe('what `endpoint.id` is, for people; the pipeline needs one where a request has `{{ id }}`'),
  auth: z
    .union([text, z.record(text, text)], 'the header Authorization, or headers with their values')
    .default('Bearer {{ apiKey }}')
    .describe('the header `Authorization`, or headers by name: `{ X-Token: "{{ apiKey }}" }`'),
  key: text
    .regex(/^[A-Z_][A-Z0-9_]*$/, 'the name of a variable')
    .default('NIGHTRENDER_API_KEY')
    .describe('the variable that people keep the key in, for messages'),
  submit: request({
    headers: z.record(text, text).default({}).describe('headers of a submission besides'),
    body: z
      .custom<JsonValue>((value) => value !== undefined, 'the body that is sent, with {{ input }}')
      .default('{{ input }}')
      .describe('what is sent; `{{ input }}` stands for what the scene sends'),
    job: answerPath.describe("the job's id in the answer"),
    keep: z
      .array(text, 'names of members of the answer')
      .default([])
      .describe('members of the answer that later requests need, such as addresses: `{{ job.NAME }}`'),
  }).describe('**required**: submits a job'),
  status: request({
    at: answerPath.describe('the status in the answer'),
    map: z
      .record(text, statusMeaning)
      .describe('its words: each is `waiting`, `running`, `done`, `failed`, `cancelled` or `timed-out`'),
    seconds: answerPath.optional().describe('seconds of execution, for `pricing.perSecond` and times'),
    expired: answerPath
      .optional()
      .describe('holds something, other than false, where the result was deleted'),
  }).describe('**required**: asks for a job'),
  result: z
    .strictObject({
      get: address.optional().describe('fetches the result; left out, the answer that says `done` has it'),
      output: answerPath.optional().describe('the output in that answer; left out, all of it'),
      pictures: z
        .union([answerPath, z.array(answerPath)], 'a path, or several')
        .default([])
        .describe('pictures in the output: a path, or several that are tried in turn'),
    })
    .prefault({})
    .describe('where pictures are'),
  failed: answerPath
    .default('error')
    .describe('why a job failed; of a job that is done, something there means that it failed'),
  texts: z
    .record(
      text,
      z.enum(
        ['cancelled', 'no-credit', 'unknown-id', 'refused-input'],
        'cancelled, no-credit, unknown-id or refused-input',
      ),
    )
    .default({})
    .describe(
      'texts in a refusal or failure: each means `cancelled`, `no-credit`, `unknown-id` or `refused-input`',
    ),
  cancel: request({}).optional().describe('cancels a job; left out, none can be'),
  find: request({
    items: answerPath.describe('the list in the answer, newest first'),
    job: answerPath.optional().describe('the id, in an item; as at `submit.job` by default'),
    next: answerPath.optional().describe('the address of the next page'),
    input: answerPath.describe('what was sent, in an item'),
    createdAt: answerPath.describe('when it was sent, in an item: ISO 8601'),
  })
    .optional()
    .describe('lists jobs, in which one is found whose answer was lost'),
  check: request({
    has: answerPath.optional().describe('holds something where the id is known'),
  })
    .optional()
    .describe('asked by `plan --check`; 404 means that the id is unknown'),
  keeps: duration.prefault('30m').describe('how long a result is kept after its completion'),
  limits: z
    .strictObject({
      jobs: z
        .int('a whole number above 0')
        .positive('a whole number above 0')
        .optional()
        .describe('jobs in flight at most'),
      submissionsPerSecond: perSecond.optional().describe('submissions a second at most'),
      requestsPerSecond: perSecond.optional().describe('status requests a second at most'),
    })
    .prefault({})
    .describe('what the service allows; `concurrency` and `rate` may be lower'),
  hosts: z
    .array(text, 'host names such as cdn.example.com')
    .default([])
    .describe('where its pictures are besides, as in `output.hosts`'),
});

type RawDescription = z.output<typeof descriptionShape>;

const sections = {
  submit: descriptionShape.shape.submit,
  status: descriptionShape.shape.status,
};

const layout: Layout = {
  sections: {},
  shapeAt: ([section]) => {
    const known: Record<string, { shape: z.ZodRawShape }> = sections;
    return known[section ?? '']?.shape ?? descriptionShape.shape;
  },
};

/** `speaks` is one of `knownServices`, or the path of a file relative to `base`. Throws `ConfigError` where that is wrong. */
export function readDescription(speaks: string, base: string, env: NodeJS.ProcessEnv): ServiceDescription {
  const isKnown = knownServices.some((name) => name === speaks);
  const file = isKnown ? packageFile(`src/runner/config/services/${speaks}.yaml`) : resolve(base, speaks);
  const yaml = readYamlFile(file, env, { expected: 'the description of a service' });
  if (yaml.isBroken) throw new ConfigError(yaml.problems);
  const { raw, problems } = checkAgainst<RawDescription>(descriptionShape, yaml, [], layout);
  const name = basename(file).replace(/\.ya?ml$/i, '');
  const report = (path: string[], problem: string): void =>
    void problems.push({ where: yaml.placeOf(path), text: problem });
  if (!isKnown && [...endpointVersions, ...knownServices, 'comfyui', 'jobs'].includes(name))
    report([], `${name} is the name of a known interface; give the file another`);
  if (raw !== undefined) checkPlaceholders(raw, report);
  const all = gatherProblems(yaml, problems, []);
  if (raw === undefined || all.length > 0) throw new ConfigError(all);
  return descriptionOf(name, raw);
}

/** Of a file of one's own. */
export function descriptionSchema(): JsonObject {
  return fileSchema(descriptionShape, 'the description of a service');
}

/** Names that may stand in a placeholder, by the section that has it. */
function checkPlaceholders(raw: RawDescription, report: (path: string[], text: string) => void): void {
  const everywhere = ['baseUrl', 'id', 'model'];
  const ofJob = [...everywhere, 'job.id', ...raw.submit.keep.map((name) => `job.${name}`)];
  const allowed: [keyof RawDescription, string[]][] = [
    ['auth', ['apiKey']],
    ['submit', [...everywhere, 'input', 'idempotencyKey']],
    ['status', ofJob],
    ['result', ofJob],
    ['cancel', ofJob],
    ['find', [...everywhere, 'since']],
    ['check', everywhere],
  ];
  for (const [section, names] of allowed)
    for (const name of placeholdersIn(JSON.stringify(raw[section] ?? '')))
      if (!names.includes(name))
        report(
          [section],
          `${section} has the placeholder {{ ${name} }}; expected ${names.map((each) => `{{ ${each} }}`).join(', ')}`,
        );
}

function descriptionOf(name: string, raw: RawDescription): ServiceDescription {
  const { submit, status, result, find, check } = raw;
  return {
    name,
    baseUrl: raw.baseUrl?.replace(/\/+$/, ''),
    id: raw.id,
    auth: typeof raw.auth === 'string' ? { authorization: raw.auth } : raw.auth,
    keyVariable: raw.key,
    submit: { ...submit, ...requestOf(submit) },
    status: { ...status, ...requestOf(status) },
    result: {
      request: result.get === undefined ? undefined : { method: 'GET', url: result.get },
      output: result.output ?? '',
      pictures: [result.pictures].flat(),
    },
    failed: raw.failed,
    texts: raw.texts,
    cancel: raw.cancel && requestOf(raw.cancel),
    find: find && { ...find, ...requestOf(find) },
    check: check && { ...check, ...requestOf(check) },
    keepsMs: raw.keeps,
    limits: raw.limits,
    hosts: raw.hosts,
  };
}

function requestOf(given: object): DescribedRequest {
  const urls = given as Partial<Record<(typeof methods)[number], string>>;
  const name = methods.find((each) => urls[each] !== undefined) ?? 'get';
  return { method: name.toUpperCase() as DescribedRequest['method'], url: urls[name] ?? '' };
}
