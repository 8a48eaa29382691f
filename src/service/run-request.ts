/** Parses and checks the body of a submission. */
import { describeValue } from '../protocol/json-value.ts';
import { memberText } from '../protocol/member-text.ts';
import type { JobTerms } from './jobs/job.ts';
import { isPrivateTarget } from './webhooks/webhooks.ts';

/** The terms a submission may set. */
export type SubmittedTerms = Partial<
  Pick<JobTerms, 'executionTimeoutMs' | 'ttlMs' | 'isLowPriority' | 'webhook' | 's3Config'>
>;

export type ReadRunRequest =
  | { kind: 'read'; /** JSON text of an object that is not empty. */ input: string; terms: SubmittedTerms }
  | { kind: 'refused'; why: string };

/** Longer ones do not fit into a timer. */
const maxMs = 20 * 24 * 60 * 60_000;
const maxUrlLength = 2_048;
const deepest = 1_000;
const maxS3ConfigLength = 16_384;

/** Unknown keys are ignored, as real services do. `hasPrivate`: whether webhooks may lead to this machine's network. */
export function readRunRequest(bytes: Buffer, { hasPrivate }: { hasPrivate: boolean }): ReadRunRequest {
  const text = utf8(bytes);
  const body = text === undefined ? undefined : parse(text);
  if (text === undefined || body === undefined) return refused('the body is not JSON');
  if (!isObject(body)) return refused('the body is not an object');
  const input = body['input'];
  if (!isObject(input)) return refused('the body has no object "input"');
  if (Object.keys(input).length === 0) return refused('the object "input" is empty');
  if (isDeep(input)) return refused('the object "input" is nested too deeply');
  const terms = readTerms(body, hasPrivate);
  if (typeof terms === 'string') return refused(terms);
  return { kind: 'read', input: memberText(text, 'input') ?? JSON.stringify(input), terms };
}

/** The submitted terms, or the error. */
function readTerms(body: Record<string, unknown>, hasPrivate: boolean): SubmittedTerms | string {
  const { policy = {}, webhook, s3Config } = body;
  if (!isObject(policy)) return `"policy" is ${describeValue(policy)}; expected an object`;
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
  const stored = isObject(s3Config) ? JSON.stringify(s3Config) : undefined;
  // What it is stays unsaid: it holds credentials.
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
  return `"webhook" leads to ${host}, on this service's own machine or network; expected a public address, or \`webhooks.allowPrivate: true\` in its service.yaml`;
}

function refused(why: string): ReadRunRequest {
  return { kind: 'refused', why };
}

function utf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Undefined where it is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Serialising it, as workers do, is recursive; `parse` has no such limit. */
function isDeep(input: unknown): boolean {
  let level: unknown[] = [input];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return true;
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null
        ? Object.values(value).filter((inner) => typeof inner === 'object')
        : [],
    );
  }
  return false;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
