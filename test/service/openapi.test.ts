/**
 * Promise: the OpenAPI description is served and matches the service: its operations, methods and answers.
 */
import { rmSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { JobReserve } from '../../src/service/jobs/data-folder.ts';
import { openApi } from '../../src/protocol/openapi.ts';
import { operations } from '../../src/protocol/operations.ts';
import { addKey } from './pull-harness.ts';
import { ask, endpointId, key, openService } from './service-harness.ts';

interface Described {
  responses: Record<string, { $ref?: string; content?: Record<string, unknown> }>;
}

const paths = openApi.paths as Record<string, Record<string, Described | undefined>>;
const ajv = new Ajv2020({ strict: true, formats: { uri: true } });
ajv.addVocabulary(['components', 'paths']);
const { components } = openApi;
ajv.addSchema({ $id: 'doc', components, paths }, 'doc', undefined, false);

/** Operations and statuses whose answers matched the description. */
const seen = new Set<string>();
beforeEach(() => seen.clear());

it('the description is served without a key', async () => {
  const { url } = await openService({ workers: 0 });
  const reply = await fetch(`${url}/openapi.json`);
  expect(reply.headers.get('content-type')).toBe('application/json');
  const description = (await reply.json()) as typeof openApi;
  expect(description).toEqual(JSON.parse(JSON.stringify(openApi)));
  // The server URL of the document leads to these paths.
  const { href } = new URL(description.servers[0]?.url ?? 'nowhere:', `${url}/openapi.json`);
  expect(href).toBe(`${url}/`);
  expect((await fetch(`${url}/openapi.json`, { method: 'POST' })).status).toBe(401);
});

it('the description has every operation that exists, with its method and its parts, and no other', () => {
  const described = Object.entries(paths).map(([path, { parameters: _parameters, ...methods }]) => {
    return `${Object.keys(methods).join()} ${path}`;
  });
  const served = Object.entries(operations).map(([name, { methods, parts }]) => {
    const path = ['', '{version}', '{endpointId}', name, ...parts.map((part) => `{${part}}`)].join('/');
    return `${Object.keys(methods).join().toLowerCase()} ${path}`;
  });
  expect(described.toSorted()).toEqual(served.toSorted());
  const ids = JSON.stringify(paths).match(/"operationId":"\w+"/g);
  expect(new Set(ids).size).toBe(
    Object.values(operations).flatMap(({ methods }) => Object.keys(methods)).length,
  );
});

it('the description describes the answers to clients', async () => {
  const { url, held, dataDir } = await openService({
    endpoints: [endpointSettings({ id: endpointId, maxQueued: 3, retries: 0 })],
    rate: { requests: 20, withinMs: 1e9 },
  });
  const given = clientOf(url, `Bearer ${key}`);
  const body = '{"input":{"scene":"x"},"policy":{"lowPriority":false}}';
  const id = idOf(await given('run', '', body));
  await given('status', id);
  const run = await held.next();
  await given('status', id);
  await given('runsync', '?wait=1', body);
  await given('render', '?wait=1', body);
  await given('status-sync', `${id}?wait=1`);
  run.complete([{ seed: 1 }]);
  await given('status-sync', id);
  await given('stream', id);
  await given('retry', id);
  (await held.next()).fail(new Error('no'));
  const failed = held.runs[1]?.job.id ?? '';
  await given('status-sync', failed);
  await given('retry', failed);
  await given('cancel', failed);
  await given('status', failed);
  await given('run', '', body);
  await given('run', '', body);
  while ((await given('run', '', body)) !== '429');
  await given('health', '');
  await given('webhook-secret', '');
  await given('purge-queue', '');
  await given('run', '', '{}');
  await given('status', 'no-such-job');
  await given('purge-queue', '', undefined, 'PUT');
  await clientOf(url, 'Bearer wrong')('health', '');
  await clientOf(url, `Bearer ${addKey(dataDir, 'worker')}`)('health', '');
  while ((await given('health', '')) !== '429');
  rmSync(dataDir, { recursive: true });
  await given('run', '', body);
  await given('runsync', '', body);
  expect([...seen].toSorted().join(', ')).toBe(
    'cancel 200, health 200, health 401, health 403, health 429, purge-queue 200, ' +
      'purge-queue 405, render 200, retry 200, retry 409, run 200, run 400, run 429, ' +
      'run 503, runsync 200, runsync 503, status 200, status 404, status-sync 200, stream 200, webhook-secret 200',
  );
});

it('the description describes the answers on a full disk', async () => {
  const full = vi.spyOn(JobReserve.prototype, 'spend').mockImplementation(function (this: JobReserve) {
    this.isFull = true;
    return Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
  });
  vi.spyOn(JobReserve.prototype, 'refill').mockReturnValue(false);
  onTestFinished(() => void vi.restoreAllMocks());
  const { url, dataDir } = await openService({ workers: 0 });
  const given = clientOf(url, `Bearer ${key}`);
  const body = '{"input":{"scene":"x"}}';
  const id = idOf(await given('run', '', body));
  const work = clientOf(url, addKey(dataDir, 'worker'));
  await work('job-take', 'w');
  await work('job-done', `w/${id}`, '{"output":1}');
  expect(full).toHaveBeenCalled();
  for (const operation of ['run', 'runsync', 'render']) await given(operation, '', body);
  await given('retry', id);
  expect([...seen].toSorted().join(', ')).toBe(
    'job-done 507, job-take 200, render 507, retry 507, run 200, run 507, runsync 507',
  );
});

it('the description describes the answers to workers', async () => {
  const { url, dataDir, close } = await openService({ workers: 0 });
  const given = clientOf(url, addKey(dataDir, 'worker'));
  const client = clientOf(url, `Bearer ${key}`);
  const body = '{"input":{"scene":"x"}}';
  for (let count = 0; count < 3; count++) await client('run', '', body);
  const id = idOf(await given('job-take', 'w1?gpu=X'));
  await given('job-take-batch', 'w1?batch_size=1');
  await given('ping', `w1?job_id=${id}`);
  await given('job-stream', `w1/${id}`, '{"output":1}');
  await given('job-done', `w1/${id}`, '{"output":[1]}');
  await given('job-done', `w1/${id}`, '{"output":[1]}');
  await given('job-done', `w1/${id}`, '[]');
  await given('job-done', 'w1/no-such', '{"output":1}');
  await given('ping', 'w1?job_id=never-had');
  await given('job-stop', 'w1');
  await given('report', 'w1', '{"workload":"painter","state":"working","log":["ready"]}');
  await given('report', 'w1', '{"state":"asleep"}');
  await client('purge-queue', '');
  const held = [given('job-take', 'w2'), given('job-stop', 'w2'), given('job-take-batch', 'w3')];
  await given('ping', 'w2');
  while (!(await ask(url, `/v2/${endpointId}/health`)).text.includes('"idle":2'));
  await given('job-take', 'w2');
  await close();
  await Promise.all(held);
  expect([...seen].toSorted().join(', ')).toBe(
    'job-done 200, job-done 400, job-done 404, job-stop 200, job-stop 204, job-stream 200, ' +
      'job-take 200, job-take 204, job-take 409, job-take-batch 200, job-take-batch 204, ping 200, ' +
      'purge-queue 200, report 200, report 400, run 200',
  );
});

/**
 * Returns a function that sends a request, compares the answer with its description, and returns the body, or
 * the status if it failed.
 */
function clientOf(url: string, authorization: string) {
  return async (operation: string, rest: string, body?: string, asMethod?: string): Promise<string> => {
    const [path, item] =
      Object.entries(paths).find(([name]) => name.split('/')[3] === operation) ?? expect.fail(operation);
    const [method, described] = Object.entries(item).find(([name]) => name !== 'parameters') ?? [];
    const target = `${url}/v2/${endpointId}/${operation}${path.endsWith('}') ? '/' : ''}${rest}`;
    const init = { method: asMethod ?? method?.toUpperCase() ?? '', headers: { authorization } };
    const reply = await fetch(target, body === undefined ? init : { ...init, body });
    const text = await reply.text();
    expect(described?.responses, `${operation} ${reply.status} ${text}`).toHaveProperty(`${reply.status}`);
    const content = contentOf(described, reply.status);
    if (content === undefined) expect(text).toBe('');
    else
      expect(ajv.validate(content, JSON.parse(text)), `${operation} ${text} ${ajv.errorsText()}`).toBe(true);
    seen.add(`${operation} ${reply.status}`);
    return reply.status === 200 ? text : String(reply.status);
  };
}

function contentOf(described: Described | undefined, status: number): object | undefined {
  const given = described?.responses[status];
  const name = given?.$ref?.split('/').at(-1);
  const response =
    name === undefined ? given : (openApi.components.responses as Described['responses'])[name];
  const json = response?.content?.['application/json'] as { schema: { $ref: string } } | undefined;
  return json && { $ref: `doc${json.schema.$ref}` };
}

function idOf(text: string): string {
  return (JSON.parse(text) as { id: string }).id;
}
