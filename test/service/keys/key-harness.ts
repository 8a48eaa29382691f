/** Creates a key store for a test, in a temporary folder. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { KeyStore, type KeyStoreOptions } from '../../../src/service/keys/key-store.ts';

export function makePath(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-keys-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return join(dir, 'keys.sqlite');
}

/** Opens a key store, which is closed at the end of the test. */
export function openJobStore(path = makePath(), options: Partial<KeyStoreOptions> = {}): KeyStore {
  const store = new KeyStore(path, { now: () => 1_000_000, ...options });
  onTestFinished(() => store.close());
  return store;
}

/** Returns a client key for tests in which only its name matters. */
export function client(name: string) {
  return { name, kind: 'client', endpoints: null };
}
