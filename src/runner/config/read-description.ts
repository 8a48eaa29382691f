/** Reads the description of a service: one that comes with the program, or the user's own file. */
import { basename, resolve } from 'node:path';
import { z } from 'zod';
import {
  placeholdersIn,
  type DescribedRequest,
  type ServiceDescription,
} from '../core/service-description.ts';
import { packageFile } from '../../lib/files/package-file.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { checkAgainst, type Layout, fileSchema } from '../../lib/yaml/check-shape.ts';
import { readYamlFile } from '../../lib/yaml/yaml-file.ts';
import { ConfigError, gatherProblems } from '../../lib/yaml/problem.ts';
import { duration, durationWithin } from '../../lib/yaml/scalar-schemas.ts';
import type { Path, YamlFile } from '../../lib/yaml/read-yaml.ts';
import { endpointVersions, type EndpointVersion } from '../core/attempt.ts';
import { host } from './output-schema.ts';
import { statusMeaning } from './pipeline-schema.ts';

/** Services whose descriptions come with the program. */
export const knownServices = ['fal', 'replicate'] as const;

export function isKnownService(speaks: string): boolean {
  return knownServices.some((name) => name === speaks);
}

const text = z.string('a text').min(1, 'a text');
const pathExpected = 'a path such as images[*].url';
// The negative lookahead leaves one way to read a name. Other ways would take years for a path that is wrong.
const answerPath = z.string(pathExpected).regex(/^(\[(\d+|\*)\]|\.?[^.[\]]+(?![^.[\]]))+$/, pathExpected);
const perSecond = z.number('a number from 0.1').min(0.1, 'a number from 0.1');
const headerText = z.string('a text').regex(/^[^\p{Cc}]+$/u, 'a text on one line');
const headerExpected = 'the name of a header that is not about the connection or the body';
const headerName = z
  .string(headerExpected)
  .regex(
    /^(?!(?:host|connection|content-length|content-type|transfer-encoding|upgrade|expect|te|trailer|keep-alive)$)[\w!#$%&'*+.^`|~-]+$/i,
    headerExpected,
  );
const addressExpected =
  'a URL whose host is written out, or one that begins with {{ baseUrl }} or {{ job.… }}';
const address = z
  .string(addressExpected)
  .regex(/^(https?:\/\/[^/?#{}]+([/?][^]*)?|\{\{\s*(baseUrl|job\.)[^]*)$/, addressExpected);

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
const oneRequest = 'one of get, post, put, patch and delete, with its URL';

type Methods = Record<(typeof methods)[number], typeof address>;
const byMethod = Object.fromEntries(methods.map((name) => [name, address])) as Methods;

/** Requires exactly one of the methods. */
function request<Shape extends z.ZodRawShape>(more: Shape) {
  return z
    .strictObject({ ...z.object(byMethod).partial().shape, ...more })
    .refine(
      (given) => methods.filter((name) => given[name as keyof typeof given] !== undefined).length === 1,
      oneRequest,
    );
}

const yesNo = 'true or false';

const descriptionShape = z.strictObject({
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'an http(s) URL' })
    .optional()
    .describe('the address of the service; without it, the pipeline must set it'),
  id: text
    .default('the id of the model or endpoint')
    .describe('the meaning of `endpoint.id`, for people; needed if a request has `{{ id }}`'),
  auth: z
    .union(
      [headerText, z.record(headerName, headerText)],
      'the header Authorization, or headers with their values',
    )
    .default('Bearer {{ apiKey }}')
    .describe('the header `Authorization`, or headers by name'),
  key: text
    .regex(/^[A-Z_][A-Z0-9_]*$/, 'the name of an environment variable, such as FAL_KEY')
    .default('NIGHTRENDER_API_KEY')
    .describe('the variable that holds the key, for messages'),
  submit: request({
    headers: z.record(headerName, headerText).default({}).describe('further headers of a submission'),
    body: z
      .custom<JsonValue>((value) => value !== undefined, 'the body that is sent, with {{ input }}')
      .default('{{ input }}')
      .describe('the body; `{{ input }}` stands for the input of the scene'),
    job: answerPath.describe("the job's id in the answer"),
    keep: z
      .array(text, 'names of members of the answer')
      .default([])
      .describe('members of the answer that later requests need: `{{ job.NAME }}`'),
    remembers: z
      .union([z.literal('echoed'), duration], 'a time such as 24h, or echoed')
      .optional()
      .describe('time that the service knows a submission by its `{{ idempotencyKey }}`, or `echoed`'),
  }).describe('**required**: submits a job'),
  status: request({
    at: answerPath.describe('the status in the answer'),
    job: answerPath
      .optional()
      .describe("the job's id in the answer, to compare it; by default as `submit.job`"),
    map: z
      .record(text, statusMeaning)
      .describe('its statuses, each as `waiting`, `running`, `done`, `failed`, `cancelled` or `timed-out`'),
    seconds: answerPath.optional().describe('seconds of execution, for `pricing.perSecond` and times'),
    delayMs: answerPath.optional().describe('milliseconds in the queue'),
    executionMs: answerPath.optional().describe('milliseconds of execution, instead of `seconds`'),
    expired: answerPath.optional().describe('has a value other than false if the result was deleted'),
  }).describe('**required**: asks for a job'),
  result: z
    .strictObject({
      get: address
        .optional()
        .describe('fetches the result; without it, the answer that says `done` contains the result'),
      job: answerPath.optional().describe("the job's id in that answer, to compare it"),
      output: answerPath.optional().describe('the output in that answer; by default all of it'),
      pictures: z
        .union([answerPath, z.array(answerPath)], 'a path, or several')
        .default([])
        .describe('pictures in the output: a path, or several paths that are tried in turn'),
      comesFirst: z
        .boolean(yesNo)
        .default(false)
        .describe('`true`: an output counts even if `failed` has a value'),
      withKey: z
        .boolean(yesNo)
        .default(true)
        .describe('`false`: results at its own address are downloaded without the key'),
    })
    .prefault({})
    .describe('result of a job and its pictures'),
  failed: answerPath
    .default('error')
    .describe('the reason of a failure; a job that is done has failed if this has a value'),
  texts: z
    .record(
      text,
      z.enum(
        ['cancelled', 'no-credit', 'unknown-id', 'refused-input', 'not-yet'],
        'cancelled, no-credit, unknown-id, refused-input or not-yet',
      ),
    )
    .default({})
    .describe('texts in a refusal or failure, each with its meaning'),
  cancel: request({}).optional().describe('cancels a job; without it, jobs cannot be cancelled'),
  find: request({
    items: answerPath.describe('the list in the answer, newest first'),
    job: answerPath.optional().describe('the id, in an item; by default as `submit.job`'),
    next: answerPath.optional().describe('the address of the next page, or its cursor'),
    cursor: text.optional().describe('the query parameter for `next`, if `next` is a cursor'),
    input: answerPath.describe('the input that was sent, in an item'),
    createdAt: answerPath.describe('the time of submission, in an item: ISO 8601'),
    keep: z
      .record(text, address)
      .default({})
      .describe('addresses for `submit.keep`, built from the id, if an item has none'),
    onlyEnded: z
      .boolean(yesNo)
      .default(false)
      .describe('`true`: a job may be listed only once it is over, in any order'),
  })
    .optional()
    .describe('lists jobs, to find a job whose answer was lost'),
  archive: request({
    job: answerPath.describe("the job's id in the answer"),
    code: answerPath.describe('the HTTP status of its result; without one, the job is not over'),
    output: answerPath.describe('its output, or the reason of its failure'),
  })
    .optional()
    .describe('asked for a job that `status` or `result` answers with 404 or 410'),
  check: request({
    has: answerPath.optional().describe('has a value if the id is known'),
    price: answerPath.optional().describe('the price of a unit, to compare with `pricing`'),
    unit: answerPath.optional().describe('its unit, such as `image`'),
    currency: answerPath.optional().describe('its currency'),
  })
    .optional()
    .describe('asked by `plan --check`; 404 means that the id is unknown'),
  health: request({
    jobs: answerPath.optional().describe('counts of jobs, such as `inProgress` and `inQueue`'),
    workers: answerPath.optional().describe('counts of workers, such as `running`, `idle` and `throttled`'),
  })
    .optional()
    .describe('instead of `check`, and also during a run: if the service answers, and how busy it is'),
  keeps: durationWithin('0s', '90d').prefault('30m').describe('time that a result is kept'),
  limits: z
    .strictObject({
      jobs: z
        .int('a whole number above 0')
        .positive('a whole number above 0')
        .optional()
        .describe('maximum number of jobs in flight'),
      submissionsPerSecond: perSecond.optional().describe('maximum number of submissions a second'),
      requestsPerSecond: perSecond.optional().describe('maximum number of status requests a second'),
    })
    .prefault({})
    .describe('the limits of the service; `concurrency` and `rate` may be lower'),
  origins: z
    .array(z.url({ protocol: /^https?$/, error: 'an http(s) URL' }), 'a list of URLs')
    .default([])
    .describe('further addresses of the service, such as `https://backup.example.com`'),
  hosts: z
    .array(host, 'host names such as cdn.example.com')
    .default([])
    .describe('further hosts of its results, as in `output.hosts`'),
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

/** Reads one of `knownServices`, or a file relative to `base`. Throws `ConfigError` if the file is wrong. */
export function readDescription(speaks: string, base: string, env: NodeJS.ProcessEnv): ServiceDescription {
  return isKnownService(speaks) ? readShipped(speaks) : read(resolve(base, speaks), env, false);
}

/** Returns the description of job services, or of a worker's development server. */
export function jobsDescription(version: EndpointVersion): ServiceDescription {
  return readShipped(version === 'dev' ? version : 'jobs');
}

function readShipped(name: string): ServiceDescription {
  return read(packageFile(`src/runner/config/services/${name}.yaml`), {}, true);
}

/** `isOurs`: the file comes with the program. */
function read(file: string, env: NodeJS.ProcessEnv, isOurs: boolean): ServiceDescription {
  const yaml = readYamlFile(file, env, { expected: 'the description of a service' });
  if (yaml.isBroken) throw new ConfigError(yaml.problems);
  const { raw, problems } = checkAgainst<RawDescription>(descriptionShape, yaml, [], layout);
  const name = basename(file).replace(/\.ya?ml$/i, '');
  const report = (path: Path, problem: string): void =>
    void problems.push({ where: yaml.placeOf(path), text: problem });
  if (!isOurs && [...endpointVersions, ...knownServices, 'comfyui', 'jobs'].includes(name))
    report([], `${name} is the name of a known interface; give the file another`);
  if (raw !== undefined) checkContent(raw, isOurs, report);
  checkVariables(yaml, yaml.value, [], report);
  const all = gatherProblems(yaml, problems, []);
  if (raw === undefined || all.length > 0) throw new ConfigError(all);
  return descriptionOf(name, raw, isOurs);
}

export function descriptionSchema(): JsonObject {
  return fileSchema(descriptionShape, 'the description of a service');
}

type ReportAt = (path: Path, text: string) => void;

/** Reports placeholders that are not available in their section, and keys that require or exclude one another. */
function checkContent(raw: RawDescription, isOurs: boolean, report: ReportAt): void {
  const { body, ...sending } = raw.submit;
  const everywhere = ['baseUrl', 'id', 'model', 'app', ...(isOurs ? ['version'] : [])];
  const ofJob = [...everywhere, 'job.id', ...raw.submit.keep.map((name) => `job.${name}`)];
  const { keep, ...finding } = raw.find ?? {};
  const allowed: [Path, unknown, string[]][] = [
    [['auth'], raw.auth, ['apiKey']],
    [['submit'], sending, [...everywhere, 'idempotencyKey']],
    [['submit', 'body'], body, [...everywhere, 'idempotencyKey', 'input']],
    [['status'], raw.status, ofJob],
    [['result'], raw.result, ofJob],
    [['cancel'], raw.cancel, ofJob],
    [['find'], finding, [...everywhere, 'since']],
    [['find', 'keep'], keep, [...everywhere, 'job.id']],
    [['archive'], raw.archive, ofJob],
    [['check'], raw.check, everywhere],
    [['health'], raw.health, everywhere],
  ];
  for (const [path, value, names] of allowed)
    for (const name of placeholdersIn(JSON.stringify(value ?? '')))
      if (!names.includes(name))
        report(
          path,
          `${path.join('.')} has the placeholder {{ ${name} }}; expected ${names.map((each) => `{{ ${each} }}`).join(', ')}`,
        );
  const sent = JSON.stringify(body);
  const inputs = placeholdersIn(sent).filter((name) => name === 'input').length;
  const whole = sent.match(/"\{\{\s*input\s*\}\}"/g)?.length ?? 0;
  if (inputs !== whole || whole === 0)
    report(['submit', 'body'], 'submit.body needs {{ input }} as a whole value: the input of the scene');
  if (raw.submit.remembers !== undefined && !JSON.stringify(raw.submit).includes('idempotencyKey'))
    report(['submit', 'remembers'], 'submit.remembers needs {{ idempotencyKey }} in a header or in the body');
  if (raw.submit.remembers === 'echoed' && !JSON.stringify(raw.submit.headers).includes('idempotencyKey'))
    report(['submit', 'remembers'], 'submit.remembers: echoed needs {{ idempotencyKey }} in a header');
  for (const name of Object.keys(keep ?? {}))
    if (!raw.submit.keep.includes(name))
      report(['find', 'keep', name], `find.keep has ${name}, which submit.keep does not have`);
  if (raw.find?.cursor !== undefined && raw.find.next === undefined)
    report(['find', 'cursor'], 'find.cursor needs find.next: where the cursor is in the answer');
  if (raw.check !== undefined && raw.health !== undefined)
    report(['health'], 'health takes the place of check; leave one of them out');
}

/** Reports variables outside `auth`, because everything else may be shown. */
function checkVariables(yaml: YamlFile, value: unknown, path: (string | number)[], report: ReportAt): void {
  const inner = Array.isArray(value) ? value.entries() : isJsonObject(value) ? Object.entries(value) : [];
  for (const [key, each] of inner) if (key !== 'auth') checkVariables(yaml, each, [...path, key], report);
  if (yaml.writtenAs(path) !== undefined)
    report(
      path,
      `${path.join('.')} takes no environment variable, since plan shows it; only auth may have one`,
    );
}

function descriptionOf(name: string, raw: RawDescription, isOurs: boolean): ServiceDescription {
  const { submit, status, result, find, archive, check, health } = raw;
  return {
    name,
    isOfJobs: isOurs && !isKnownService(name),
    isJobNamed: isOurs,
    baseUrl: raw.baseUrl?.replace(/\/+$/, ''),
    id: raw.id,
    auth: typeof raw.auth === 'string' ? { authorization: raw.auth } : raw.auth,
    keyVariable: raw.key,
    submit: { ...submit, ...requestOf(submit) },
    status: { ...status, ...requestOf(status), job: status.job ?? submit.job },
    result: {
      request: result.get === undefined ? undefined : { method: 'GET', url: result.get },
      job: result.job,
      output: result.output ?? '',
      pictures: [result.pictures].flat(),
      comesFirst: result.comesFirst,
      withKey: result.withKey,
    },
    failed: raw.failed,
    texts: raw.texts,
    cancel: raw.cancel && requestOf(raw.cancel),
    find: find && { ...find, ...requestOf(find) },
    archive: archive && { ...archive, ...requestOf(archive) },
    check: check && { ...check, ...requestOf(check) },
    health: health && { ...health, ...requestOf(health) },
    keepsMs: raw.keeps,
    limits: raw.limits,
    origins: raw.origins,
    hosts: raw.hosts,
  };
}

function requestOf(given: object): DescribedRequest {
  const urls = given as Partial<Record<(typeof methods)[number], string>>;
  const name = methods.find((each) => urls[each] !== undefined) ?? 'get';
  return { method: name.toUpperCase() as DescribedRequest['method'], url: urls[name] ?? '' };
}
