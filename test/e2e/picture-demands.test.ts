/** Promise: with `check.blank` and `check.minSide` a whole picture that is not as asked for never counts as saved. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startBlackService } from './instant-service.ts';
import { inProcess, newBatch, testKey } from './cli.ts';

it.each([
  ['check: {}', 0, 'saved', 1],
  ['check: {blank: true}', 3, 'blank-picture', 0],
  ['check: {minSide: 49}', 3, 'picture-too-small', 0],
  ['check: {minSide: 48}', 0, 'saved', 1],
])('%s: exit code %d, the report says %s', async (check, exitCode, word, pictures) => {
  const more = `${check}\nretry: {attempts: 2, firstWait: 1ms, longestWait: 1ms}`;
  const cwd = newBatch(await startBlackService(), 1, more);
  const env = { NIGHTRENDER_API_KEY: testKey };
  const { code, stderr } = await inProcess(['run', 'pipeline.yaml'], { cwd, env });
  expect(code, stderr).toBe(exitCode);
  expect(readFileSync(join(cwd, 'out/report/results.csv'), 'utf8')).toContain(word);
  const images = join(cwd, 'out/images');
  expect(existsSync(images) ? readdirSync(images) : []).toHaveLength(pictures);
});
