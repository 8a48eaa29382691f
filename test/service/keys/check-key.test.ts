/** Promise: an invalid name, scope or limit of a key is rejected, with all problems at once. */
import { assert as assertProperty, property, string } from 'fast-check';
import { expect, it } from 'vitest';
import { checkKey } from '../../../src/service/keys/check-key.ts';
import { client } from './key-harness.ts';

it.each(['a', 'laptop', 'Render box 2', 'ci_nightly.v2', '_-.', 'x'.repeat(64)])(
  'a key may have the name %j',
  (name) => {
    expect(checkKey(client(name))).toEqual([]);
  },
);

it.each([
  ['', 'the key needs a name'],
  ['x'.repeat(65), 'the name has 65 characters; expected at most 64'],
  ['Büro', 'cannot be a name'],
  ['a  b', 'cannot be a name'],
  [' a', 'cannot be a name'],
  ['-a', 'cannot be a name'],
  ['a\nb', 'cannot be a name'],
  ['a/b', 'cannot be a name'],
  ['key-0123456789ABCDEF', 'looks like the id of a key'],
])('refuses the name %j', (name, said) => {
  const problems = checkKey(client(name));
  expect(problems).toEqual([{ field: 'name', text: expect.stringContaining(said) as string }]);
});

it('a key may have no name that a terminal or a shell would interpret', () => {
  assertProperty(
    property(string({ unit: 'binary', maxLength: 70 }), (name) => {
      const isTaken = checkKey(client(name)).length === 0;
      expect(isTaken && /^-|[^ -~]|["'`$\\;&|<>*?()/]| {2}|^ | $/.test(name)).toBe(false);
    }),
  );
});

it.each([
  [[], 'at least one endpoint'],
  [['a', 'no such/id'], '"no such/id" cannot be the id of an endpoint'],
  [Array.from({ length: 101 }, (_, i) => `e${i}`), '101 endpoints are named; expected at most 100'],
])('a key may not have the endpoints %j', (endpoints, said) => {
  const problems = checkKey({ name: 'a', kind: 'worker', endpoints });
  expect(problems).toEqual([{ field: 'endpoints', text: expect.stringContaining(said) as string }]);
});

it.each([
  ['quota', '0h', 'client', '"0h" is not accepted; expected a time from 1s to 1000d'],
  ['quota', '10', 'client', '"10" is not accepted'],
  ['quota', '10h', 'worker', 'only client keys have a quota or a price'],
  ['price', '-1', 'client', '"-1" is not accepted; expected USD a second'],
  ['price', '1e3', 'client', '"1e3" is not accepted'],
  ['requestsPerSecond', '0', 'client', '"0" is not accepted; expected a whole number from 1 to 1000000'],
  ['maxQueued', '1.5', 'client', '"1.5" is not accepted'],
  ['maxQueuedBytes', '10', 'client', '"10" is not accepted; expected a size from 1kB'],
  ['maxHeld', '5', 'worker', 'only client keys have limits'],
  ['price', '0.0004', 'admin', 'only client keys have a quota or a price'],
])('refuses the %s %j for a %s key', (field, given, kind, said) => {
  const problems = checkKey({ name: 'a', kind, endpoints: null, [field]: given });
  expect(problems).toEqual([{ field, text: expect.stringContaining(said) as string }]);
});

it('all problems of a key are reported at once', () => {
  const problems = checkKey({ name: '', kind: 'boss', endpoints: [] });
  expect(problems.map(({ field }) => field)).toEqual(['name', 'kind', 'endpoints']);
  expect(problems[1]?.text).toBe('"boss" is not a kind of key; expected one of client, worker, admin');
});

it('only client keys can be limited to their own jobs', () => {
  const asked = { name: 'a', endpoints: null, ownJobs: true };
  const problems = ['client', 'worker', 'admin'].map((kind) => checkKey({ ...asked, kind }));
  const text = 'only client keys can be limited to their own jobs';
  expect(problems).toEqual([[], [{ field: 'ownJobs', text }], [{ field: 'ownJobs', text }]]);
});
