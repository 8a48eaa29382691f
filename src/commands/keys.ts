/** `nightrender keys`: adds, lists, rotates and revokes keys of the service, also while it runs. */
import { textIn } from './reply.ts';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { ConfigError } from '../lib/yaml/problem.ts';
import { closest } from '../lib/text/closest.ts';
import { shellWord, plural, formatInstant } from '../lib/text/format.ts';
import { makeFolder } from '../runner/files/folders.ts';
import { AuditLog } from '../service/keys/audit-log.ts';
import { checkKey, checkRotation, keyLimitNames, type KeyForm } from '../service/keys/check-key.ts';
import { unlimited, type KeyLimits, type KeyRecord } from '../service/model/key.ts';
import { KeyRefused, type KeyStore } from '../service/keys/key-store.ts';
import type { FieldProblem } from '../service/model/endpoint-settings.ts';
import { readKeyUsage, type EndpointUsage } from '../service/jobs/key-usage.ts';
import { dataOption, defaultDataDir, hasKeyStore, refuseService, withKeyStore } from './service-data.ts';
import { shownPath } from '../batch/refusal.ts';
import { type LoadedCommand, commonExits, oneText, textOption } from './command.ts';
import { durationText, sizeText } from '../lib/yaml/scalar-schemas.ts';
import { formatCost } from '../runner/core/spending.ts';
import { outColumns, writeError, writeOut, writeJsonLine, jsonInstant } from '../terminal/terminal.ts';
import { escapeControls, padTo, widthOf, wrapIndented } from '../terminal/fit-text.ts';

const keyActions = ['add', 'list', 'rotate', 'revoke'] as const;
type KeyAction = (typeof keyActions)[number];

export const keysCommand: LoadedCommand = {
  purpose: `Adds, lists, rotates and revokes keys of the service, also while it runs: a change applies from the next request. A new key is printed once; only its SHA-256 digest is stored. Names are unique, also among revoked keys.`,
  positionals: {
    action: { type: 'string', demandOption: true, describe: 'add, list, rotate or revoke' },
    name: { type: 'string', describe: 'name of the key; to rotate or revoke it, its id as well' },
  },
  options: {
    kind: {
      ...textOption,
      describe:
        'kind of the new key: client for the job interface (default), worker for workers that pull jobs, admin for console and jobs',
    },
    endpoint: {
      ...textOption,
      describe: 'id of an endpoint for the new key; may be given several times (default: all)',
    },
    quota: {
      ...textOption,
      describe: 'execution time a day of a new client key, such as 10h (default: no limit)',
    },
    price: { ...textOption, describe: 'USD for a second of execution with a new client key, such as 0.0004' },
    'own-jobs': {
      type: 'boolean',
      describe:
        'a new client key sees, cancels, retries and purges the jobs that it submits, and no others (default: those of all keys)',
    },
    'read-only': {
      type: 'boolean',
      describe: 'a new client or admin key sees what others of its kind see, and changes nothing',
    },
    expires: {
      ...textOption,
      describe:
        'how long a new or rotated key is valid, such as 90d, by the system clock (default: no limit)',
    },
    overlap: {
      ...textOption,
      describe:
        'how long the earlier text of a rotated key is valid as well, such as 1d (default: not at all)',
    },
    'requests-per-second': { ...textOption, describe: 'requests of a new client key per second, such as 20' },
    'max-queued': { ...textOption, describe: 'jobs of a new client key in the queue, such as 1000' },
    'max-queued-bytes': {
      ...textOption,
      describe: 'size of the inputs that a new client key has in the queue, such as 100MB',
    },
    'max-held': { ...textOption, describe: 'requests of a new client key in progress at once, such as 50' },
    data: { ...textOption, describe: 'folder of the service (default: ~/.local/share/nightrender)' },
    json: { type: 'boolean', describe: 'as JSON, a line for each key' },
  },
  examples: [
    ['KEY=$($0 keys add laptop)', 'a key for jobs at all endpoints'],
    ['$0 keys add attic --kind worker --endpoint scene-renderer', 'for workers on another machine'],
    ['$0 keys add night --quota 10h --price 0.0004', 'ten hours of execution a day, and what they cost'],
    ['$0 keys add customer --own-jobs', 'sees no jobs of others'],
    ['$0 keys add guest --kind admin --read-only --expires 7d', 'sees the console for a week'],
    ['$0 keys rotate customer --overlap 1d', 'a new text for the same jobs; the earlier one ends in a day'],
    ['$0 keys add guest --own-jobs --max-queued 100 --requests-per-second 20', 'for someone you do not know'],
    ['$0 keys list', 'all keys, with last use, jobs, GPU time and cost'],
    ['$0 keys revoke laptop', 'it is rejected from now on'],
  ],
  exits: {
    ...commonExits,
    complete: 'the key was added, listed, rotated or revoked',
    'wrong-use': 'wrong use, no such key, name taken, or the key store is damaged',
    'already-running': 'another program holds the key store',
  },
  work: (argv) => changeKeys(textIn(argv, 'action'), textIn(argv, 'name'), argv),
  words: keyActions,
};

