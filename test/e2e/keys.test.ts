/** Promise: keys are made, listed, rotated and revoked from the command line; each is told once and kept nowhere. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { KeyStore } from '../../src/service/keys/key-store.ts';
import { isWhole, rest } from '../fakes/tier.ts';
import { checkLine } from '../terminal/check-line.ts';
import { linesOf, folderWith, inProcess, nightrender } from './cli.ts';

const data = ['--data', 'service'];

it('prints a new key alone, which the service knows until it is revoked', async () => {
  const cwd = folderWith({});
  const keys = (...args: string[]) => inProcess(['keys', ...args, ...data], { cwd });
  const added = await keys('add', 'Render box 2', '--kind', 'worker', '--endpoint', 'a', '--endpoint', 'b');
  expect(added.code, added.stderr).toBe(0);
  expect(added.stdout).toMatch(/^nr_[\w-]{43}\n$/);
  expect(statSync(join(cwd, 'service')).mode & 0o777).toBe(0o700);
  expect(added.stderr).toContain('A new worker key, Render box 2, for a, b of the service in service:');
  expect(added.stderr).toContain("revoke it with `nightrender keys revoke 'Render box 2' --data service`.");

  const store = new KeyStore(join(cwd, 'service/keys.sqlite'), { now: Date.now });
  const find = () => store.find(added.stdout.trim());
  expect(find()).toMatchObject({ name: 'Render box 2', kind: 'worker', endpoints: ['a', 'b'] });
  const listed = await keys('list');
  expect([listed.code, listed.stderr]).toEqual([0, '']);
  expect(listed.stdout).toMatch(
    /^NAME .*\nRender box 2 +worker +a, b +2\d{3}-\S+ \S+ +2\d{3}-\S+ \S+ +0 +0\.0\n$/,
  );
  const revoked = await keys('revoke', 'render BOX 2');
  expect([revoked.code, revoked.stderr]).toEqual([0, '']);
  expect(revoked.stdout).toMatch(/^The key Render box 2 was revoked at \S+ \S+\./);
  expect(find()).toBeUndefined();
  expect((await keys('list')).stdout).toMatch(/( +2\d{3}-\S+ \S+){2} +0 +0\.0 +2\d{3}-\S+ \S+\n$/);
  store.close();
});

it('says which folder it has begun, where no service was', async () => {
  const cwd = folderWith({});
  const add = async (name: string) => (await inProcess(['keys', 'add', name, ...data], { cwd })).stderr;
  expect(await add('first')).toContain(
    'Created keys.sqlite in service, which no service has used yet; start one there with `nightrender serve --data service`.\n',
  );
  expect(await add('second')).not.toContain('Created');
});

it('says the same as JSON, as the published schema has it', async () => {
  const cwd = folderWith({});
  const keys = (...args: string[]) => inProcess(['keys', ...args, ...data, '--json'], { cwd });
  const added = await keys('add', 'laptop');
  const [first] = linesOf(added);
  const { key, ...facts } = first ?? {};
  expect([key, added.stderr]).toEqual([expect.stringMatching(/^nr_/), '']);
  const id = z.string().parse(facts['id']);
  const of = { id, name: 'laptop', kind: 'client', endpoints: null, createdAt: facts['createdAt'] };
  const listed = linesOf(await keys('list'));
  const revoked = linesOf(await keys('revoke', id));
  expect(listed).toMatchObject([{ type: 'key-listed', ...of, lastUsedAt: null, revokedAt: null }]);
  expect(revoked).toMatchObject([
    { type: 'key-revoked', ...of, revokedAt: expect.stringMatching(/Z$/) as string },
  ]);
  const refused = linesOf(await keys('add', 'Laptop'));
  expect(refused).toMatchObject([{ type: 'refused', exitCode: 2 }]);
  for (const line of [first ?? {}, ...listed, ...revoked, ...refused]) checkLine(line);
});

it('gives a client key a quota and a price', async () => {
  const cwd = folderWith({});
  const keys = (...args: string[]) => inProcess(['keys', ...args, ...data], { cwd });
  expect((await keys('add', 'night', '--quota', '10h', '--price', '0.0004')).code).toBe(0);
  expect((await keys('list')).stdout).toMatch(/ 0 +0\.0 +0\.00 USD +10h a day\n$/);
  const [listed = {}] = linesOf(await keys('list', '--json'));
  expect(listed).toMatchObject({ quotaMs: 36_000_000, price: 0.0004 });
  checkLine(listed);
  const refused = await keys('add', 'day', '--quota', 'much', '--price', '1 USD');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/--quota.*"much" is not accepted; expected a time from 1s/s);
  expect(refused.stderr).toMatch(/--price.*"1 USD" is not accepted; expected USD a second/s);
});

it('gives a client key limits', async () => {
  const cwd = folderWith({});
  const keys = (...args: string[]) => inProcess(['keys', ...args, ...data], { cwd });
  const given = ['--requests-per-second', '20', '--max-queued', '100', '--max-queued-bytes', '100MB'];
  expect((await keys('add', 'guest', ...given, '--max-held', '5')).code).toBe(0);
  const [listed = {}] = linesOf(await keys('list', '--json'));
  expect(listed).toMatchObject({
    limits: { requestsPerSecond: 20, maxQueued: 100, maxQueuedBytes: 100_000_000, maxHeld: 5 },
  });
  checkLine(listed);
  expect((await keys('list')).stdout.replaceAll(/\s+/g, ' ')).toContain(
    '20 requests a second, 100 jobs queued, 100MB queued, 5 requests at once',
  );
  const refused = await keys('add', 'other', '--max-queued', 'many');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/--max-queued.*"many" is not accepted; expected a whole number/s),
  ]);
  expect((await keys('list', '--max-held', '5')).stderr).toContain('--max-held: applies to new keys only');
});

it('limits a client key to its own jobs', async () => {
  const cwd = folderWith({});
  const keys = (...args: string[]) => inProcess(['keys', ...args, ...data], { cwd });
  const added = await keys('add', 'customer', '--own-jobs');
  expect([added.code, added.stderr]).toEqual([
    0,
    expect.stringContaining('A new client key, customer, for its own jobs at all endpoints of'),
  ]);
  expect((await keys('list')).stdout).toMatch(/^customer +client, own jobs +all endpoints /m);
  const [listed = {}] = linesOf(await keys('list', '--json'));
  expect(listed).toMatchObject({ name: 'customer', hasOwnJobsOnly: true });
  checkLine(listed);
  const refused = await keys('add', 'farm', '--kind', 'worker', '--own-jobs');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/--own-jobs.*only client keys can be limited to their own jobs/s),
  ]);
  expect((await keys('list', '--own-jobs')).stderr).toContain('--own-jobs: applies to new keys only');
});

it('rotates a key, and makes one that only looks and expires', async () => {
  const cwd = folderWith({});
  const keys = (...args: string[]) => inProcess(['keys', ...args, ...data], { cwd });
  const first = (
    await keys('add', 'customer', '--own-jobs', '--read-only', '--expires', '90d')
  ).stdout.trim();
  const rotated = await keys('rotate', 'CUSTOMER', '--overlap', '1d', '--expires', '180d');
  expect([rotated.code, rotated.stdout]).toEqual([0, expect.stringMatching(/^nr_[\w-]{43}\n$/)]);
  expect(rotated.stderr).toContain('It works at once; the earlier text works for 1d more.');
  const store = new KeyStore(join(cwd, 'service/keys.sqlite'), { now: Date.now });
  onTestFinished(() => store.close());
  expect(store.find(rotated.stdout.trim())).toEqual(store.find(first));
  expect((await keys('list')).stdout).toMatch(/^customer +client, own jobs, read-only +all endpoints /m);
  const [listed = {}] = linesOf(await keys('list', '--json'));
  expect(listed).toMatchObject({ isReadOnly: true, expiresAt: expect.stringMatching(/Z$/) as string });
  checkLine(listed);
  expect(readFileSync(join(cwd, 'service/audit.jsonl'), 'utf8')).toMatch(
    /^\{[^\n]*"key":null,"from":null,"what":"keys add","name":"customer","kind":"client","account":"[^\n]*\n[^\n]*"what":"keys rotate"[^\n]*\n$/,
  );
  const again = await keys('rotate', 'customer', '--json');
  const [line = {}] = linesOf(again);
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
  const cwd = folderWith({});
  const names = isWhole ? ['a', 'b', 'c', 'd', 'e', 'f'] : ['a', 'b'];
  const added = await Promise.all(names.map((name) => nightrender(['keys', 'add', name, ...data], { cwd })));
  expect(added.map(({ code, stderr }) => (code === 0 ? '' : stderr))).toEqual(names.map(() => ''));
  const listed = linesOf(await inProcess(['keys', 'list', ...data, '--json'], { cwd }));
  expect(new Set(listed.map(({ name }) => name))).toEqual(new Set(names));
});

it.each([
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
])('refuses %j in words', async (args, said) => {
  const cwd = folderWith({});
  await inProcess(['keys', 'add', 'laptop', ...data], { cwd });
  const { code, stdout, stderr } = await inProcess(['keys', ...args, ...data], { cwd });
  expect([code, stdout]).toEqual([2, '']);
  if (typeof said === 'string') expect(stderr).toContain(said);
  else expect(stderr).toMatch(said);
});

it('makes nothing where it only looks, nor for a key that cannot be', async () => {
  const cwd = folderWith({});
  const keys = (...args: string[]) => inProcess(['keys', ...args, ...data], { cwd });
  const listed = await keys('list');
  expect([listed.code, listed.stdout]).toEqual([0, '']);
  expect(listed.stderr).toBe(
    'No keys in service; create one with `nightrender keys add NAME --data service`.\n',
  );
  expect((await keys('revoke', 'laptop')).code).toBe(2);
  expect((await keys('add', 'Büro')).code).toBe(2);
  expect(existsSync(join(cwd, 'service'))).toBe(false);
});

rest.it('leaves a damaged key book as it is, and one that another program holds', async () => {
  const cwd = folderWith({});
  await inProcess(['keys', 'add', 'laptop', ...data], { cwd });
  const path = join(cwd, 'service/keys.sqlite');
  const other = new Sqlite(path);
  other.exec('BEGIN IMMEDIATE');
  const held = await inProcess(['keys', 'add', 'desk', ...data], { cwd });
  other.close();
  expect([held.code, held.stdout]).toEqual([11, '']);
  expect(held.stderr).toContain('keys.sqlite; try again when it has finished.\n');
  writeFileSync(path, 'no keys at all, but for long enough to be read as the head of a file');
  const { code, stderr } = await inProcess(['keys', 'list', ...data], { cwd });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('keys.sqlite is damaged, or not an SQLite file'),
  ]);
  expect(readFileSync(path, 'utf8')).toMatch(/^no keys at all/);
});
