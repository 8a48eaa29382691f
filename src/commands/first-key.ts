/** The key with which the service is used first. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../lib/yaml/problem.ts';
import { KeyBook } from '../service/keys/key-book.ts';
import { isLoopback } from '../service/service-options.ts';

/** Throws `ConfigError` where other machines would reach a service without a key that somebody chose to make. */
export function assertKeyed(dataDir: string, host: string, { where, addCommand }: KeyAdvice): void {
  if (isLoopback(host) || hasKey(dataDir)) return;
  const text = `${host} lets other machines in, and the service has no key yet; make one with \`${addCommand}\`, or set NIGHTRENDER_API_KEY`;
  throw new ConfigError([{ where, text }]);
}

interface KeyAdvice {
  /** What says so. */
  where: string;
  addCommand: string;
}

/** For whoever starts the service for the first time; undefined where there is a key already. */
export function makeFirstKey(dataDir: string, host: string): string | undefined {
  if (!isLoopback(host)) return undefined;
  return withBook(dataDir, (keys) => {
    if (keys.list().some(({ kind, revokedAt }) => kind === 'admin' && revokedAt === null)) return undefined;
    const taken = new Set(keys.list().map(({ name }) => name.toLowerCase()));
    const name = ['first', ...Array.from(taken, (_, index) => `first-${index + 2}`)].find(
      (text) => !taken.has(text),
    );
    return keys.add({ name: name ?? 'first', kind: 'admin', endpoints: null }).key;
  });
}

/** Makes nothing. */
function hasKey(dataDir: string): boolean {
  if (!existsSync(bookIn(dataDir))) return false;
  return withBook(dataDir, (keys) => keys.list().some(({ revokedAt }) => revokedAt === null));
}

function withBook<T>(dataDir: string, use: (keys: KeyBook) => T): T {
  const keys = new KeyBook(bookIn(dataDir), { now: Date.now });
  try {
    return use(keys);
  } finally {
    keys.close();
  }
}

function bookIn(dataDir: string): string {
  return join(dataDir, 'keys.sqlite');
}