/** Returns the exit code. */
function changeKeys(action: string, name: string, argv: Record<string, unknown>): number {
  const json = argv['json'] === true;
  let dataDir: string | undefined;
  try {
    const chosen = actionOf(action);
    assertFitting(chosen, name, argv);
    dataDir = resolve(oneText(argv, 'data') ?? defaultDataDir());
    work[chosen]({ name, argv, dataDir, json });
    return 0;
  } catch (thrown) {
    return refuseService(thrown instanceof KeyRefused ? wrongKey(thrown.problems) : thrown, dataDir, json);
  }
}

interface KeysRequest {
  name: string;
  argv: Record<string, unknown>;
  dataDir: string;
  json: boolean;
}

const work: Record<KeyAction, (asked: KeysRequest) => void> = { add, list, rotate, revoke };

function add({ name, argv, dataDir, json }: KeysRequest): void {
  const asked: KeyForm = {
    name,
    kind: oneText(argv, 'kind') ?? 'client',
    endpoints: argv['endpoint'] === undefined ? null : [argv['endpoint']].flat().map(String),
    quota: oneText(argv, 'quota') ?? '',
    price: oneText(argv, 'price') ?? '',
    ownJobs: argv['own-jobs'] === true,
    readOnly: argv['read-only'] === true,
    expires: oneText(argv, 'expires') ?? '',
    ...Object.fromEntries(
      keyLimitNames.map((limit) => [limit, oneText(argv, limitOptions[limit].option) ?? '']),
    ),
  };
  // Check before anything is written to the disk.
  const problems = checkKey(asked);
  if (problems.length > 0) throw new KeyRefused(problems);
  const isFirst = !hasKeyStore(dataDir);
  makeFolder(dataDir, 0o700);
  const { key, record } = withKeyStore(dataDir, (store) => store.add(asked));
  const revokeCommand = `nightrender keys revoke ${shellWord(name)}${dataOption(argv)}`;
  noteChange(dataDir, 'keys add', record);
  printNewKey({ key, record, shownDir: shownPath(dataDir), revokeCommand }, json);
  if (isFirst && !json) writeError(newFolderText(shownPath(dataDir), `nightrender serve${dataOption(argv)}`));
}

/** Warns that no service uses this folder: its path may be mistyped. */
function newFolderText(shownDir: string, serveCommand: string): string {
  return `Created keys.sqlite in ${escapeControls(shownDir)}, which no service has used yet; start one there with \`${escapeControls(serveCommand)}\`.`;
}

function list({ argv, dataDir, json }: KeysRequest): void {
  const found = hasKeyStore(dataDir) ? withKeyStore(dataDir, (store) => store.list()) : [];
  const usage = readKeyUsage(join(dataDir, 'service.sqlite'));
  const known = new Set(found.map(({ id }) => id));
  // Jobs without a key were submitted by a version that had no keys.
  const given = [...usage.keys()].filter((id) => id !== 'none' && !known.has(id)).map(givenKey);
  printKeys(
    [...found, ...given].map((key) => ({ ...key, usage: usage.get(key.id) ?? [] })),
    { shownDir: shownPath(dataDir), addCommand: `nightrender keys add NAME${dataOption(argv)}` },
    json,
  );
}

