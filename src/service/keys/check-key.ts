/** Checks the request for a new key, or for a new text of a key. */
import { durationWithin, sizeWithin } from '../../lib/yaml/scalar-schemas.ts';
import type { FieldProblem } from '../model/endpoint-settings.ts';
import { keyKinds, type KeyKind, type KeyLimits } from '../model/key.ts';

/** A requested key, as a form or a command line gives it. */
export interface KeyForm {
  name: string;
  kind: string;
  endpoints: string[] | null;
  /** Maximum execution time per day, such as `10h`; empty or missing for no limit. */
  quota?: string;
  /** Price of one second of execution in USD, such as `0.0004`; empty or missing for none. */
  price?: string;
  /** True if the key may see, cancel, retry and purge only its own jobs. */
  ownJobs?: boolean;
  /** True if the key may see everything and change nothing. */
  readOnly?: boolean;
  /** Time for which the key is valid, such as `90d`; empty or missing for no limit. */
  expires?: string;
  /** Limits: numbers, and a size such as `100MB`; empty or missing for no limit. */
  requestsPerSecond?: string;
  maxQueued?: string;
  maxQueuedBytes?: string;
  maxHeld?: string;
}

export interface Rotation {
  /** Time for which the earlier text stays valid beside the new one, such as `1d`; empty or missing for none. */
  overlap?: string;
  /** Time from now for which the key is valid; empty or missing to leave it unchanged. */
  expires?: string;
}

const maxNameLength = 64;
const maxEndpoints = 100;
const quotas = durationWithin('1s', '1000d');
const lives = durationWithin('1m', '3650d');
const overlaps = durationWithin('1m', '90d');
const sizes = sizeWithin('1kB', '1000GB');
const wholeNumber = 'a whole number from 1 to 1000000';

/** Returns the problems of a requested key; empty if it can be created. */
export function checkKey(asked: KeyForm): FieldProblem[] {
  const { name, kind, endpoints, quota = '', price = '', ownJobs = false } = asked;
  const { readOnly = false } = asked;
  const { quotaMs, price: usd } = termsOf(asked);
  return [
    ...problem('name', wrongName(name)),
    ...problem(
      'kind',
      isKeyKind(kind) ? undefined : `${JSON.stringify(kind)} is not a kind of key; ${kinds}`,
    ),
    ...problem('endpoints', endpoints === null ? undefined : wrongEndpoints(endpoints, kind)),
    ...problem('quota', wrongTerm(quota, quotaMs, 'a time from 1s to 1000d, such as 10h', kind)),
    ...problem(
      'ownJobs',
      ownJobs && kind !== 'client' ? 'only client keys can be limited to their own jobs' : undefined,
    ),
    ...problem(
      'readOnly',
      readOnly && kind === 'worker' ? 'a worker key cannot be read-only: workers change jobs' : undefined,
    ),
    ...wrongLife(asked),
    ...problem('price', wrongTerm(price, usd, 'USD a second, such as 0.0004', kind)),
    ...keyLimitNames.flatMap((limit) => problem(limit, wrongLimit(limit, asked))),
  ];
}

/** Returns the problems of a requested rotation; empty if it is possible. */
export function checkRotation(asked: Rotation): FieldProblem[] {
  const { overlap = '' } = asked;
  const text = `${JSON.stringify(overlap)} is not accepted; expected a time from 1m to 90d, such as 1d`;
  const isRead = overlap === '' || termsOf(asked).overlapMs !== null;
  return [...(isRead ? [] : [{ field: 'overlap', text }]), ...wrongLife(asked)];
}

/** Reads durations and the price of a request. Values that are missing or invalid are null. */
export function termsOf({ quota = '', price = '', expires = '', overlap = '' }: Partial<KeyForm> & Rotation) {
  const isPrice = /^\d{1,6}(\.\d{1,12})?$/.test(price);
  return {
    quotaMs: quotas.safeParse(quota).data ?? null,
    price: isPrice ? Number(price) : null,
    expiresMs: lives.safeParse(expires).data ?? null,
    overlapMs: overlaps.safeParse(overlap).data ?? null,
  };
}

export const keyLimitNames = ['requestsPerSecond', 'maxQueued', 'maxQueuedBytes', 'maxHeld'] as const;

/** Reads the limits of a requested key. Null means no limit. Invalid values are null too, so check the form first. */
export function limitsOf(asked: KeyForm): KeyLimits {
  const count = (text = ''): number | null => (/^([1-9]\d{0,5}|1000000)$/.test(text) ? Number(text) : null);
  return {
    requestsPerSecond: count(asked.requestsPerSecond),
    maxQueued: count(asked.maxQueued),
    maxQueuedBytes: sizes.safeParse(asked.maxQueuedBytes).data ?? null,
    maxHeld: count(asked.maxHeld),
  };
}

export function isKeyKind(kind: string): kind is KeyKind {
  return keyKinds.some((each) => each === kind);
}

/** Ids are accepted wherever names are, so no name may be a possible id. */
const idPattern = /^key-[0-9a-f]{16}$/i;

const kinds = `expected one of ${keyKinds.join(', ')}`;

function wrongName(name: string): string | undefined {
  if (name === '') return 'the key needs a name';
  if (name.length > maxNameLength)
    return `the name has ${name.length} characters; expected at most ${maxNameLength}`;
  if (!/^[A-Za-z0-9._-]+( [A-Za-z0-9._-]+)*$/.test(name) || name.startsWith('-'))
    return `${JSON.stringify(name)} cannot be a name; expected letters from A to Z, digits, dots, underscores, hyphens and single spaces between them`;
  return idPattern.test(name) ? `${name} looks like the id of a key; expected another name` : undefined;
}

function wrongEndpoints(endpoints: string[], kind: string): string | undefined {
  if (kind === 'admin') return 'an admin key is valid for all endpoints, since it can create other keys';
  if (endpoints.length === 0) return 'a key needs at least one endpoint; leave endpoints out for all';
  if (endpoints.length > maxEndpoints)
    return `${endpoints.length} endpoints are named; expected at most ${maxEndpoints}, or none for all`;
  const wrong = endpoints.find((id) => !/^[A-Za-z0-9_-]{1,128}$/.test(id));
  return wrong === undefined ? undefined : `${JSON.stringify(wrong)} cannot be the id of an endpoint`;
}

function wrongTerm(given: string, read: number | null, expected: string, kind: string): string | undefined {
  if (given === '') return undefined;
  if (kind !== 'client') return 'only client keys have a quota or a price';
  return read === null ? `${JSON.stringify(given)} is not accepted; expected ${expected}` : undefined;
}

function wrongLife({ expires = '' }: Pick<KeyForm, 'expires'>): FieldProblem[] {
  if (expires === '' || lives.safeParse(expires).success) return [];
  const text = `${JSON.stringify(expires)} is not accepted; expected a time from 1m to 3650d, such as 90d`;
  return [{ field: 'expires', text }];
}

function wrongLimit(name: keyof KeyLimits, asked: KeyForm): string | undefined {
  const given = asked[name] ?? '';
  if (given === '') return undefined;
  if (asked.kind !== 'client') return 'only client keys have limits';
  const expected = name === 'maxQueuedBytes' ? 'a size from 1kB to 1000GB, such as 100MB' : wholeNumber;
  return limitsOf(asked)[name] === null
    ? `${JSON.stringify(given)} is not accepted; expected ${expected}`
    : undefined;
}

function problem(field: keyof KeyForm, text: string | undefined): FieldProblem[] {
  return text === undefined ? [] : [{ field, text }];
}
