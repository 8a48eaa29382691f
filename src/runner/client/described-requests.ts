/** Builds the requests of a service from its description, and decides which URLs get the key. */
import type { Endpoint, JobAtService } from '../core/attempt.ts';
import {
  compileText,
  type DescribedRequest,
  type ServiceDescription,
  type Values,
} from '../core/service-description.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { Connection } from './http-service.ts';
import { isSameOrigin, type Request } from './http-requests.ts';

type Fill = (values: Values) => string;

interface Target {
  endpoint: Endpoint;
  at: Connection;
}

/** Builds requests from a service description. Each template is compiled once. */
export class DescribedRequests {
  /** Name of the header that carries the idempotency key. Undefined if no header does. */
  readonly keyHeader: string | undefined;
  readonly #description: ServiceDescription;
  readonly #urls = new Map<DescribedRequest, Fill>();
  readonly #headers: [name: string, fill: Fill, needsKey: boolean][];
  readonly #body: (values: Values, input: JsonObject) => JsonValue;
  readonly #auth: [name: string, fill: Fill, needsKey: boolean][];
  readonly #describedOrigins: ReadonlySet<string>;
  /** Origins of the service for each base URL. */
  readonly #origins = new Map<string, ReadonlySet<string>>();

  constructor(description: ServiceDescription) {
    this.#description = description;
    const { submit, status, result, cancel, find, archive, check, health, auth, origins } = description;
    const requests = [submit, status, result.request, cancel, find, archive, check, health];
    for (const request of requests)
      if (request !== undefined) this.#urls.set(request, compileText(request.url, spellInUrl));
    this.#headers = compileHeaders(submit.headers, 'idempotencyKey');
    this.keyHeader = this.#headers.find(([, , needsKey]) => needsKey)?.[0];
    this.#body = compileBody(submit.body);
    this.#auth = compileHeaders(auth, 'apiKey');
    const urls = [...requests.map((each) => each?.url), ...origins];
    this.#describedOrigins = new Set(urls.flatMap((url) => originOf(url) ?? []));
  }

  submission(target: Target, input: JsonObject, idempotencyKey?: string): Request {
    const { submit } = this.#description;
    const values = { ...valuesOf(target), idempotencyKey: idempotencyKey ?? '' };
    const { headers, ...request } = this.of(target, submit, values);
    const more = fillHeaders(this.#headers, values, idempotencyKey !== undefined);
    return { ...request, headers: { ...headers, ...more }, body: JSON.stringify(this.#body(values, input)) };
  }

  /** Returns values of `submit.keep` for a job in the list, whose item has only its id. */
  keptOf(target: Target, jobId: string): Record<string, string> {
    const values = { ...valuesOf(target), 'job.id': jobId };
    const built = Object.entries(this.#description.find?.keep ?? {});
    return Object.fromEntries(built.map(([name, url]) => [name, compileText(url, spellInUrl)(values)]));
  }

  ofJob(target: Target, { jobId, kept = {} }: JobAtService, request: DescribedRequest): Request {
    const values: Record<string, string> = { 'job.id': jobId };
    for (const name in kept) values[`job.${name}`] ??= kept[name] ?? '';
    return this.of(target, request, values);
  }

  of(target: Target, request: DescribedRequest, values: Values = {}): Request {
    const fill = this.#urls.get(request);
    if (fill === undefined) throw new Error(`${this.#description.name} has no request ${request.url}`);
    return this.to(target.at, request.method, fill({ ...valuesOf(target), ...values }));
  }

  /** Returns a request for this URL, with the key if it is the service's. Placeholders in it are not filled. */
  to(at: Connection, method: string, address: string): Request {
    const url = address.startsWith('/') ? new URL(address, at.url).href : address;
    // The key is never sent to another host that the service names.
    const isWithKey = this.isOwn(at, url);
    const headers = isWithKey ? fillHeaders(this.#auth, { apiKey: at.apiKey }, at.apiKey !== '') : {};
    return { method, url, headers };
  }

  /** True if the URL has the origin of the base URL, or one of the description's unless `baseUrl` is set. */
  isOwn(at: Connection, url: string): boolean {
    if (isSameOrigin(url, at.url)) return true;
    const origin = originOf(url);
    return origin !== undefined && this.#originsAt(at).has(origin);
  }

  #originsAt({ url }: Connection): ReadonlySet<string> {
    const known = this.#origins.get(url);
    if (known !== undefined) return known;
    const base = originOf(url);
    const described = originOf(this.#description.baseUrl) ?? base;
    const origins = new Set([...(base === described ? this.#describedOrigins : []), ...(base ? [base] : [])]);
    this.#origins.set(url, origins);
    return origins;
  }
}

function valuesOf({ endpoint: { id, version }, at }: Target): Values {
  // fal's queue knows requests by the first two parts of an id, after a namespace (fal-js, `parseEndpointId`).
  const [app = id] = /^(?:(?:workflows|comfy)\/)?[^/]+\/[^/]+/.exec(id) ?? [];
  return { baseUrl: at.url, id, version, model: id.replace(/:.*$/s, ''), app };
}

/** `key`: name of a placeholder. Headers that use it are left out if it has no value. */
function compileHeaders(
  headers: Record<string, string>,
  key: string,
): [name: string, fill: Fill, needsKey: boolean][] {
  return Object.entries(headers).map(([name, text]) => [name, compileText(text), text.includes(key)]);
}

function fillHeaders(
  compiled: [name: string, fill: Fill, needsKey: boolean][],
  values: Values,
  hasKey: boolean,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, fill, needsKey] of compiled) if (hasKey || !needsKey) headers[name] = fill(values);
  return headers;
}

/** Percent-encodes a value. `/` and `:` stay in ids that users write, because they separate parts of a path. */
function spellInUrl(value: string, name: string): string {
  if (name === 'baseUrl') return value;
  const encoded = encodeURIComponent(value);
  return name.startsWith('job.') ? encoded : encoded.replaceAll('%2F', '/').replaceAll('%3A', ':');
}

function compileBody(template: JsonValue): (values: Values, input: JsonObject) => JsonValue {
  if (typeof template === 'string') {
    if (/^\{\{\s*input\s*\}\}$/.test(template)) return (_, input) => input;
    return compileText(template);
  }
  if (Array.isArray(template)) {
    const items = template.map(compileBody);
    return (values, input) => items.map((item) => item(values, input));
  }
  if (!isJsonObject(template)) return () => template;
  const members = Object.entries(template).map(([key, value]) => [key, compileBody(value)] as const);
  return (values, input) => Object.fromEntries(members.map(([key, fill]) => [key, fill(values, input)]));
}

function originOf(url = ''): string | undefined {
  const filled = url.includes('{{') ? url.replaceAll(/\{\{[^}]*\}\}/g, 'x') : url;
  return /^https?:/i.test(filled) && URL.canParse(filled) ? new URL(filled).origin : undefined;
}
