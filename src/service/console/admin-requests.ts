/** Requests of the console about what an admin manages: endpoints and keys. */
import { emptyResponse, type HttpResponse, jsonResponse, refusal } from '../../lib/http/http-response.ts';
import type { EndpointView, KeyView, Overview } from '../../protocol/console-data.ts';
import { isAccepted } from '../api/job-operations.ts';
import type { Quotas } from '../api/quotas.ts';
import type { JobStore } from '../jobs/job-store.ts';
import { keyLimitNames } from '../keys/check-key.ts';
import { KeyRefused, type KeyStore, KeyStoreBusy } from '../keys/key-store.ts';
import type { EndpointSettings, FieldProblem } from '../model/endpoint-settings.ts';
import { reachedBy } from '../model/job.ts';
import { type KeyHolder, type KeyRecord, unlimited } from '../model/key.ts';
import { type Endpoint, EndpointOfFile, type Endpoints } from '../workers/endpoints.ts';
import { hiddenWord } from '../workloads/workload-definition.ts';
import { workloadOf } from '../workloads/workload-of.ts';
import { type ConsoleRequest, type ConsoleService, formOf } from './console-request.ts';

/** Requests of the console about endpoints. */
export class EndpointRequests {
  readonly #service: ConsoleService;

  constructor(service: ConsoleService) {
    this.#service = service;
  }

  overview({ holder: { isReadOnly } }: Pick<ConsoleRequest, 'holder'>): Overview {
    const { about, endpoints, gpus, containerLack, now } = this.#service;
    const all = endpoints.all.map((endpoint) => ({ endpoint, workers: endpoint.workers }));
    const among = all.reduce((sum, { workers }) => sum + workers.length, 0);
    return {
      ...about,
      now: now(),
      isReadOnly,
      gpus: gpus(),
      containerLack: containerLack(),
      reachedBy,
      endpoints: all.map(({ endpoint, workers }) => this.#viewOf(endpoint, isReadOnly, workers, among)),
    };
  }

  #viewOf(
    endpoint: Endpoint,
    isReadOnly = false,
    workers = endpoint.workers,
    among = workers.length,
  ): EndpointView {
    const { store, endpoints, forms } = this.#service;
    const tally = store.reads.tally(endpoint.id);
    const origin = endpoints.originOf(endpoint.id);
    const shown = isReadOnly ? withoutWords(endpoint.settings) : endpoint.settings;
    const workload = workloadOf(shown);
    const settings = forms.show(shown);
    return {
      origin,
      // Values in a file may be secrets from the environment. Read-only keys never see values.
      settings: isReadOnly || origin === 'file' ? withoutValues(settings) : settings,
      runs: workload.words(shown),
      allow: workload.onCluster?.(shown).allow ?? workload.nameElsewhere?.(shown) ?? 'scene',
      jobs: {
        completed: tally.COMPLETED ?? 0,
        failed: tally.FAILED ?? 0,
        cancelled: tally.CANCELLED ?? 0,
        timedOut: tally.TIMED_OUT ?? 0,
        inProgress: tally.IN_PROGRESS ?? 0,
        inQueue: tally.IN_QUEUE ?? 0,
        retried: tally.retried ?? 0,
      },
      isFailing: store.reads.isFailing(endpoint.id),
      latest: store.reads.latestCompleted(endpoint.id),
      workers: workers.map((worker) => ({ ...worker, log: latestLines(worker.log, among) })),
      trouble: endpoint.problem,
      isPaused: store.reads.isPaused(endpoint.id),
    };
  }

