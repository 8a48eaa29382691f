/**
 * Promise: keys are created, listed, rotated and revoked on the command line. A new key is shown once and
 * never stored.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { KeyStore } from '../../src/service/keys/key-store.ts';
import { firstTier, isWhole, rest } from '../fakes/tier.ts';
import { checkLine } from '../terminal/check-line.ts';
import { linesOf, nightWith } from './cli.ts';

const data = ['--data', 'service'];

firstTier.it('prints a new key alone, which the service knows until it is revoked', async () => {
  const night = nightWith({});
  const keys = (...args: string[]) => night.start('keys', ...args, ...data);
  const added = await keys(
    'add',
    'Render box 2',
    '--kind',
    'worker',
    '--endpoint',
    'a',
    '--endpoint',
    'b',
  ).exits(0, /^nr_[\w-]{43}\n$/);
  expect(statSync(night.path('service')).mode & 0o777).toBe(0o700);
  expect(added.stderr).toContain('A new worker key, Render box 2, for a, b of the service in service:');
  expect(added.stderr).toContain("revoke it with `nightrender keys revoke 'Render box 2' --data service`.");

  const store = new KeyStore(night.path('service/keys.sqlite'), { now: Date.now });
  const find = () => store.find(added.stdout.trim());
  expect(find()).toMatchObject({ name: 'Render box 2', kind: 'worker', endpoints: ['a', 'b'] });
  await keys('list')
    .exits(0, /^NAME .*\nRender box 2 +worker +a, b +2\d{3}-\S+ \S+ +2\d{3}-\S+ \S+ +0 +0\.0\n$/)
    .warnsOnly('');
  await keys('revoke', 'render BOX 2')
    .exits(0, /^The key Render box 2 was revoked at \S+ \S+\./)
    .warnsOnly('');
  expect(find()).toBeUndefined();
  await keys('list').prints(/( +2\d{3}-\S+ \S+){2} +0 +0\.0 +2\d{3}-\S+ \S+\n$/);
  store.close();
});

firstTier.it('says which folder it has created, if no service has used it', async () => {
  const night = nightWith({});
  const add = async (name: string) => (await night.start('keys', 'add', name, ...data)).stderr;
  expect(await add('first')).toContain(
    'Created keys.sqlite in service, which no service has used yet; start one there with `nightrender serve --data service`.\n',
  );
  expect(await add('second')).not.toContain('Created');
});

firstTier.it('says the same as JSON, as the published schema has it', async () => {
  const night = nightWith({});
  const keys = (...args: string[]) => night.start('keys', ...args, ...data, '--json');
  const added = await keys('add', 'laptop');
  const [first] = linesOf(added);
  const { key, ...facts } = first ?? {};
  expect([key, added.stderr]).toEqual([expect.stringMatching(/^nr_/), '']);
  const id = z.string().parse(facts['id']);
  const of = { id, name: 'laptop', kind: 'client', endpoints: null, createdAt: facts['createdAt'] };
  const listed = await keys('list').lines();
  const revoked = await keys('revoke', id).lines();
  expect(listed).toMatchObject([{ type: 'key-listed', ...of, lastUsedAt: null, revokedAt: null }]);
  expect(revoked).toMatchObject([
    { type: 'key-revoked', ...of, revokedAt: expect.stringMatching(/Z$/) as string },
  ]);
  const refused = await keys('add', 'Laptop').lines();
  expect(refused).toMatchObject([{ type: 'refused', exitCode: 2 }]);
  for (const line of [first ?? {}, ...listed, ...revoked, ...refused]) checkLine(line);
});

firstTier.it('gives a client key a quota and a price', async () => {
  const night = nightWith({});
  const keys = (...args: string[]) => night.start('keys', ...args, ...data);
  await keys('add', 'night', '--quota', '10h', '--price', '0.0004').exits(0);
  await keys('list').prints(/ 0 +0\.0 +0\.00 USD +10h a day\n$/);
  const [listed = {}] = await keys('list', '--json').lines();
  expect(listed).toMatchObject({ quotaMs: 36_000_000, price: 0.0004 });
  checkLine(listed);
  await keys('add', 'day', '--quota', 'much', '--price', '1 USD').fails(
    2,
    /--quota.*"much" is not accepted; expected a time from 1s/s,
    /--price.*"1 USD" is not accepted; expected USD a second/s,
  );
});

firstTier.it('gives a client key limits', async () => {
  const night = nightWith({});
  const keys = (...args: string[]) => night.start('keys', ...args, ...data);
  const given = ['--requests-per-second', '20', '--max-queued', '100', '--max-queued-bytes', '100MB'];
  await keys('add', 'guest', ...given, '--max-held', '5').exits(0);
  const [listed = {}] = await keys('list', '--json').lines();
  expect(listed).toMatchObject({
    limits: { requestsPerSecond: 20, maxQueued: 100, maxQueuedBytes: 100_000_000, maxHeld: 5 },
  });
  checkLine(listed);
  expect((await keys('list')).stdout.replaceAll(/\s+/g, ' ')).toContain(
    '20 requests a second, 100 jobs queued, 100MB queued, 5 requests at once',
  );
  await keys('add', 'other', '--max-queued', 'many').fails(
    2,
    /--max-queued.*"many" is not accepted; expected a whole number/s,
  );
  await keys('list', '--max-held', '5').warns('--max-held: applies to new keys only');
});

firstTier.it('limits a client key to its own jobs', async () => {
  const night = nightWith({});
  const keys = (...args: string[]) => night.start('keys', ...args, ...data);
  await keys('add', 'customer', '--own-jobs')
    .exits(0)
    .warns('A new client key, customer, for its own jobs at all endpoints of');
  await keys('list').prints(/^customer +client, own jobs +all endpoints /m);
  const [listed = {}] = await keys('list', '--json').lines();
  expect(listed).toMatchObject({ name: 'customer', hasOwnJobsOnly: true });
  checkLine(listed);
  await keys('add', 'farm', '--kind', 'worker', '--own-jobs').fails(
    2,
    /--own-jobs.*only client keys can be limited to their own jobs/s,
  );
  await keys('list', '--own-jobs').warns('--own-jobs: applies to new keys only');
});

firstTier.it('rotates a key, and makes a read-only key that expires', async () => {
  const night = nightWith({});
  const keys = (...args: string[]) => night.start('keys', ...args, ...data);
  const first = (
    await keys('add', 'customer', '--own-jobs', '--read-only', '--expires', '90d')
  ).stdout.trim();
  const rotated = await keys('rotate', 'CUSTOMER', '--overlap', '1d', '--expires', '180d')
    .exits(0, /^nr_[\w-]{43}\n$/)
    .warns('It works at once; the earlier text works for 1d more.');
  const store = new KeyStore(night.path('service/keys.sqlite'), { now: Date.now });
  onTestFinished(() => store.close());
  expect(store.find(rotated.stdout.trim())).toEqual(store.find(first));
  await keys('list').prints(/^customer +client, own jobs, read-only +all endpoints /m);
  const [listed = {}] = await keys('list', '--json').lines();
  expect(listed).toMatchObject({ isReadOnly: true, expiresAt: expect.stringMatching(/Z$/) as string });
  checkLine(listed);
  expect(night.read('service/audit.jsonl')).toMatch(
    /^\{[^\n]*"key":null,"from":null,"what":"keys add","name":"customer","kind":"client","account":"[^\n]*\n[^\n]*"what":"keys rotate"[^\n]*\n$/,
  );
  const [line = {}] = await keys('rotate', 'customer', '--json').lines();
  checkLine(line);
  expect([line['key'], store.find(first)]).toEqual([expect.stringMatching(/^nr_/), undefined]);
  for (const [args, text] of [
    [['add', 'x', '--overlap', '1d'], '--overlap: applies to rotated keys only, not to add'],
    [['revoke', 'x', '--expires', '1d'], '--expires: applies to new and rotated keys only, not to revoke'],
    [
      ['add', 'x', '--expires', 'soon'],
      '--expires: "soon" is not accepted; expected a time from 1m to 3650d',
    ],
    [['rotate', 'customer', '--overlap', '1y'], '--overlap: "1y" is not accepted'],
    [['add', 'x', '--kind', 'worker', '--read-only'], '--read-only: a worker key cannot be read-only'],
    [['rotate', 'custom'], '"custom" is not a key; did you mean "customer"?'],
  ] as const) {
    const refused = await keys(...args);
    expect([args, refused.code, refused.stderr]).toEqual([args, 2, expect.stringContaining(text)]);
  }
});

it('makes keys in one new folder from several terminals at once', async () => {
  const night = nightWith({});
  const names = isWhole ? ['a', 'b', 'c', 'd', 'e', 'f'] : ['a', 'b'];
  const added = await Promise.all(names.map((name) => night.built('keys', 'add', name, ...data)));
  expect(added.map(({ code, stderr }) => (code === 0 ? '' : stderr))).toEqual(names.map(() => ''));
  const listed = await night.start('keys', 'list', ...data, '--json').lines();
  expect(new Set(listed.map(({ name }) => name))).toEqual(new Set(names));
});

firstTier.it.each([
  [['add'], 'Specify a key: nightrender keys add NAME.'],
  [['ad', 'x'], '"ad" is not an action; did you mean add?'],
  [['add', 'laptop'], 'the name laptop is taken; choose another name'],
  [['add', 'Büro', '--kind', 'boss', '--endpoint', '/'], /^"Büro" cannot.*\n--kind: "boss".*\n--endpoint: /],
  [
    ['add', 'x', '--kind', 'client', '--kind', 'worker'],
    '--kind: client and worker is given; expected one text',
  ],
  [['list', 'laptop'], 'list takes no name, but "laptop" is given'],
  [['list', '--kind', 'admin'], '--kind: applies to new keys only, not to list'],
  [['revoke'], 'Specify a key: nightrender keys revoke NAME.'],
  [['revoke', 'latop'], '"latop" is not a key; did you mean "laptop"?'],
  [['revoke', 'bench'], '"bench" is not a key; `nightrender keys list --data service` names all'],
])('refuses %j with a message', async (args, said) => {
  const night = nightWith({});
  await night.start('keys', 'add', 'laptop', ...data);
  const { stderr } = await night
    .start('keys', ...args, ...data)
    .exits(2)
    .printsOnly('');
  if (typeof said === 'string') expect(stderr).toContain(said);
  else expect(stderr).toMatch(said);
});

firstTier.it('creates nothing when it only reads, nor for an invalid key', async () => {
  const night = nightWith({});
  const keys = (...args: string[]) => night.start('keys', ...args, ...data);
  await keys('list')
    .exits(0)
    .printsOnly('')
    .warnsOnly('No keys in service; create one with `nightrender keys add NAME --data service`.\n');
  await keys('revoke', 'laptop').exits(2);
  await keys('add', 'Büro').exits(2);
  expect(night.has('service')).toBe(false);
});

rest.it('leaves a key store unchanged if it is damaged or another program holds it', async () => {
  const night = nightWith({});
  await night.start('keys', 'add', 'laptop', ...data);
  const path = night.path('service/keys.sqlite');
  const other = new Sqlite(path);
  other.exec('BEGIN IMMEDIATE');
  const held = await night.start('keys', 'add', 'desk', ...data);
  other.close();
  expect([held.code, held.stdout]).toEqual([11, '']);
  expect(held.stderr).toContain('keys.sqlite; try again when it has finished.\n');
  writeFileSync(path, 'no keys at all, but for long enough to be read as the head of a file');
  await night.start('keys', 'list', ...data).fails(2, 'keys.sqlite is damaged, or not an SQLite file');
  expect(readFileSync(path, 'utf8')).toMatch(/^no keys at all/);
});
