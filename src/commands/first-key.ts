/** The key with which the service is used first. */
import { join } from 'node:path';
import { KeyBook } from '../server/keys/key-book.ts';

/** For whoever starts the service for the first time; undefined where there is a key already. */
export function makeFirstKey(dataDir: string): string | undefined {
  const keys = new KeyBook(join(dataDir, 'keys.sqlite'), { now: Date.now });
  try {
    if (keys.list().some(({ kind, revokedAt }) => kind === 'admin' && revokedAt === null)) return undefined;
    const taken = new Set(keys.list().map(({ name }) => name.toLowerCase()));
    const name = ['first', ...Array.from(taken, (_, index) => `first-${index + 2}`)].find(
      (text) => !taken.has(text),
    );
    return keys.add({ name: name ?? 'first', kind: 'admin', endpoints: null }).key;
  } finally {
    keys.close();
  }
}
