/** The requests that a service's description asks for, filled in, where its key may go, and the pictures that come with that key. */
import type { Endpoint, JobAtService } from '../core/attempt.ts';
import { fillText, type DescribedRequest, type ServiceDescription } from '../core/service-description.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { Connection } from './http-render-service.ts';
import { type Request, isSameOrigin } from './http-requests.ts';
import type { Failure } from '../core/failure.ts';
import type { FoundPicture } from '../core/picture.ts';
import type { Hold, StatusReply } from '../pipeline/ports.ts';
import { redirectOf, type Outcome } from './exchange.ts';

/** By the names of placeholders. */
type Values = Record<string, string>;

export class DescribedRequests {
  readonly #description: ServiceDescription;
  readonly #connectionOf: (endpoint: Endpoint) => Connection;
  readonly #fixedOrigins: (string | undefined)[];

  constructor(description: ServiceDescription, connectionOf: (endpoint: Endpoint) => Connection) {
    this.#description = description;
    this.#connectionOf = connectionOf;
    const { submit, status, result, cancel, find, check, origins } = description;
    const requests = [submit, status, result.request, cancel, find, check];
    this.#fixedOrigins = [...requests.map((each) => each?.url), ...origins].map((url) => originOf(url));
  }

  submission(endpoint: Endpoint, input: JsonObject, idempotencyKey = ''): Request {
    const { submit } = this.#description;
    const values = { ...this.#valuesOf(endpoint), idempotencyKey };
    const { headers, ...request } = this.of(endpoint, submit, values);
    const more = Object.entries(submit.headers).map(([name, text]) => [name, fillText(text, values)]);
    const body = JSON.stringify(bodyOf(submit.body, values, input));
    return { ...request, headers: { ...headers, ...(Object.fromEntries(more) as Values) }, body };
  }

  ofJob({ endpoint, jobId, kept = {} }: JobAtService, request: DescribedRequest): Request {
    const values = Object.entries(kept).map(([name, value]) => [`job.${name}`, value] as const);
    return this.of(endpoint, request, { ...Object.fromEntries(values), 'job.id': jobId });
  }

  of(endpoint: Endpoint, { method, url }: DescribedRequest, values: Values = {}): Request {
    return this.to(endpoint, method, fillText(url, { ...this.#valuesOf(endpoint), ...values }, spellInUrl));
  }

  /** To an address as it stands: what a service says is no template. */
  to(endpoint: Endpoint, method: string, address: string): Request {
    const { url: baseUrl } = this.#connectionOf(endpoint);
    const url = address.startsWith('/') ? new URL(address, baseUrl).href : address;
    return { method, url, headers: this.#authorization(endpoint, url) };
  }

  /** Whether it is where the description says that the service is, or where the pipeline says so instead. */
  isOwn(endpoint: Endpoint, url: string): boolean {
    const origin = originOf(url);
    const base = originOf(this.#connectionOf(endpoint).url);
    const described = originOf(this.#description.baseUrl) ?? base;
    return origin !== undefined && [base, ...(base === described ? this.#fixedOrigins : [])].includes(origin);
  }

  /** The key goes there, and to no address that the service gives out besides. */
  #authorization(endpoint: Endpoint, url: string): Record<string, string> {
    const { apiKey } = this.#connectionOf(endpoint);
    if (!this.isOwn(endpoint, url)) return {};
    const headers = Object.entries(this.#description.auth)
      .filter(([, text]) => apiKey !== '' || !text.includes('apiKey'))
      .map(([name, text]) => [name, fillText(text, { apiKey })]);
    return Object.fromEntries(headers) as Record<string, string>;
  }

  #valuesOf(endpoint: Endpoint): Values {
    const { id } = endpoint;
    return { baseUrl: this.#connectionOf(endpoint).url, id, model: id.replace(/:.*$/s, '') };
  }
}

/** Parts of a path stay parts of it in ids that people wrote. */
function spellInUrl(value: string, name: string): string {
  if (name === 'baseUrl') return value;
  const encoded = encodeURIComponent(value);
  return name.startsWith('job.') ? encoded : encoded.replaceAll('%2F', '/').replaceAll('%3A', ':');
}

function bodyOf(template: JsonValue, values: Values, input: JsonObject): JsonValue {
  if (typeof template === 'string')
    return /^\{\{\s*input\s*\}\}$/.test(template) ? input : fillText(template, values);
  if (Array.isArray(template)) return template.map((item) => bodyOf(item, values, input));
  if (!isJsonObject(template)) return template;
  const members = Object.entries(template).map(([key, value]) => [key, bodyOf(value, values, input)]);
  return Object.fromEntries(members) as JsonObject;
}

function originOf(url = ''): string | undefined {
  const filled = url.replaceAll(/\{\{[^}]*\}\}/g, 'x');
  return /^https?:/i.test(filled) && URL.canParse(filled) ? new URL(filled).origin : undefined;
}

/**
 * Fetches the pictures that lie at the service itself, which come with its key; all others are downloaded later, without it.
 * `fetch`: an address, of which so many are still to come; what comes is held by `hold`. A picture that does not come is asked
 * for again with its job, so that a refused key shows.
 */
export async function fetchOwnPictures(
  found: readonly FoundPicture[],
  hold: Hold,
  isOwn: (url: string) => boolean,
  fetch: (url: string, bodies: number) => Promise<Outcome>,
): Promise<StatusReply> {
  // Nothing of the answer that named them is of use any more.
  if (found.every((picture) => 'url' in picture)) hold.release();
  const bodies = found.filter((picture) => 'url' in picture && isOwn(picture.url)).length;
  const pictures: FoundPicture[] = [];
  for (const picture of found) {
    if (!('url' in picture) || !isOwn(picture.url)) {
      pictures.push(picture);
      continue;
    }
    const { url, ...rest } = picture;
    const outcome = await fetch(url, bodies);
    if (outcome.kind === 'broken') return failed({ kind: 'poll-failed', text: `${outcome.why} (${url})` });
    if (outcome.kind === 'too-large')
      return ended({
        kind: 'result-too-large',
        text: `the picture at ${url} is larger than \`limits.body\``,
      });
    const { status, bytes } = outcome.answer;
    const target = redirectOf(outcome, url);
    // Within the origin it was followed as often as it may be.
    if (target !== undefined && URL.canParse(target) && !isSameOrigin(target, url)) {
      pictures.push({ url: target, ...rest });
      continue;
    }
    if (status > 299) {
      const isRefused = status === 401 || status === 403;
      const kind = status >= 500 || status === 429 ? 'poll-failed' : 'download-failed';
      return failed({
        kind: isRefused ? 'picture-refused' : kind,
        text: `the picture at ${url} was answered ${status}`,
      });
    }
    pictures.push({ bytes, ...rest });
  }
  return { kind: 'completed', status: '', pictures, hold };
}

function failed(failure: Failure): StatusReply {
  return { kind: 'failure', failure };
}

function ended(failure: Failure): StatusReply {
  return { kind: 'ended', status: '', failure };
}
