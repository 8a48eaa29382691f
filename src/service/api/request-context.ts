/** Authorised request, as operations get it, and functions that read its body. */
import type { IncomingMessage } from 'node:http';
import { readBody } from '../../lib/http/request-body.ts';
import type { OperationName, ServiceOperationName } from '../../protocol/operations.ts';
import type { Route } from '../../protocol/paths.ts';
import { type HttpResponse, refusal } from '../../lib/http/http-response.ts';
import type { Endpoint } from '../workers/endpoints.ts';
import type { JobTerms } from '../model/job.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { scanJson, isObjectText, isEmptyObject, type ScannedJson } from '../../lib/text/scan-json.ts';
import { describeValue } from '../../protocol/json-value.ts';
import { isPrivateTarget } from '../webhooks/webhooks.ts';

export interface RequestContext {
  route: Route;
  endpoint: Endpoint;
  keyId: string;
  hasOwnJobsOnly: boolean;
  /** Returns true if the key is still valid: neither revoked nor expired. */
  isKeyGood: () => boolean;
  /** Returns a refusal if the key may not queue a job of this size and execution timeout; undefined if it may. */
  refuse: (bytes: number, askedMs?: number) => HttpResponse | undefined;
  request: IncomingMessage;
  /** Asks the client for the body (`100 Continue`) and limits the time it may take. `maxBytes`: its maximum size. */
  sendContinue: (maxBytes?: number) => void;
  /** Aborts when the client has disconnected, or was refused while its body arrived. */
  gone: AbortSignal;
}

/** Answers a request. Returns undefined if the client has disconnected. Throws if the job store cannot be used. */
export type AnswerOperation = (context: RequestContext) => Promise<HttpResponse | undefined>;

export type OperationHandlers<Name extends OperationName> = { readonly [Each in Name]: AnswerOperation };

export type ServiceHandlers = { readonly [Each in ServiceOperationName]: () => HttpResponse };

/** Parts of a request that are needed to read its body. */
export type BodyContext = Pick<RequestContext, 'request' | 'sendContinue' | 'gone' | 'isKeyGood'>;

/** Returns the answer to a request whose key was revoked or expired after the request began. */
export function keyEnded(): HttpResponse {
  const text = 'the API key was revoked or has expired since the request began';
  return refusal(401, text, { 'WWW-Authenticate': 'Bearer' });
}

/** Reads the body. Returns a refusal if it is not accepted, or undefined if the client has disconnected. */
export async function bodyOf(
  context: BodyContext,
  maxBytes: number,
): Promise<Buffer | HttpResponse | undefined> {
  const body = await readBody(context, maxBytes);
  // The upload may have taken an hour, so the key is checked again.
  return Buffer.isBuffer(body) && !context.isKeyGood() ? keyEnded() : body;
}

type SubmittedTerms = Partial<
  Pick<JobTerms, 'executionTimeoutMs' | 'ttlMs' | 'isLowPriority' | 'webhook' | 's3Config'>
>;

export type ReadRunRequest =
  | { kind: 'read'; /** JSON text of an object that is not empty. */ input: Buffer; terms: SubmittedTerms }
  | { kind: 'refused'; why: string };

/** Maximum of timeouts, because Node's timers overflow after about 24 days. */
const maxMs = 20 * 24 * 60 * 60_000;

const maxUrlLength = 2_048;

/** Maximum nesting of an input. Workers serialise it recursively, so a deeper one could overflow their stack. */
const deepest = 1_000;

const maxS3ConfigLength = 16_384;

/** Maximum size of members other than the input. They are parsed in one step, which blocks the event loop. */
const maxTermBytes = 256 * 1024;

const terms = ['policy', 'webhook', 's3Config'] as const;

interface RunRequestLimits {
  /** True if webhooks may lead to this machine or its network. */
  hasPrivate: boolean;
  maxValues: number;
}

/** Checks a submission. Ignores unknown keys, as real services do. The input is passed on as text and never parsed. */
export async function readRunRequest(
  bytes: Buffer,
  { hasPrivate, maxValues }: RunRequestLimits,
): Promise<ReadRunRequest> {
  // Two more levels: the body and the input.
  const body = await scanJson(bytes, ['input', ...terms], { maxDepth: deepest + 2, maxValues });
  if (body.kind !== 'object') return refused(whyNot(body.kind, maxValues));
  const input = body.members.get('input');
  if (input === undefined || !isObjectText(input)) return refused('the body has no object "input"');
  if (isEmptyObject(input)) return refused('the object "input" is empty');
  const long = terms.find((name) => (body.members.get(name)?.length ?? 0) > maxTermBytes);
  if (long !== undefined) return refused(`"${long}" has more than ${maxTermBytes} bytes`);
  const read = readTerms(
    Object.fromEntries(terms.map((name) => [name, parsed(body.members.get(name))])),
    hasPrivate,
  );
  return typeof read === 'string' ? refused(read) : { kind: 'read', input, terms: read };
}

function whyNot(kind: Exclude<ScannedJson['kind'], 'object'>, maxValues: number): string {
  if (kind === 'other') return 'the body is not an object';
  if (kind === 'deep') return `the body is nested too deeply, more than ${deepest} levels`;
  return kind === 'many' ? `the body has more than ${maxValues} values` : 'the body is not JSON';
}

function readTerms(body: Record<string, unknown>, hasPrivate: boolean): SubmittedTerms | string {
  const { policy = {}, webhook, s3Config } = body;
  if (!isJsonObject(policy)) return `"policy" is ${describeValue(policy)}; expected an object`;
  const { executionTimeout, ttl, lowPriority } = policy;
  for (const [name, value] of Object.entries({ executionTimeout, ttl })) {
    if (value !== undefined && !isDuration(value))
      return `"policy.${name}" is ${typeof value === 'number' ? value : describeValue(value)}; expected whole milliseconds, from 1 to ${maxMs}`;
  }
  if (lowPriority !== undefined && typeof lowPriority !== 'boolean')
    return `"policy.lowPriority" is ${describeValue(lowPriority)}; expected true or false`;
  if (webhook !== undefined && webhook !== null && !isWebhook(webhook))
    return `"webhook" is ${describeValue(webhook)}; expected an http(s) URL without user name and password`;
  if (isWebhook(webhook) && !hasPrivate && isPrivateTarget(webhook)) return privateWebhook(webhook);
  const stored = isJsonObject(s3Config) ? JSON.stringify(s3Config) : undefined;
  // The message does not quote the value, which holds credentials.
  if (s3Config !== undefined && s3Config !== null && (stored?.length ?? Infinity) > maxS3ConfigLength)
    return `"s3Config" is not accepted; expected an object of at most ${maxS3ConfigLength} characters`;
  return {
    ...(stored !== undefined && { s3Config: stored }),
    ...(isDuration(executionTimeout) && { executionTimeoutMs: executionTimeout }),
    ...(isDuration(ttl) && { ttlMs: ttl }),
    ...(lowPriority !== undefined && { isLowPriority: lowPriority }),
    ...(isWebhook(webhook) && { webhook }),
  };
}

function isDuration(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= maxMs;
}

function isWebhook(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > maxUrlLength || !URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

function privateWebhook(webhook: string): string {
  const { host } = new URL(webhook);
  return `"webhook" leads to ${host}, on this service's own machine or network; expected a public address, or \`webhooks.private: true\` in its service.yaml`;
}

function refused(why: string): ReadRunRequest {
  return { kind: 'refused', why };
}

function parsed(json: Buffer | undefined): unknown {
  return json && JSON.parse(json.toString());
}