/** Returns a row for a key from the environment. The service keeps nothing of it but its usage. */
function givenKey(id: string) {
  const dates = { createdAt: null, lastUsedAt: null, lastUsedFrom: null, revokedAt: null, expiresAt: null };
  return { ...unlimited, id, name: id, kind: 'admin' as const, ...dates, price: null };
}

function rotate({ name, argv, dataDir, json }: KeysRequest): void {
  const asked = { overlap: oneText(argv, 'overlap') ?? '', expires: oneText(argv, 'expires') ?? '' };
  const problems = checkRotation(asked);
  if (problems.length > 0) throw new KeyRefused(problems);
  const { key, record } = changed({ name, argv, dataDir }, (store) => store.rotate(name, asked));
  noteChange(dataDir, 'keys rotate', record);
  if (json) return writeJsonLine('key-rotated', { key, ...inJson(record) });
  writeError(`The new text of the key ${record.name}, for the same jobs and endpoints:`);
  writeOut(key);
  const earlier = asked.overlap === '' ? 'ended' : `works for ${asked.overlap} more`;
  writeError(
    `It is shown only once: the service stores a digest. It works at once; the earlier text ${earlier}.`,
  );
}

function revoke({ name, argv, dataDir, json }: KeysRequest): void {
  const revoked = changed({ name, argv, dataDir }, (store) => store.revoke(name));
  noteChange(dataDir, 'keys revoke', revoked);
  printRevokedKey(revoked, json);
}

function noteChange(dataDir: string, what: string, { name, kind }: KeyRecord): void {
  const audit = new AuditLog(dataDir, { now: Date.now, onProblem: writeError });
  const more = { name, kind, account: accountName() };
  audit.note({ event: 'change', key: null, from: null, what, more });
}

function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, an account may have no name.
    return String(process.getuid?.());
  }
}

/** Throws `ConfigError` if there is no such key. */
function changed<T>(
  { name, argv, dataDir }: Omit<KeysRequest, 'json'>,
  change: (store: KeyStore) => T | undefined,
): T {
  if (!hasKeyStore(dataDir)) throw unknownKey(name, [], argv);
  return withKeyStore(dataDir, (store) => {
    const made = change(store);
    if (made !== undefined) return made;
    const names = store.list().flatMap((key) => (key.revokedAt === null ? key.name : []));
    throw unknownKey(name, names, argv);
  });
}

function actionOf(given: string): KeyAction {
  const action = keyActions.find((each) => each === given);
  if (action !== undefined) return action;
  const meant = closest(given, keyActions);
  const hint = meant === undefined ? `expected one of ${keyActions.join(', ')}` : `did you mean ${meant}?`;
  throw new ConfigError([{ where: '', text: `${JSON.stringify(given)} is not an action; ${hint}` }]);
}

function assertFitting(action: KeyAction, name: string, argv: Record<string, unknown>): void {
  const ofLimits = keyLimitNames.map((limit) => limitOptions[limit].option);
  const misplaced = (options: string[], actions: KeyAction[], what: string) =>
    options
      .filter((option) => argv[option] !== undefined && !actions.includes(action))
      .map((option) => ({ where: `--${option}`, text: `applies to ${what} only, not to ${action}` }));
  const ofNewKeys = ['kind', 'endpoint', 'quota', 'price', 'own-jobs', 'read-only', ...ofLimits];
  const problems = [
    ...misplaced(ofNewKeys, ['add'], 'new keys'),
    ...misplaced(['expires'], ['add', 'rotate'], 'new and rotated keys'),
    ...misplaced(['overlap'], ['rotate'], 'rotated keys'),
  ];
  if (action === 'list' && name !== '')
    problems.push({
      where: '',
      text: `list takes no name, but ${JSON.stringify(name)} is given`,
    });
  if (action !== 'list' && name === '')
    problems.push({ where: '', text: `Specify a key: nightrender keys ${action} NAME.` });
  if (problems.length > 0) throw new ConfigError(problems);
}

