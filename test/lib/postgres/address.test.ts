/**
 * Promise: messages show the host of a database URL and never its user or password. The driver gets the URL
 * without our own parameters.
 */
import { expect, it } from 'vitest';
import { isPostgresAddress, parsePostgresAddress } from '../../../src/lib/postgres/postgres.ts';

it.each([
  ['postgres://me:secret@db.example:5433/night', 'db.example:5433/night'],
  ['postgresql://db.example/night', 'db.example/night'],
  ['postgres:///night?host=/run/postgresql', '/run/postgresql/night'],
  ['postgres:///night', 'localhost/night'],
])('%s is shown as %s', (text, shown) => {
  expect(parsePostgresAddress(text, [])).toEqual({ url: text, shown, own: new Map() });
});

it('keeps our own parameters from the driver, and leaves the rest', () => {
  const { url, own } = parsePostgresAddress('postgres://h/d?schema=night&sslmode=require', [
    'schema',
    'other',
  ]);
  expect([url, [...own]]).toEqual(['postgres://h/d?sslmode=require', [['schema', 'night']]]);
});

it.each([
  ['postgres://h/d', true],
  ['postgresql://me:secret@h:5432/d', true],
  ['postgres://h', false],
  ['postgres://h/', false],
  ['postgres://h:port/d', false],
  ['postgres://h/a b', false],
  ['mysql://h/d', false],
  ['./checkpoint', false],
])('%s is a database address: %s', (text, is) => {
  expect(isPostgresAddress(text)).toBe(is);
});
