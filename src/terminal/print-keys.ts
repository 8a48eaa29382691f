/** Keys of the service: a new one, all of them, and one that was revoked. */
import { durationText } from '../lib/yaml/scalar-schemas.ts';
import { formatCost } from '../runner/core/spending.ts';
import { outColumns, writeError, writeOut } from './console.ts';
import { harmless, padTo, widthOf } from './fit-text.ts';
import { hanging } from './hanging.ts';
import { jsonInstant, writeJsonLine } from './json-lines.ts';
import { plural, formatInstant } from './words.ts';

/** Instants are epoch ms. */
interface ShownKey {
  id: string;
  name: string;
  kind: string;
  /** Null for all. */
  endpoints: string[] | null;
  /** Null for one that the service was given as it was started, out of the environment. */
  createdAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
  /** Execution time a day; null without limit. */
  quotaMs: number | null;
  /** Of a second of execution, in USD. */
  price: number | null;
  /** Whether it sees and ends the jobs that it submitted, and no others. */
  hasOwnJobsOnly: boolean;
}

export interface ShownUsedKey extends ShownKey {
  /** By endpoint; `gpuMs` is what its jobs took in workers. */
  usage: { endpointId: string; jobs: number; gpuMs: number }[];
}

export interface ShownNewKey {
  key: string;
  record: ShownKey;
  shownDir: string;
  revokeCommand: string;
}

/** The key alone is what a script reads on stdout. */
export function printNewKey({ key, record, shownDir, revokeCommand }: ShownNewKey, json: boolean): void {
  if (json) return writeJsonLine('key-added', { key, ...inJson(record) });
  writeError(
    `A new ${record.kind} key, ${record.name}, for ${record.hasOwnJobsOnly ? 'its own jobs at ' : ''}${endpointsOf(record)} of the service in ${harmless(shownDir)}:`,
  );
  writeOut(key);
  writeError(
    `It is shown only once: the service stores a digest. It works at once, also in a running service;\nrevoke it with \`${harmless(revokeCommand)}\`.`,
  );
}

export function printKeys(
  keys: ShownUsedKey[],
  { shownDir, addCommand }: { shownDir: string; addCommand: string },
  json: boolean,
): void {
  if (json) return keys.forEach((key) => writeJsonLine('key-listed', { ...inJson(key), usage: key.usage }));
  if (keys.length === 0)
    return writeError(`No keys in ${harmless(shownDir)}; create one with \`${harmless(addCommand)}\`.`);
  for (const line of keyLines(keys, outColumns())) writeOut(line);
}

/** `key`: as it is now, also where it was revoked before. */
export function printRevokedKey(key: ShownKey, json: boolean): void {
  if (json) return writeJsonLine('key-revoked', inJson(key));
  writeOut(
    `The key ${key.name} is revoked since ${formatInstant(key.revokedAt ?? 0)}. Jobs submitted with it continue.`,
  );
}

/** A table where there is room for one, and a few lines for each key where there is not. */
export function keyLines(keys: ShownUsedKey[], columns: number): string[] {
  const hasTerms = keys.some(({ quotaMs, price }) => quotaMs !== null || price !== null);
  const rows = [
    [
      'NAME',
      'KIND',
      'ENDPOINTS',
      'CREATED',
      'LAST USED',
      'JOBS',
      'GPU SECONDS',
      ...(hasTerms ? ['COST', 'QUOTA'] : []),
      'REVOKED',
    ],
    ...keys.map((key) => [
      key.name,
      kindOf(key),
      endpointsOf(key),
      key.createdAt === null ? 'NIGHTRENDER_API_KEY' : toTheMinute(key.createdAt),
      lastUseOf(key),
      jobsOf(key).toLocaleString('en'),
      gpuSecondsOf(key),
      ...(hasTerms ? [costOf(key), quotaOf(key)] : []),
      key.revokedAt === null ? '' : toTheMinute(key.revokedAt),
    ]),
  ];
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => widthOf(row[i] ?? ''))));
  const table = rows.map((row) =>
    row
      .map((cell, i) => padTo(cell, widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return table.every((line) => widthOf(line) <= columns)
    ? table
    : keys.flatMap((key) => [key.name, ...hanging('', described(key), columns, 2)]);
}

function described(key: ShownUsedKey): string {
  const used = key.lastUsedAt === null ? 'never used' : `last used ${toTheMinute(key.lastUsedAt)}`;
  const origin =
    key.createdAt === null ? ['from NIGHTRENDER_API_KEY'] : [`created ${toTheMinute(key.createdAt)}`, used];
  const revoked = key.revokedAt === null ? [] : [`revoked ${toTheMinute(key.revokedAt)}`];
  const facts = [
    `${kindOf(key)} for ${endpointsOf(key)}`,
    ...origin,
    ...(jobsOf(key) === 0 ? [] : [`${plural(jobsOf(key), 'job')} of ${gpuSecondsOf(key)} GPU seconds`]),
    ...[costOf(key), quotaOf(key)].filter((text) => text !== ''),
    ...revoked,
  ];
  return facts.join('; ');
}

function lastUseOf({ createdAt, lastUsedAt }: ShownUsedKey): string {
  if (createdAt === null) return 'not kept';
  return lastUsedAt === null ? 'never' : toTheMinute(lastUsedAt);
}

function jobsOf({ usage }: ShownUsedKey): number {
  return usage.reduce((sum, { jobs }) => sum + jobs, 0);
}

function gpuSecondsOf({ usage }: ShownUsedKey): string {
  const ms = usage.reduce((sum, { gpuMs }) => sum + gpuMs, 0);
  return (ms / 1_000).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

/** Empty without a price. */
function costOf({ usage, price }: ShownUsedKey): string {
  const ms = usage.reduce((sum, { gpuMs }) => sum + gpuMs, 0);
  return price === null ? '' : formatCost({ spent: (ms / 1_000) * price, currency: 'USD' });
}

function quotaOf({ quotaMs }: ShownKey): string {
  return quotaMs === null ? '' : `${durationText(quotaMs)} a day`;
}

function kindOf({ kind, hasOwnJobsOnly }: ShownKey): string {
  return hasOwnJobsOnly ? `${kind}, own jobs` : kind;
}

function endpointsOf({ endpoints }: ShownKey): string {
  return endpoints === null ? 'all endpoints' : endpoints.join(', ');
}

/** Local time. */
function toTheMinute(at: number): string {
  return formatInstant(at).slice(0, 16);
}

function inJson(key: ShownKey): object {
  const { id, name, kind, endpoints, createdAt, lastUsedAt, revokedAt, quotaMs, price, hasOwnJobsOnly } = key;
  return {
    id,
    name,
    kind,
    endpoints,
    createdAt: jsonInstant(createdAt),
    lastUsedAt: jsonInstant(lastUsedAt),
    revokedAt: jsonInstant(revokedAt),
    quotaMs,
    price,
    hasOwnJobsOnly,
  };
}