const limitOptions: Record<keyof KeyLimits, { option: string; words: string }> = {
  requestsPerSecond: { option: 'requests-per-second', words: 'requests a second' },
  maxQueued: { option: 'max-queued', words: 'jobs queued' },
  maxQueuedBytes: { option: 'max-queued-bytes', words: 'queued' },
  maxHeld: { option: 'max-held', words: 'requests at once' },
};

const places: Record<string, string> = {
  name: '',
  kind: '--kind',
  endpoints: '--endpoint',
  quota: '--quota',
  price: '--price',
  ownJobs: '--own-jobs',
  readOnly: '--read-only',
  expires: '--expires',
  overlap: '--overlap',
  ...Object.fromEntries(keyLimitNames.map((limit) => [limit, `--${limitOptions[limit].option}`])),
};

function wrongKey(problems: FieldProblem[]): ConfigError {
  return new ConfigError(problems.map(({ field, text }) => ({ where: places[field] ?? field, text })));
}

function unknownKey(name: string, names: string[], argv: Record<string, unknown>): ConfigError {
  const meant = closest(name, names);
  const hint =
    meant === undefined
      ? `\`nightrender keys list${dataOption(argv)}\` names all`
      : `did you mean ${JSON.stringify(meant)}?`;
  return new ConfigError([{ where: '', text: `${JSON.stringify(name)} is not a key; ${hint}` }]);
}

interface ShownKey extends Omit<KeyRecord, 'createdAt'> {
  /** Null for a key from the environment of the service. */
  createdAt: number | null;
}

interface ShownUsedKey extends ShownKey {
  usage: EndpointUsage[];
}

interface ShownNewKey {
  key: string;
  record: ShownKey;
  shownDir: string;
  revokeCommand: string;
}

/** Prints the key alone to stdout, where a script reads it. */
function printNewKey({ key, record, shownDir, revokeCommand }: ShownNewKey, json: boolean): void {
  if (json) return writeJsonLine('key-added', { key, ...inJson(record) });
  writeError(
    `A new ${record.kind} key, ${record.name}, for ${record.hasOwnJobsOnly ? 'its own jobs at ' : ''}${endpointsOf(record)} of the service in ${escapeControls(shownDir)}:`,
  );
  writeOut(key);
  writeError(
    `It is shown only once: the service stores a digest. It works at once, also in a running service;\nrevoke it with \`${escapeControls(revokeCommand)}\`.`,
  );
}

function printKeys(
  keys: ShownUsedKey[],
  { shownDir, addCommand }: { shownDir: string; addCommand: string },
  json: boolean,
): void {
  if (json) return keys.forEach((key) => writeJsonLine('key-listed', { ...inJson(key), usage: key.usage }));
  if (keys.length === 0)
    return writeError(
      `No keys in ${escapeControls(shownDir)}; create one with \`${escapeControls(addCommand)}\`.`,
    );
  for (const line of keyLines(keys, outColumns())) writeOut(line);
}

/** `key` is the current record; it may have been revoked before. */
function printRevokedKey(key: ShownKey, json: boolean): void {
  if (json) return writeJsonLine('key-revoked', inJson(key));
  writeOut(
    `The key ${key.name} was revoked at ${formatInstant(key.revokedAt ?? 0)}. Jobs submitted with it continue.`,
  );
}

