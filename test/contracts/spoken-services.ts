/** Five services, each with a server whose answers a test decides, and a client that is opened as by a run. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { connectService, type ServiceClient } from '../../src/batch/connect-service.ts';
import { ByteSemaphore } from '../../src/lib/limits.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { Workflow } from '../../src/protocol/comfyui-workflow.ts';
import { ReceivedFiles } from '../../src/runner/client/received-files.ts';
import { SendingFiles } from '../../src/runner/client/sending-files.ts';
import type { Config } from '../../src/runner/config/config.ts';
import type { JobAtService } from '../../src/runner/core/attempt.ts';
import type { SubmitReply } from '../../src/runner/pipeline/ports.ts';
import { unusedPort } from '../e2e/listen-on-loopback.ts';
import { emptyImage, saving } from '../fakes/comfyui-workflows.ts';
import {
  answer,
  answerJson,
  scriptedServer,
  type ReceivedRequest,
  type Script,
} from '../fakes/scripted-server.ts';
import { configOf } from '../runner/config/pipeline-file.ts';
import type { Dialect, World } from './render-service.contract.ts';

export const serviceNames = ['jobs', 'fal', 'replicate', 'own', 'comfyui'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** `list`: the jobs of the account. `archive`: a job that the service no longer has. */
type Operation = 'submit' | 'status' | 'result' | 'picture' | 'cancel' | 'health' | 'list' | 'archive';

export type Answers = Partial<Record<Operation, Script>>;

/** URLs of the service and of another server that must never get a request. */
export interface Addresses {
  url: string;
  other: string;
}

type State = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled' | 'late' | 'unknown';

export interface SpokenService {
  /** Keys of `endpoint` besides the URL and the key. */
  endpoint: string;
  /** Headers that carry the key in every request. */
  auth: Record<string, string>;
  /** Returns the operation of a request. `path` has no query. */
  operationOf(request: Pick<ReceivedRequest, 'method' | 'path'>): Operation | undefined;
  /** Returns the regular answer to a submission, and the reply of the port. */
  accepted(at: Addresses): { answer: Script; reply: SubmitReply & { kind: 'accepted' } };
  /** The service's words for the states of a job. */
  words: Record<State, string>;
  /** Returns the answers that tell the state of the job, with an output or an error. */
  says(state: State, told?: { output?: unknown; error?: string }): Answers;
  /** Returns an output with these pictures. */
  outputOf(...pictures: string[]): unknown;
  /** An output with a video at `clipUrl`, or with a file of this name. */
  clipOutput: unknown;
  /** Fields of the output for each picture. */
  told: { seed?: string };
}

export const key = 'canary-id:canary-secret-1';
export const jobId = 'j1';
export const onePixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** Content of the picture that the service itself hosts. */
export const ownBytes = Buffer.from('a picture, as far as the client knows');
/** Path of this picture. */
export const ownPath = '/files/a.png';
/** Limit of `limits.body` in bytes. */
export const bodyLimit = 20_000;
export const clipUrl = 'https://cdn.example/a.mp4';
const memoryBytes = 128_000_000;

/** Answers of a ComfyUI that does not have the job. */
export const absent: Answers = {
  status: answerJson({ queue_running: [], queue_pending: [] }),
  result: answerJson({}),
};

const ownDescription = `
auth: { X-Api-Key: '{{ apiKey }}' }
submit: { post: '{{ baseUrl }}/models/{{ id }}', body: { params: '{{ input }}' }, job: data.id, keep: [page] }
status:
  get: '{{ baseUrl }}/jobs/{{ job.id }}'
  at: data.state
  map: { queued: waiting, working: running, ready: done, broken: failed, stopped: cancelled, late: timed-out }
result: { output: data.outputs }
failed: data.problem
cancel: { post: '{{ baseUrl }}/jobs/{{ job.id }}/stop' }
find:
  get: '{{ baseUrl }}/jobs?since={{ since }}'
  items: jobs
  next: next
  cursor: cursor
  job: id
  input: params
  createdAt: at
  onlyEnded: true
  keep: { page: '{{ baseUrl }}/pages/{{ job.id }}' }
archive: { get: '{{ baseUrl }}/archive/{{ job.id }}', job: id, code: code, output: outputs }
check: { get: '{{ baseUrl }}/models/{{ id }}' }
`;

