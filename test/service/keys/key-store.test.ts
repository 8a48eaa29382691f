/** Promise: keys have names, kinds and scopes, can be revoked, and every program sees changes at once. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openForWriting, Sqlite, UnusableDatabase } from '../../../src/lib/sqlite/database.ts';
import { assert as assertProperty, array, property, stringMatching } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jobSchema } from '../../../src/service/jobs/job-schema.ts';
import { KeyStore, KeyStoreBusy, KeyRefused } from '../../../src/service/keys/key-store.ts';
import { unlimited } from '../../../src/service/model/key.ts';
import { client, makePath, openJobStore } from './key-harness.ts';

describe('finding a key', () => {
  it('knows whom a key stands for, in any spelling of the scheme', () => {
    const store = openJobStore();
    const { key, record } = store.add({ name: 'laptop', kind: 'client', endpoints: ['a', 'b', 'a'] });
    expect(key).toMatch(/^nr_[A-Za-z0-9_-]{43}$/);
    const holder = { ...unlimited, id: record.id, name: 'laptop', kind: 'client', endpoints: ['a', 'b'] };
    for (const value of [`Bearer ${key}`, `bearer ${key}`, `BEARER   ${key} `])
      expect(store.find(value)).toEqual(holder);
  });

  it('accepts no other key, no part of a key, no digest and no name', () => {
    const store = openJobStore();
    const { key, record } = store.add(client('laptop'));
    const others = [key.slice(0, -1), `${key}x`, key.toUpperCase(), record.id, 'laptop', ''];
    for (const other of others) expect(store.find(`Bearer ${other}`)).toBeUndefined();
    for (const value of [undefined, '', 'Bearer', `Basic ${key}`]) expect(store.find(value)).toBeUndefined();
  });

  it('takes a key with and without "Bearer"', () => {
    const store = openJobStore();
    const kinds = ['client', 'worker', 'admin'];
    const keys = kinds.map((kind) => store.add({ name: kind, kind, endpoints: null }).key);
    expect(keys.map((key) => store.find(key)?.kind)).toEqual(kinds);
    expect(keys.map((key) => store.find(`Bearer ${key}`)?.kind)).toEqual(kinds);
  });

  it('knows a key that is given from outside, and keeps none of it', () => {
    const path = makePath();
    const given = [{ name: 'environment', key: 'GIVEN-KEY', kind: 'admin' as const }];
    const store = openJobStore(path, { given });
    const { key } = store.add(client('laptop'));
    const holder = { ...unlimited, id: 'environment', name: 'environment', kind: 'admin' };
    expect(store.find('Bearer GIVEN-KEY')).toEqual(holder);
    expect(store.find(`Bearer ${key}`)?.name).toBe('laptop');
    expect(store.list().map(({ name }) => name)).toEqual(['laptop']);
    expect(openJobStore(path).find('Bearer GIVEN-KEY')).toBeUndefined();
    expect(bytesBeside(path).includes('GIVEN-KEY')).toBe(false);
  });

  it.each(['', 'two words', 'ключ'])(
    'refuses the given key %j, which no header carries, without saying it',
    (key) => {
      const given = [{ name: 'environment', key, kind: 'admin' as const }];
      const open = () => openJobStore(undefined, { given });
      expect(open).toThrow(/^the key environment is empty or holds characters that a header cannot carry$/);
    },
  );
});

describe('two programs with one key store', () => {
  it('see the keys that the other made or revoked at the next request', () => {
    const path = makePath();
    const [service, command] = [openJobStore(path), openJobStore(path)];
    const { key, record } = command.add(client('laptop'));
    expect(service.find(`Bearer ${key}`)?.name).toBe('laptop');
    expect(command.revoke(record.id)?.revokedAt).toBe(1_000_000);
    expect(service.find(`Bearer ${key}`)).toBeUndefined();
    expect(service.list()).toEqual(command.list());
  });

  it('forget a key that was found before, once it is revoked, rotated or has expired', () => {
    const path = makePath();
    let now = 1_000_000;
    const [service, command] = [
      openJobStore(path, { now: () => now }),
      openJobStore(path, { now: () => now }),
    ];
    const isFound = (key: string) => service.find(`Bearer ${key}`) !== undefined;
    const keys = ['a', 'b', 'c', 'd'].map((name) => service.add({ ...client(name), expires: '90d' }).key);
    const [a = '', b = '', c = '', d = ''] = keys;
    expect(keys.map(isFound)).toEqual([true, true, true, true]);
    service.revoke('a');
    expect(keys.map(isFound)).toEqual([false, true, true, true]);
    command.revoke('b');
    expect(keys.map(isFound)).toEqual([false, false, true, true]);
    const later = command.rotate('c', { overlap: '1h' })?.key ?? '';
    expect([a, b, c, d, later].map(isFound)).toEqual([false, false, true, true, true]);
    now += 3_600_000;
    expect([a, b, c, d, later].map(isFound)).toEqual([false, false, false, true, true]);
    now += 90 * 86_400_000;
    expect([a, b, c, d, later].map(isFound)).toEqual([false, false, false, false, false]);
  });

  it('find keys while another program writes, and report that they cannot write themselves', () => {
    const path = makePath();
    const store = openJobStore(path, { busyMs: 1 });
    const { key } = store.add(client('laptop'));
    const other = new Sqlite(path);
    other.exec('BEGIN IMMEDIATE');
    expect(store.find(`Bearer ${key}`)?.name).toBe('laptop');
    expect(() => store.add(client('desk'))).toThrow(KeyStoreBusy);
    other.close();
    expect(store.add(client('desk')).record.name).toBe('desk');
  });
});

describe('the last use of a key', () => {
  it('is written once a minute', () => {
    const path = makePath();
    let now = 1_000_000;
    const store = openJobStore(path, { now: () => now });
    const { key } = store.add(client('laptop'));
    const useAfter = (ms: number) => {
      now += ms;
      expect(store.find(`Bearer ${key}`)).toBeDefined();
      return store.list()[0]?.lastUsedAt;
    };
    expect(store.list()[0]?.lastUsedAt).toBeNull();
    expect([useAfter(1), useAfter(59_999), useAfter(1), useAfter(10)]).toEqual([
      1_000_001, 1_000_001, 1_060_001, 1_060_001,
    ]);
    // A restarted service continues from the recorded time.
    const again = openJobStore(path, { now: () => 1_060_500 });
    again.find(`Bearer ${key}`);
    expect(again.list()[0]?.lastUsedAt).toBe(1_060_001);
  });

  it('does not change for a key that is refused', () => {
    const store = openJobStore();
    const { key } = store.add(client('laptop'));
    store.revoke('laptop');
    store.find(`Bearer ${key}`);
    expect(store.list()[0]?.lastUsedAt).toBeNull();
  });
});

describe('names of keys', () => {
  it('never clash, whatever their case, and each key is revoked by its own', () => {
    const name = stringMatching(/^[abAB0._][abAB0._-]{0,2}( [abAB]{1,2})?$/);
    assertProperty(
      property(array(name, { maxLength: 30 }), (names) => {
        const path = makePath();
        const store = new KeyStore(path, { now: () => 1 });
        const taken = names.filter((each) => isAdded(store, each));
        const folded = taken.map((each) => each.toLowerCase());
        expect(new Set(folded)).toEqual(new Set(names.map((each) => each.toLowerCase())));
        expect(store.list().map((key) => key.name)).toEqual(taken);
        expect(new Set(folded).size).toBe(taken.length);
        for (const each of taken) expect(store.revoke(each.toUpperCase())?.name).toBe(each);
        store.close();
      }),
      { numRuns: 20 },
    );
  });

  it('stay those of their keys when these are revoked', () => {
    const store = openJobStore();
    store.add(client('laptop'));
    store.revoke('laptop');
    const again = () => store.add(client('LAPTOP'));
    expect(again).toThrow('the name laptop belongs to a revoked key');
    expect(again).toThrow(KeyRefused);
  });

  it('of keys that are given from outside are taken', () => {
    const given = [{ name: 'environment', key: 'GIVEN-KEY', kind: 'admin' as const }];
    const store = openJobStore(undefined, { given });
    expect(() => store.add(client('Environment'))).toThrow('the name environment is taken');
  });
});

describe('revoking a key', () => {
  it('twice keeps the time of the first revocation', () => {
    let now = 5;
    const store = openJobStore(undefined, { now: () => now });
    const { record } = store.add(client('laptop'));
    now = 6;
    store.revoke('laptop');
    now = 7;
    expect(store.revoke(record.id)).toEqual({ ...record, revokedAt: 6 });
    expect(store.revoke('desk')).toBeUndefined();
  });
});

describe('the file of keys', () => {
  it("is its owner's alone and holds no key", () => {
    const path = makePath();
    const store = openJobStore(path);
    const keys = ['a', 'b', 'c'].map((name) => store.add(client(name)).key);
    for (const key of keys) store.find(`Bearer ${key}`);
    store.revoke('b');
    const modes = readdirSync(dirname(path)).map((name) => statSync(join(dirname(path), name)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    const bytes = bytesBeside(path);
    for (const key of keys) expect(bytes.includes(key.slice(3))).toBe(false);
    expect(bytes.includes('client')).toBe(true);
  });

  it('is left unchanged if it is damaged or belongs to another program', () => {
    const damaged = makePath();
    writeFileSync(damaged, 'no keys at all, but for long enough to be read as the head of a file');
    expect(() => openJobStore(damaged)).toThrow(UnusableDatabase);
    expect(readFileSync(damaged, 'utf8')).toMatch(/^no keys at all/);
    const foreign = makePath();
    openForWriting(foreign, jobSchema).close();
    expect(() => openJobStore(foreign)).toThrow(
      /keys\.sqlite is a SQLite file of another program; it was not changed/,
    );
  });

  it('has a maximum number of keys', () => {
    const path = makePath();
    const store = openJobStore(path);
    const first = store.add(client('k'));
    const db = new Sqlite(path);
    db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
      INSERT INTO apiKey (id, name, kind, digest, createdAt) SELECT i, i, 'client', randomblob(32), 1 FROM n`);
    db.close();
    expect(() => store.add(client('one more'))).toThrow(
      'there are 1,000 keys, the maximum; revoke one first',
    );
    store.revoke(first.record.id);
    expect(store.add(client('one more')).record.name).toBe('one more');
  });
});

function isAdded(store: KeyStore, name: string): boolean {
  try {
    store.add(client(name));
    return true;
  } catch (error) {
    if (error instanceof KeyRefused) return false;
    throw error;
  }
}

function bytesBeside(path: string): string {
  const dir = dirname(path);
  return readdirSync(dir)
    .map((name) => readFileSync(join(dir, name), 'latin1'))
    .join('');
}
