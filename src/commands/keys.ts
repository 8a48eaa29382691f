/** `nightrender keys`: makes, lists and revokes the keys of the service, also while it runs. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigError } from '../lib/yaml/problem.ts';
import { closest } from '../lib/text/closest.ts';
import { shellWord } from '../lib/text/format.ts';
import { makeFolder } from '../runner/files/make-folder.ts';
import { checkKey, type AskedKey } from '../service/keys/check-key.ts';
import { KeyStore, KeyRefused } from '../service/keys/key-store.ts';
import type { FieldProblem } from '../service/endpoint-settings.ts';
import { readUsage } from '../service/keys/read-usage.ts';
import { printKeys, printNewKey, printRevokedKey } from '../terminal/print-keys.ts';
import { dataOption } from './data-option.ts';
import { defaultDataDir } from './default-data-dir.ts';
import { keyActions, type KeyAction } from './key-actions.ts';
import { oneText } from './one-text.ts';
import { refuseService } from './refuse-service.ts';
import { shownPath } from './shown-path.ts';

/** Returns the exit code. */
export function keys(action: string, name: string, argv: Record<string, unknown>): number {
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

const work: Record<KeyAction, (asked: KeysRequest) => void> = { add, list, revoke };

function add({ name, argv, dataDir, json }: KeysRequest): void {
  const asked: AskedKey = {
    name,
    kind: oneText(argv, 'kind') ?? 'client',
    endpoints: argv['endpoint'] === undefined ? null : [argv['endpoint']].flat().map(String),
  };
  // Before anything is made on the disk.
  const problems = checkKey(asked);
  if (problems.length > 0) throw new KeyRefused(problems);
  makeFolder(dataDir, 0o700);
  const { key, record } = withKeyStore(dataDir, (book) => book.add(asked));
  const revokeCommand = `nightrender keys revoke ${shellWord(name)}${dataOption(argv)}`;
  printNewKey({ key, record, shownDir: shownPath(dataDir), revokeCommand }, json);
}

function list({ argv, dataDir, json }: KeysRequest): void {
  const found = isThere(dataDir) ? withKeyStore(dataDir, (book) => book.list()) : [];
  const usage = readUsage(join(dataDir, 'service.sqlite'));
  const known = new Set(found.map(({ id }) => id));
  // Jobs without a key are older than keys are.
  const given = [...usage.keys()].filter((id) => id !== 'none' && !known.has(id)).map(givenKey);
  printKeys(
    [...found, ...given].map((key) => ({ ...key, usage: usage.get(key.id) ?? [] })),
    { shownDir: shownPath(dataDir), addCommand: `nightrender keys add NAME${dataOption(argv)}` },
    json,
  );
}

/** Of one that the service was started with nothing is kept but what was done for it. */
function givenKey(id: string) {
  const unknown = { createdAt: null, lastUsedAt: null, revokedAt: null };
  return { id, name: id, kind: 'admin' as const, endpoints: null, ...unknown };
}

function revoke({ name, argv, dataDir, json }: KeysRequest): void {
  if (!isThere(dataDir)) throw unknownKey(name, [], argv);
  const revoked = withKeyStore(dataDir, (book) => {
    const record = book.revoke(name);
    if (record !== undefined) return record;
    const names = book.list().flatMap((key) => (key.revokedAt === null ? key.name : []));
    throw unknownKey(name, names, argv);
  });
  printRevokedKey(revoked, json);
}

function withKeyStore<T>(dataDir: string, use: (book: KeyStore) => T): T {
  const book = new KeyStore(keyStoreIn(dataDir), { now: Date.now });
  try {
    return use(book);
  } finally {
    book.close();
  }
}

/** Who only looks makes nothing. */
function isThere(dataDir: string): boolean {
  return existsSync(keyStoreIn(dataDir));
}

function keyStoreIn(dataDir: string): string {
  return join(dataDir, 'keys.sqlite');
}

function actionOf(given: string): KeyAction {
  const action = keyActions.find((each) => each === given);
  if (action !== undefined) return action;
  const meant = closest(given, keyActions);
  const hint = meant === undefined ? `expected one of ${keyActions.join(', ')}` : `did you mean ${meant}?`;
  throw new ConfigError([
    { where: '', text: `${JSON.stringify(given)} is nothing that can be done with keys; ${hint}` },
  ]);
}

function assertFitting(action: KeyAction, name: string, argv: Record<string, unknown>): void {
  const ofNewKeys = ['kind', 'endpoint'].filter((option) => action !== 'add' && argv[option] !== undefined);
  const problems = ofNewKeys.map((option) => ({
    where: `--${option}`,
    text: `says what a new key is good for; ${action} makes none`,
  }));
  if (action === 'list' && name !== '')
    problems.push({
      where: '',
      text: `list takes no name, and shows all keys; ${JSON.stringify(name)} is given`,
    });
  if (action !== 'list' && name === '')
    problems.push({ where: '', text: `Say which key: nightrender keys ${action} NAME.` });
  if (problems.length > 0) throw new ConfigError(problems);
}

const places: Record<string, string> = { name: '', kind: '--kind', endpoints: '--endpoint' };

function wrongKey(problems: FieldProblem[]): ConfigError {
  return new ConfigError(problems.map(({ field, text }) => ({ where: places[field] ?? field, text })));
}

function unknownKey(name: string, names: string[], argv: Record<string, unknown>): ConfigError {
  const meant = closest(name, names);
  const hint =
    meant === undefined
      ? `\`nightrender keys list${dataOption(argv)}\` names all`
      : `did you mean ${JSON.stringify(meant)}?`;
  return new ConfigError([{ where: '', text: `${JSON.stringify(name)} is no key; ${hint}` }]);
}
