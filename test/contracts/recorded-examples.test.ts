/**
 * Promise: the client understands the examples in the description of the service's interface, and the local service
 * answers the same.
 */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../src/runner/core/attempt.ts';
import { openApi } from '../../src/protocol/openapi.ts';
import { clientOf, jobId } from '../runner/client/client.ts';
import { answer, scriptedServer } from '../fakes/scripted-server.ts';
import { addKey, PullingWorker } from '../service/pull-harness.ts';
import { ask, endpointId, key, openService, statusOnce, submit } from '../service/service-harness.ts';

interface Example {
  name: string;
  /** Section of the description with this example. */
  source: string;
  request: { method: string; path: string; body?: { input: Record<string, unknown> } };
  answer: { status: number; type: string; body: unknown };
  /** Name of its schema in the OpenAPI description. Undefined if only other services answer like this. */
  schema?: string;
  /** State of the local service in which it answers like this. Undefined if it never does. */
  local?: 'new' | 'queued' | 'running' | 'streaming' | 'completed' | 'failed' | 'to-stop';
  /** Reply of the client. Undefined if the client never sends this request. */
  reads?: Record<string, unknown>;
}

const file = new URL('../fixtures/recorded-examples.json', import.meta.url);
const examples = JSON.parse(readFileSync(file, 'utf8')) as Example[];
const signal = new AbortController().signal;

describe('the client', () => {
  it.each(examples.filter(({ reads }) => reads !== undefined))('reads $name', async (example) => {
    const { status, type, body } = example.answer;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const server = await scriptedServer(answer(status, text, { 'Content-Type': type }));
    expect(await asked(server.url, example)).toMatchObject(example.reads ?? {});
    const { method, path } = example.request;
    expect(server.requests[0]).toMatchObject({ method, path });
    const sent = server.requests[0]?.body ?? '';
    expect(sent === '' ? undefined : JSON.parse(sent)).toEqual(example.request.body);
  });
});

/** Sends the example's request with the client, and returns its reply. */
async function asked(url: string, { request }: Example): Promise<unknown> {
  const { service } = clientOf(url);
  const [, version, id = '', operation] = request.path.split('/');
  const endpoint: Endpoint = { baseUrl: url, id, version: version === 'v1' ? 'v1' : 'v2' };
  if (operation === 'run') return service.submit(endpoint, { scene: 'a hill' }, signal);
  if (operation === 'health') return service.health(endpoint, signal);
  return operation === 'cancel'
    ? service.cancel({ endpoint, jobId }, signal)
    : service.status({ endpoint, jobId }, signal);
}

describe('the local service', () => {
  it.each(examples.filter(({ local }) => local !== undefined))(
    'answers as it is shown for $name: the same fields, in the same order',
    async (example) => {
      const answered = await answeredHere(example);
      expect(answered.status).toBe(example.answer.status);
      expect(shapeOf(answered.json)).toEqual(shapeOf(example.answer.body));
    },
  );
});

/** Brings a local service into the example's state, sends the request, and returns the answer. */
async function answeredHere({ request, local }: Example): Promise<{ status: number; json: unknown }> {
  const isHeld = local === 'running' || local === 'completed' || local === 'failed';
  const { url, held, dataDir } = await openService({ workers: isHeld ? 1 : 0 });
  const workerKey = addKey(dataDir, 'worker');
  const worker = new PullingWorker(url, workerKey, 'w1');
  const id = local === 'new' ? '' : await submit(url, { scene: 'a hill' });
  if (isHeld) {
    const run = await held.next();
    if (local === 'completed') run.complete([{ rendered_image: 'AAAA', seed: 42 }]);
    if (local === 'failed') run.fail(new Error('no'));
    await statusOnce(url, id, { running: 'IN_PROGRESS', completed: 'COMPLETED', failed: 'FAILED' }[local]);
  }
  if (local === 'streaming' || local === 'to-stop') await worker.taken();
  if (local === 'streaming') await worker.part(id, '{"output":{"step":1}}');
  if (local === 'to-stop') await ask(url, `/v2/${endpointId}/cancel/${id}`, { method: 'POST' });
  const isOfWorkers = request.path.includes('/job-');
  const headers = { Authorization: isOfWorkers ? workerKey : `Bearer ${key}` };
  const body = request.body === undefined ? {} : { body: JSON.stringify(request.body) };
  return ask(url, request.path.replace(jobId, id), { method: request.method, headers, ...body });
}

/** Returns the names of fields in order, with the types of their values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  // Services of this kind name the worker. The examples leave it out.
  const shown = Object.entries(value).filter(([name]) => name !== 'workerId');
  return shown.map(([name, inner]) => [name, shapeOf(inner)]);
}

describe('the OpenAPI description', () => {
  const ajv = new Ajv2020({ strict: true, formats: { uri: true } });
  ajv.addVocabulary(['components']);
  ajv.addSchema({ $id: 'doc', components: openApi.components }, 'doc', undefined, false);

  it.each(examples.filter(({ schema }) => schema !== undefined))(
    'has $name',
    ({ request, answer: recorded, schema }) => {
      const fits = (name: string, value: unknown): string | true =>
        ajv.validate({ $ref: `doc#/components/schemas/${name}` }, value) || ajv.errorsText();
      expect(fits(schema ?? '', recorded.body)).toBe(true);
      if (request.body !== undefined) expect(fits('Submission', request.body)).toBe(true);
    },
  );
});

it('is shown in examples that state their source, each with a unique name', () => {
  expect(new Set(examples.map(({ name }) => name)).size).toBe(examples.length);
  for (const { source } of examples) expect(source).toMatch(/^(the interface's|real services') .+: .+/);
});