  form({ id, holder }: ConsoleRequest): HttpResponse {
    const { endpoints, forms } = this.#service;
    const endpoint = endpoints.find(id);
    if (endpoint === undefined) return refusal(404, 'endpoint not found');
    return jsonResponse(forms.texts(this.#viewOf(endpoint, holder.isReadOnly).settings));
  }

  async add(context: ConsoleRequest): Promise<HttpResponse | undefined> {
    const { endpoints, forms } = this.#service;
    const body = await formOf(context);
    if (body === undefined || 'status' in body) return body;
    const checked = forms.check(
      body.form,
      endpoints.all.map(({ settings }) => settings),
      undefined,
    );
    if ('problems' in checked) return problemsAnswer(checked.problems);
    tellOf(checked.settings, context);
    const made = await endpoints.add(checked.settings);
    return Array.isArray(made) ? problemsAnswer(made) : jsonResponse(this.#viewOf(made), 201);
  }

  async change(context: ConsoleRequest): Promise<HttpResponse | undefined> {
    const { endpoints, forms } = this.#service;
    const body = await formOf(context);
    if (body === undefined || 'status' in body) return body;
    const others = endpoints.all.filter(({ id }) => id !== context.id).map(({ settings }) => settings);
    return await unlessOfFile(async () => {
      const before = endpoints.changeable(context.id)?.settings;
      if (before === undefined) return refusal(404, 'endpoint not found');
      const checked = forms.check(body.form, others, before);
      if ('problems' in checked) return problemsAnswer(checked.problems);
      tellOf(checked.settings, context);
      const changed = await endpoints.change(context.id, checked.settings);
      if (changed === undefined) return refusal(404, 'endpoint not found');
      return Array.isArray(changed) ? problemsAnswer(changed) : jsonResponse(this.#viewOf(changed));
    });
  }

  async remove({ id }: ConsoleRequest): Promise<HttpResponse> {
    return await unlessOfFile(async () =>
      (await this.#service.endpoints.remove(id)) ? emptyResponse : refusal(404, 'endpoint not found'),
    );
  }

  async pause({ id }: ConsoleRequest, isPaused: boolean): Promise<HttpResponse> {
    const { endpoints, store } = this.#service;
    if (endpoints.find(id) === undefined) return refusal(404, 'endpoint not found');
    await store.pause(id, isPaused);
    return emptyResponse;
  }

  /** Tells a worker elsewhere to take no more jobs. */
  drain({ id, workerId }: ConsoleRequest): HttpResponse {
    const isKnown = this.#service.endpoints.find(id)?.remote.drain(workerId) ?? false;
    return isKnown ? emptyResponse : refusal(404, 'this worker no longer exists');
  }

  async submit(context: ConsoleRequest): Promise<HttpResponse | undefined> {
    const endpoint = this.#service.endpoints.find(context.id);
    if (endpoint === undefined) return refusal(404, 'endpoint not found');
    const job = await this.#service.jobs.submit({ ...context, endpoint, keyId: context.holder.id });
    if (!isAccepted(job)) return job;
    context.told['job'] = job.id;
    return jsonResponse({ id: job.id }, 201);
  }
}

function problemsAnswer(problems: FieldProblem[]): HttpResponse {
  return jsonResponse({ error: 'some fields are not valid', problems }, 422);
}

/** Adds an endpoint to the audit log's details, without values of variables and words of commands: they may be secrets. */
function tellOf(settings: EndpointSettings, { told }: ConsoleRequest): void {
  const { key, fields } = workloadOf(settings);
  const own = Object.entries(withoutWords(settings)).filter(
    ([name]) => name === key || Object.hasOwn(fields, name),
  );
  const variables = Object.keys(settings.environment).join(', ');
  Object.assign(told, {
    endpoint: settings.id,
    runs: JSON.stringify(Object.fromEntries(own)),
    ...(variables !== '' && { variables }),
  });
}

function withoutValues(settings: EndpointView['settings']): EndpointView['settings'] {
  const { environment } = settings;
  if (typeof environment !== 'object' || environment === null) return settings;
  const names = Object.keys(environment).map((name) => [name, hiddenWord]);
  return { ...settings, environment: Object.fromEntries(names) };
}

/** Hides the words of a command line, such as `--env=TOKEN=…`. */
function withoutWords(settings: EndpointSettings): EndpointSettings {
  return { ...settings, ...workloadOf(settings).concealed?.(settings) };
}

async function unlessOfFile(work: () => Promise<HttpResponse>): Promise<HttpResponse> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EndpointOfFile) return refusal(409, error.message);
    throw error;
  }
}

/** Maximum log lines of a worker in the overview. */
const maxLines = 50;

/** Maximum log characters of a worker, and of all workers together, because the page polls the overview. */
const maxCharacters = 8_000;

const maxTotalCharacters = 256_000;

const minCharacters = 200;

/** Returns the last lines of a worker's log. `workers`: number of workers that share `maxTotalCharacters`. */
function latestLines(log: readonly string[], workers: number): string[] {
  const share = Math.floor(maxTotalCharacters / Math.max(1, workers));
  let room = Math.min(maxCharacters, Math.max(minCharacters, share));
  const lines: string[] = [];
  for (const line of log.slice(-maxLines).toReversed()) {
    if (room <= 0) break;
    lines.push(line.length <= room ? line : `${line.slice(0, room)}…`);
    room -= line.length + 1;
  }
  return lines.toReversed();
}

/** Requests of the console about keys. */
export class KeyRequests {
  readonly #keys: KeyStore;
  readonly #views: KeyViews;

  constructor({ keys, store, quotas, endpoints }: ConsoleService) {
    this.#keys = keys;
    this.#views = new KeyViews(store.usage, quotas, endpoints);
  }

  list(): HttpResponse {
    return jsonResponse(this.#views.all(this.#keys.given, this.#keys.list()));
  }

  async add(context: ConsoleRequest): Promise<HttpResponse | undefined> {
    const body = await formOf(context);
    if (body === undefined || 'status' in body) return body;
    const { name, kind, endpoints = null, quota = '', price = '', ownJobs = false } = body.form;
    const { expires = '', readOnly = false } = body.form;
    const isList = Array.isArray(endpoints) && endpoints.every((id) => typeof id === 'string');
    if (typeof name !== 'string' || typeof kind !== 'string' || (endpoints !== null && !isList))
      return refusal(422, 'a key needs a name, a kind, and a list of endpoints or null');
    if (typeof quota !== 'string' || typeof price !== 'string' || typeof expires !== 'string')
      return refusal(422, '"quota", "price" and "expires" of a key are texts');
    const limits = keyLimitNames.map((limit) => [limit, body.form[limit] ?? ''] as const);
    if (limits.some(([, text]) => typeof text !== 'string'))
      return refusal(422, `${keyLimitNames.join(', ')} of a key are texts`);
    if (typeof ownJobs !== 'boolean' || typeof readOnly !== 'boolean')
      return refusal(422, '"ownJobs" and "readOnly" of a key are true or false');
    try {
      const terms = { quota, price, ownJobs, readOnly, expires, ...Object.fromEntries(limits) };
      const { key, record } = this.#keys.add({ name, kind, endpoints: isList ? endpoints : null, ...terms });
      Object.assign(context.told, toldOf(record));
      return jsonResponse({ key, view: this.#views.of(record) }, 201);
    } catch (error) {
      return refused(error);
    }
  }

  async rotate(context: ConsoleRequest): Promise<HttpResponse | undefined> {
    const body = await formOf(context);
    if (body === undefined || 'status' in body) return body;
    const { overlap = '', expires = '' } = body.form;
    if (typeof overlap !== 'string' || typeof expires !== 'string')
      return refusal(422, '"overlap" and "expires" are texts');
    try {
      const rotated = this.#keys.rotate(context.id, { overlap, expires });
      if (rotated === undefined) return refusal(404, 'key not found');
      Object.assign(context.told, toldOf(rotated.record));
      return jsonResponse({ key: rotated.key, view: this.#views.of(rotated.record) });
    } catch (error) {
      return refused(error);
    }
  }

  revoke({ id, told }: ConsoleRequest): HttpResponse {
    try {
      const revoked = this.#keys.revoke(id);
      if (revoked === undefined) return refusal(404, 'key not found');
      Object.assign(told, toldOf(revoked));
      return emptyResponse;
    } catch (error) {
      return refused(error);
    }
  }
}

/** Returns the details of a key for the audit log. */
function toldOf({ name, kind }: KeyRecord): Record<string, string> {
  return { name, kind };
}

function refused(error: unknown): HttpResponse {
  if (error instanceof KeyRefused) return problemsAnswer(error.problems);
  if (error instanceof KeyStoreBusy) return refusal(503, error.message, { 'Retry-After': '2' });
  throw error;
}

class KeyViews {
  readonly #usage: JobStore['usage'];
  readonly #quotas: Quotas;
  readonly #endpoints: Endpoints;

  constructor(usage: JobStore['usage'], quotas: Quotas, endpoints: Endpoints) {
    this.#endpoints = endpoints;
    this.#usage = usage;
    this.#quotas = quotas;
  }

  /** Returns views of all keys. `given`: keys that the service was started with. */
  all(given: readonly KeyHolder[], stored: readonly KeyRecord[]): KeyView[] {
    const known = new Set([...given, ...stored].map(({ id }) => id));
    const gone = this.#usage.keyIds().filter((id) => !known.has(id));
    return [
      ...given.map((holder) => this.#external(holder, 'given')),
      ...stored.map((record) => this.of(record)),
      ...gone.map((id) => this.#external({ ...unlimited, id, name: id, kind: 'admin' }, 'gone')),
    ];
  }

  of(record: KeyRecord): KeyView {
    const { id, kind } = record;
    const done = kind === 'worker' ? this.#doneBy(id) : null;
    const [usage, todayMs] = [this.#usage.of(id), this.#quotas.usedToday(id)];
    return { ...record, origin: 'book', usage, todayMs, done };
  }

  #doneBy(keyId: string): { jobs: number; ms: number } {
    const all = this.#endpoints.all.map(({ remote }) => remote.doneByKey(keyId));
    return {
      jobs: all.reduce((sum, { jobs }) => sum + jobs, 0),
      ms: all.reduce((sum, { ms }) => sum + ms, 0),
    };
  }

  #external(holder: KeyHolder, origin: 'given' | 'gone'): KeyView {
    const never = { createdAt: null, lastUsedAt: null, lastUsedFrom: null, revokedAt: null, expiresAt: null };
    return {
      ...holder,
      ...never,
      price: null,
      done: null,
      todayMs: 0,
      origin,
      usage: this.#usage.of(holder.id),
    };
  }
}