const wordsOfJobs = {
  waiting: 'IN_QUEUE',
  running: 'IN_PROGRESS',
  done: 'COMPLETED',
  failed: 'FAILED',
  cancelled: 'CANCELLED',
  late: 'TIMED_OUT',
  unknown: 'PAUSED',
};

export const services: Record<ServiceName, SpokenService> = {
  jobs: {
    endpoint: 'id: painter',
    auth: { authorization: `Bearer ${key}` },
    operationOf: ({ path }) =>
      /\/painter\/(run|status|cancel|health)/.exec(path)?.[1]?.replace('run', 'submit') as Operation,
    accepted: () => ({
      answer: answerJson({ id: jobId, status: 'IN_QUEUE' }),
      reply: { kind: 'accepted', jobId, status: 'IN_QUEUE' },
    }),
    words: wordsOfJobs,
    says: (state, told) => ({ status: answerJson({ id: jobId, status: wordsOfJobs[state], ...told }) }),
    outputOf: (...pictures) => pictures.map((image) => ({ image, seed: 5 })),
    clipOutput: { video_url: clipUrl, cost: 0.2 },
    told: { seed: '5' },
  },
  fal: {
    endpoint: 'speaks: fal, id: fal-ai/flux/dev',
    auth: { authorization: `Key ${key}` },
    operationOf: ({ method, path }) => {
      if (method === 'POST') return 'submit';
      if (path === ownPath) return 'picture';
      if (method === 'PUT') return 'cancel';
      return path.endsWith('/status') ? 'status' : 'result';
    },
    accepted: ({ url }) => {
      const at = `${url}/requests/${jobId}`;
      const kept = { status_url: `${at}/status`, response_url: at, cancel_url: `${at}/cancel` };
      return {
        answer: answerJson({ request_id: jobId, status: 'IN_QUEUE', ...kept }),
        reply: { kind: 'accepted', jobId, status: 'IN_QUEUE', kept, idempotencyMs: 30 * 86_400_000 },
      };
    },
    words: { ...wordsOfJobs, failed: 'COMPLETED', cancelled: 'COMPLETED' },
    says: (state, { output = {}, error } = {}) => ({
      status: answerJson({ status: services.fal.words[state], ...(state !== 'done' && { error }) }),
      result: error === undefined ? answerJson(output) : answerJson({ detail: error }, 409),
    }),
    outputOf: (...pictures) => ({ images: pictures.map((url) => ({ url })), seed: 5 }),
    clipOutput: { video: { url: clipUrl, content_type: 'video/mp4', file_name: 'a.mp4' }, seed: 5 },
    told: { seed: '5' },
  },
  replicate: {
    endpoint: 'speaks: replicate, id: alice/hills',
    auth: { authorization: `Bearer ${key}` },
    operationOf: ({ method, path }) => {
      if (path === ownPath) return 'picture';
      if (path.endsWith('/cancel')) return 'cancel';
      if (path.startsWith('/v1/models')) return 'health';
      if (path.startsWith('/v1/predictions/')) return 'status';
      return method === 'POST' ? 'submit' : 'list';
    },
    accepted: () => ({
      answer: answerJson({ id: jobId, status: 'starting' }, 201),
      reply: { kind: 'accepted', jobId, status: 'starting', idempotencyMs: 3_600_000 },
    }),
    words: {
      waiting: 'starting',
      running: 'processing',
      done: 'succeeded',
      failed: 'failed',
      cancelled: 'canceled',
      late: 'aborted',
      unknown: 'PAUSED',
    },
    says: (state, told) => {
      const status = services.replicate.words[state];
      return { status: answerJson({ id: jobId, status, output: null, ...told }) };
    },
    outputOf: (...pictures) => pictures,
    clipOutput: clipUrl,
    told: {},
  },
  own: {
    endpoint: 'speaks: mine.yaml, id: hills',
    auth: { 'x-api-key': key },
    operationOf: ({ method, path }) => {
      if (path === ownPath) return 'picture';
      if (path === '/models/hills') return method === 'POST' ? 'submit' : 'health';
      if (path === '/jobs') return 'list';
      if (path.startsWith('/archive/')) return 'archive';
      return path.endsWith('/stop') ? 'cancel' : 'status';
    },
    accepted: () => ({
      answer: answerJson({ data: { id: jobId, state: 'queued' } }),
      reply: { kind: 'accepted', jobId, status: 'queued', idempotencyMs: 1_800_000 },
    }),
    words: {
      waiting: 'queued',
      running: 'working',
      done: 'ready',
      failed: 'broken',
      cancelled: 'stopped',
      late: 'late',
      unknown: 'PAUSED',
    },
    says: (state, { output: outputs, error: problem } = {}) => ({
      status: answerJson({ data: { id: jobId, state: services.own.words[state], outputs, problem } }),
    }),
    outputOf: (...pictures) => pictures,
    clipOutput: [clipUrl],
    told: {},
  },
  comfyui: {
    endpoint: "speaks: comfyui, workflow: flow.json, set: { '3.seed': '{{ seed }}' }",
    auth: { authorization: `Bearer ${key}` },
    operationOf: ({ method, path }) => {
      if (path === '/view') return 'picture';
      if (path.startsWith('/history')) return 'result';
      if (path === '/system_stats') return 'health';
      if (path === '/prompt') return 'submit';
      return method === 'POST' ? 'cancel' : 'status';
    },
    accepted: () => ({
      answer: answerJson({ prompt_id: jobId, number: 1, node_errors: {} }),
      reply: { kind: 'accepted', jobId, status: 'pending', kept: { seed: '5' } },
    }),
    words: {
      waiting: 'pending',
      running: 'running',
      done: 'success',
      failed: 'error',
      cancelled: 'interrupted',
      late: '',
      unknown: '',
    },
    says: (state, { output = {}, error } = {}) => {
      const [running, waiting] = [state === 'running', state === 'waiting'].map((is) =>
        is ? [[1, jobId]] : [],
      );
      const type = state === 'cancelled' ? 'execution_interrupted' : 'execution_error';
      const message = [type, { node_id: '3', node_type: 'LatentCut', exception_message: error }];
      const status = { completed: state === 'done', messages: state === 'done' ? [] : [message] };
      return {
        status: answerJson({ queue_running: running, queue_pending: waiting }),
        result: answerJson({ [jobId]: { outputs: output, status } }),
      };
    },
    outputOf: (...pictures) => ({
      9: { images: pictures.map(() => ({ filename: 'a.png', subfolder: 'x', type: 'output' })) },
    }),
    clipOutput: {
      9: { images: [{ filename: 'a.mp4', subfolder: 'x', type: 'output' }], animated: [true] },
    },
    told: { seed: '5' },
  },
};

