/** Requests of the console about keys. */
import { type HttpResponse, emptyResponse, jsonResponse, refusal } from '../../lib/http/http-response.ts';
import type { JobStore } from '../jobs/job-store.ts';
import { keyLimitNames } from '../keys/check-key.ts';
import { type KeyStore, KeyStoreBusy, KeyRefused } from '../keys/key-store.ts';
import { type ConsoleRequest, type ConsoleService, formOf, problemsAnswer } from './console-request.ts';
import type { KeyView } from '../../protocol/console-data.ts';
import { type KeyHolder, type KeyRecord, unlimited } from '../model/key.ts';
import type { Quotas } from '../api/quotas.ts';
import type { Endpoints } from '../workers/endpoints.ts';

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
