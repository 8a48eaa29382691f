/** The console's requests about keys. */
import { type HttpResponse, emptyResponse, jsonResponse, refusal } from '../http/http-response.ts';
import type { JobStore } from '../jobs/job-store.ts';
import { type KeyStore, KeyStoreBusy, KeyRefused } from '../keys/key-store.ts';
import { type ConsoleRequest, formOf, problemsAnswer } from './console-request.ts';
import type { KeyView } from '../../protocol/console-data.ts';
import { type KeyHolder, type KeyRecord, unlimited } from '../keys/key.ts';
import type { Quotas } from '../keys/quotas.ts';

export class KeyRequests {
  readonly #keys: KeyStore;
  readonly #views: KeyViews;

  constructor({ keys, ...used }: { keys: KeyStore; store: JobStore; quotas: Quotas }) {
    this.#keys = keys;
    this.#views = new KeyViews(used);
  }

  list(): HttpResponse {
    return jsonResponse(this.#views.all(this.#keys.given, this.#keys.list()));
  }

  async add(context: ConsoleRequest): Promise<HttpResponse | undefined> {
    const body = await formOf(context);
    if (body === undefined || 'status' in body) return body;
    const { name, kind, endpoints = null, quota = '', price = '', ownJobs = false } = body.form;
    const isList = Array.isArray(endpoints) && endpoints.every((id) => typeof id === 'string');
    if (typeof name !== 'string' || typeof kind !== 'string' || (endpoints !== null && !isList))
      return refusal(422, 'a key needs a name, a kind, and a list of endpoints or null');
    if (typeof quota !== 'string' || typeof price !== 'string')
      return refusal(422, 'quota and price of a key are texts');
    if (typeof ownJobs !== 'boolean') return refusal(422, '"ownJobs" of a key is true or false');
    try {
      const asked = { name, kind, endpoints: isList ? endpoints : null, quota, price, ownJobs };
      const { key, record } = this.#keys.add(asked);
      return jsonResponse({ key, view: this.#views.of(record) }, 201);
    } catch (error) {
      if (error instanceof KeyRefused) return problemsAnswer(error.problems);
      return orBusy(error);
    }
  }

  revoke({ id }: ConsoleRequest): HttpResponse {
    try {
      return this.#keys.revoke(id) === undefined ? refusal(404, 'key not found') : emptyResponse;
    } catch (error) {
      return orBusy(error);
    }
  }
}

function orBusy(error: unknown): HttpResponse {
  if (error instanceof KeyStoreBusy) return refusal(503, error.message, { 'Retry-After': '2' });
  throw error;
}

type Usage = KeyView['usage'];

class KeyViews {
  readonly #usage: (keyId: string) => Usage;
  readonly #used: () => string[];
  readonly #quotas: Quotas;

  constructor({ store: { file }, quotas }: { store: JobStore; quotas: Quotas }) {
    const { db } = file;
    this.#quotas = quotas;
    const usage = db.prepare<[string], Usage[number]>(
      'SELECT endpointId, jobs, gpuMs FROM usage WHERE keyId = ? ORDER BY endpointId',
    );
    // Jobs without a key are older than keys are.
    const used = db.prepare<[], { keyId: string }>(
      "SELECT DISTINCT keyId FROM usage WHERE keyId <> 'none' ORDER BY keyId",
    );
    this.#usage = (keyId) => usage.all(keyId);
    this.#used = () => used.all().map(({ keyId }) => keyId);
  }

  /** `given`: those that the service was started with. */
  all(given: readonly KeyHolder[], stored: readonly KeyRecord[]): KeyView[] {
    const known = new Set([...given, ...stored].map(({ id }) => id));
    const gone = this.#used().filter((id) => !known.has(id));
    return [
      ...given.map((holder) => this.#external(holder, 'given')),
      ...stored.map((record) => this.of(record)),
      ...gone.map((id) => this.#external({ ...unlimited, id, name: id, kind: 'admin' }, 'gone')),
    ];
  }

  of(record: KeyRecord): KeyView {
    const { id } = record;
    return { ...record, origin: 'book', usage: this.#usage(id), todayMs: this.#quotas.usedToday(id) };
  }

  #external(holder: KeyHolder, origin: 'given' | 'gone'): KeyView {
    const unknown = { createdAt: null, lastUsedAt: null, revokedAt: null, price: null, todayMs: 0 };
    return { ...holder, ...unknown, origin, usage: this.#usage(holder.id) };
  }
}
