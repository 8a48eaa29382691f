/** Promise: the command that the gallery shows for a filter lists the same scenes. */
import { expect, it } from 'vitest';
import type { GalleryData } from '../../../src/runner/core/gallery-data.ts';
import { compileCondition } from '../../../src/runner/core/condition.ts';
import { everything, listCommand, type Query } from '../../../src/web/gallery/query.ts';

const columns = [
  { name: 'art style', choices: [['ink', 1]] },
  { name: 'state', choices: null },
  { name: 'score', choices: null, range: { least: 0, most: 1, from: 0, width: 1, bins: [1, 1] } },
];
const data = { batch: 'night.yaml', columns } as unknown as GalleryData;

it.each<[Partial<Query>, string | undefined]>([
  [{}, undefined],
  [{ order: 'down:2' }, undefined],
  [{ text: 'sea' }, undefined],
  [{ lost: 'ignored_words', state: 'saved' }, undefined],
  [{ mark: 'star' }, '--ids starred.txt'],
  [{ state: 'saved', columns: { 2: '0.6..' } }, `--where 'state = "saved" and score >= 0.6'`],
  [{ mark: 'reject', columns: { 2: '..0.6' } }, `--ids rejected.txt --where 'score <= 0.6'`],
  [{ kind: 'job-failed' }, `--where 'kind = "job-failed" and state != "saved"'`],
  [{ columns: { 1: '=a "red" fox' } }, `--where 'manifest.state = "a ""red"" fox"'`],
  [
    { columns: { 0: 'ink "x"', 1: 'Up north' } },
    `--where '[art style] = "ink ""x""" and manifest.state contains "up" and manifest.state contains "north"'`,
  ],
])('%j is %s', (query, options) => {
  const command = listCommand({ ...everything, ...query }, data);
  expect(command).toBe(options && `nightrender list night.yaml ${options}`);
  const kept = listCommand({ ...everything, ...query }, data, true);
  expect(kept).toBe(command?.replace('--ids starred.txt', '--starred'));
  const [, where] = /--where '(.*)'/.exec(command ?? '') ?? [];
  const known = ['art style', 'manifest.state', 'state', 'kind', 'score'];
  if (where !== undefined) expect(() => compileCondition(where, known)).not.toThrow();
});