/** A table if it fits into `columns`, else a few lines for each key. */
export function keyLines(keys: ShownUsedKey[], columns: number): string[] {
  const hasLimits = keys.some((key) => limitsText(key) !== '');
  const hasTerms = keys.some(({ quotaMs, price }) => quotaMs !== null || price !== null);
  const hasEnds = keys.some(({ expiresAt }) => expiresAt !== null);
  const rows = [
    [
      'NAME',
      'KIND',
      'ENDPOINTS',
      'CREATED',
      'LAST USED',
      'JOBS',
      'WORKER SECONDS',
      ...(hasTerms ? ['COST', 'QUOTA'] : []),
      ...(hasEnds ? ['EXPIRES'] : []),
      ...(hasLimits ? ['LIMITS'] : []),
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
      ...(hasEnds ? [dateOf(key.expiresAt)] : []),
      ...(hasLimits ? [limitsText(key)] : []),
      dateOf(key.revokedAt),
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
    : keys.flatMap((key) => [key.name, ...wrapIndented('', described(key), columns, 2)]);
}

function described(key: ShownUsedKey): string {
  const used = key.lastUsedAt === null ? 'never used' : `last used ${lastUseOf(key)}`;
  const origin =
    key.createdAt === null ? ['from NIGHTRENDER_API_KEY'] : [`created ${toTheMinute(key.createdAt)}`, used];
  const revoked = key.revokedAt === null ? [] : [`revoked ${toTheMinute(key.revokedAt)}`];
  const expiry = key.expiresAt === null ? [] : [`valid until ${toTheMinute(key.expiresAt)}`];
  const facts = [
    `${kindOf(key)} for ${endpointsOf(key)}`,
    ...origin,
    ...(jobsOf(key) === 0 ? [] : [`${plural(jobsOf(key), 'job')} of ${gpuSecondsOf(key)} worker seconds`]),
    ...[costOf(key), quotaOf(key), limitsText(key)].filter((text) => text !== ''),
    ...expiry,
    ...revoked,
  ];
  return facts.join('; ');
}

function lastUseOf({ createdAt, lastUsedAt, lastUsedFrom }: ShownUsedKey): string {
  if (createdAt === null) return 'not kept';
  if (lastUsedAt === null) return 'never';
  return toTheMinute(lastUsedAt) + (lastUsedFrom === null ? '' : ` from ${escapeControls(lastUsedFrom)}`);
}

function dateOf(at: number | null): string {
  return at === null ? '' : toTheMinute(at);
}

function jobsOf({ usage }: ShownUsedKey): number {
  return usage.reduce((sum, { jobs }) => sum + jobs, 0);
}

function gpuSecondsOf({ usage }: ShownUsedKey): string {
  const ms = usage.reduce((sum, { gpuMs }) => sum + gpuMs, 0);
  return (ms / 1_000).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

function costOf({ usage, price }: ShownUsedKey): string {
  const ms = usage.reduce((sum, { gpuMs }) => sum + gpuMs, 0);
  return price === null ? '' : formatCost({ spent: (ms / 1_000) * price, currency: 'USD' });
}

function quotaOf({ quotaMs }: ShownKey): string {
  return quotaMs === null ? '' : `${durationText(quotaMs)} a day`;
}

function limitsText({ limits }: ShownKey): string {
  const texts = keyLimitNames.flatMap((limit) => {
    const most = limits[limit];
    const shown = limit === 'maxQueuedBytes' ? sizeText(most ?? 0) : String(most);
    return most === null ? [] : [`${shown} ${limitOptions[limit].words}`];
  });
  return texts.join(', ');
}

function kindOf({ kind, hasOwnJobsOnly, isReadOnly }: ShownKey): string {
  return [kind, ...(hasOwnJobsOnly ? ['own jobs'] : []), ...(isReadOnly ? ['read-only'] : [])].join(', ');
}

function endpointsOf({ endpoints }: ShownKey): string {
  return endpoints === null ? 'all endpoints' : endpoints.join(', ');
}

/** Local time. */
function toTheMinute(at: number): string {
  return formatInstant(at).slice(0, 16);
}

function inJson(key: ShownKey): object {
  const { id, name, kind, endpoints, createdAt, lastUsedAt, lastUsedFrom, revokedAt, expiresAt } = key;
  const { quotaMs, price, hasOwnJobsOnly, isReadOnly, limits } = key;
  return {
    id,
    name,
    kind,
    endpoints,
    createdAt: jsonInstant(createdAt),
    lastUsedAt: jsonInstant(lastUsedAt),
    lastUsedFrom,
    revokedAt: jsonInstant(revokedAt),
    expiresAt: jsonInstant(expiresAt),
    quotaMs,
    price,
    hasOwnJobsOnly,
    isReadOnly,
    limits,
  };
}