/** A service with its client and the results of requests. */
export interface SpokenTo {
  at: Addresses;
  client: ServiceClient;
  input: JsonObject;
  job: JobAtService;
  warnings: string[];
  /** Fails if any other server got a request, a request lacked the key, or memory is still reserved. */
  check(): void;
  /** Returns the number of submissions that were sent. */
  submissions(): number;
}

/**
 * Opens a service and its client. `answersAt` returns answers by operation. Other operations are answered like a job
 * that waits.
 */
export async function speakTo(
  name: ServiceName,
  answersAt: (at: Addresses) => Answers,
  more: OpenOptions = {},
): Promise<SpokenTo> {
  const { auth, operationOf, accepted, says } = services[name];
  const other = await scriptedServer(answer(200, '{}'));
  let answers: Answers = {};
  const meantBy = ({ method, path }: ReceivedRequest) =>
    operationOf({ method, path: path.replace(/\?.*/, '') });
  const server = await scriptedServer((socket, request) => {
    const operation = meantBy(request);
    const script = operation === undefined ? undefined : answers[operation];
    (script ?? answer(404))(socket, request);
  });
  const at = { url: server.url, other: other.url };
  const { answer: submit, reply } = accepted(at);
  answers = {
    submit,
    ...says('waiting'),
    picture: answer(200, ownBytes),
    cancel: answer(200, '{}'),
    health: answer(200, '{}'),
    ...answersAt(at),
  };
  const opened = openAt(name, server.url, { limits: `{ body: ${bodyLimit / 1_000}kB }`, ...more });
  const { client, config, memory, warnings } = opened;
  const { service } = config;
  return {
    at,
    client,
    input:
      service.kind === 'comfyui'
        ? { workflow: service.sha256, set: { '3.seed': 5 } }
        : { prompt: 'a hill', seed: 5 },
    job: { endpoint: config.endpoint, jobId, ...(reply.kept && { kept: reply.kept }) },
    warnings,
    submissions: () => server.requests.filter((request) => meantBy(request) === 'submit').length,
    check: () => {
      expect(other.requests).toEqual([]);
      for (const { headers } of server.requests) expect(headers).toMatchObject(auth);
      expect(memory.tryTake(memoryBytes)).toBe(true);
    },
  };
}

