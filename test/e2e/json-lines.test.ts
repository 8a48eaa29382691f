/** Promise: `--json` output of every command matches the published JSON Schema. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { checkLine } from '../terminal/check-line.ts';
import { type Night, nightWith, pipeline, scenes, small } from './cli.ts';

/** Returns the types of the lines of a command, after checking each line. */
async function typesOf(night: Night, ...args: string[]): Promise<Set<unknown>> {
  const { stdout } = await night.start(...args, '--json');
  const lines = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as JsonObject]));
  for (const line of lines) checkLine(line);
  return new Set(lines.map(({ type }) => type));
}

it('the JSON lines of run, verify, retry, cancel and report match the schema', async () => {
  const more = `${small}retry: {attempts: 1}\ncheck: {minSide: 100000}\npricing: {perSecond: 1}\n`;
  const night = nightWith({
    'scenes.csv': scenes(3),
    'pipeline.yaml': pipeline('local', small),
    'strict.yaml': pipeline('local', more),
    'wrong.yaml': 'concurency: 3\n',
  });
  const failed = await typesOf(night, 'run', 'strict.yaml', '--stats');
  for (const type of ['run-started', 'plan-made', 'attempt-failed', 'run-stats', 'run-ended'])
    expect(failed).toContain(type);
  expect(await typesOf(night, 'retry', 'strict.yaml')).toEqual(new Set(['scene-put-back', 'put-back']));
  expect(await typesOf(night, 'run', 'pipeline.yaml')).toContain('scene-saved');
  rmSync(night.path('out/images/s1.png'));
  expect(await typesOf(night, 'verify', 'pipeline.yaml')).toEqual(new Set(['picture-missing', 'verified']));
  expect(await typesOf(night, 'cancel', 'pipeline.yaml')).toContain('cancel-ended');
  expect(await typesOf(night, 'report', 'pipeline.yaml')).toEqual(new Set(['files-written']));
  expect(await typesOf(night, 'run', 'wrong.yaml')).toEqual(new Set(['refused']));
});

it('the JSON lines of plan, status and explain match the schema', async () => {
  const more = `${small}retry: {attempts: 1}\npricing: {perSecond: 1}\nlimits: {jobs: 3}\n`;
  const night = nightWith({
    'scenes.csv': `${scenes(3)}s0,twice\n`,
    'pipeline.yaml': pipeline('local', `${more}skipBadRows: true\n`).replace(
      'dir: out',
      'dir: out\n  metadata: embed',
    ),
    'strict.yaml': pipeline('local', `${more}skipBadRows: true\ncheck: {minSide: 100000}\n`),
  });
  const look = async (): Promise<void> => {
    for (const type of ['plan', 'status'])
      expect(await typesOf(night, type, 'pipeline.yaml')).toEqual(new Set([type]));
    expect(await typesOf(night, 'explain', 'pipeline.yaml', 's1')).toEqual(new Set(['scene-story']));
  };
  expect(await typesOf(night, 'plan', 'pipeline.yaml', '--check', '--limit', '2')).toEqual(new Set(['plan']));
  await night.start('run', 'strict.yaml', '--limit', '1');
  await look();
  await night.run();
  await look();
  const picture = readdirSync(night.path('out/images')).find((file) => file.endsWith('.png')) ?? '';
  expect(await typesOf(night, 'explain', join('out/images', picture))).toEqual(new Set(['picture']));
});