/** Returns an endpoint at a port on which no server listens. */
export async function nobodyAt({ job: { endpoint } }: SpokenTo): Promise<JobAtService['endpoint']> {
  return { ...endpoint, baseUrl: `http://127.0.0.1:${await unusedPort()}` };
}

export interface OpenOptions {
  apiKey?: string;
  /** Keys of `endpoint` instead of the service's default ones. */
  endpoint?: string;
  /** Workflow for `comfyui`. */
  workflow?: Workflow;
  /** YAML of `limits`. */
  limits?: string;
  /** YAML of further keys of `output`. */
  output?: string;
  /** YAML of `pricing`. */
  pricing?: string;
}

/** Opens the client of a service as a run does. It is closed when the test ends. */
export function openAt(
  name: ServiceName,
  url: string,
  {
    apiKey = key,
    endpoint = services[name].endpoint,
    workflow = seeded,
    limits = '{}',
    output = '',
    pricing,
  }: OpenOptions = {},
): { client: ServiceClient; config: Config; memory: ByteSemaphore; warnings: string[] } {
  const text = `manifest: scenes.csv
endpoint: { baseUrl: '${url}', apiKey: '\${KEY}', ${endpoint} }
output: { dir: renders, ${output} }
limits: ${limits}
${pricing === undefined ? '' : `pricing: ${pricing}`}
`;
  const files = { 'mine.yaml': ownDescription, 'flow.json': JSON.stringify(workflow) };
  const config = configOf(text, { env: { KEY: apiKey }, files });
  const memory = new ByteSemaphore(memoryBytes);
  const warnings: string[] = [];
  const { comfyApiKey, folder } = config;
  const sending = new SendingFiles(folder, new ByteSemaphore(memoryBytes), async () => undefined);
  const received = new ReceivedFiles(join(tmpdir(), 'nightrender-received'), 64_000_000);
  const client = connectService(config, ({ baseUrl }) => ({ url: baseUrl, apiKey, comfyApiKey }), memory, {
    warn: (warning) => warnings.push(warning),
    files: sending,
    received,
  });
  onTestFinished(() => client.close());
  onTestFinished(() => received.removeAll());
  return { client, config, memory, warnings };
}

const seeded = { ...saving(emptyImage(1)), 3: { class_type: 'LatentCut', inputs: { seed: 1 } } };

/** Returns a ComfyUI for the service contract. Each scene is a colour, 0 to 0xffffff. */
export function openComfyui(
  url: string,
  workflow: Workflow,
  colour: number,
): Pick<World, 'service' | 'endpoint' | 'knowsKeys'> & { dialect: Dialect } {
  const endpoint = "speaks: comfyui, workflow: flow.json, set: { '1.color': '{{ seed }}' }";
  const { client, config } = openAt('comfyui', url, { endpoint, workflow });
  const sha256 = config.service.kind === 'comfyui' ? config.service.sha256 : '';
  const dialect = {
    input: { workflow: sha256, set: { '1.color': colour } },
    scene: colour,
    words: services.comfyui.words,
    delay: {},
    knownMs: 24 * 3_600_000,
    isLookedFor: true,
  } as const;
  return { service: client, endpoint: config.endpoint, dialect, knowsKeys: true };
}
