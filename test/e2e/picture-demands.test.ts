/** Promise: with `check.blank` and `check.minSide`, a picture that does not meet them never counts as saved. */
import { existsSync, readdirSync } from 'node:fs';
import sharp, { type Sharp } from 'sharp';
import { expect, it } from 'vitest';
import { blackPicture, startStandIn, startInstantService } from './stand-ins.ts';
import { nightOf, testKey } from './cli.ts';

it.each([
  ['check: {}', 0, 'saved', 1],
  ['check: {blank: true}', 3, 'blank-picture', 0],
  ['check: {minSide: 49}', 3, 'picture-too-small', 0],
  ['check: {minSide: 48}', 0, 'saved', 1],
])('%s: exit code %d, the report says %s', async (check, exitCode, word, pictures) => {
  const more = `${check}\nretry: {attempts: 2, firstWait: 1ms, longestWait: 1ms}`;
  const night = nightOf((await startStandIn()).url, 1, more);
  const env = { NIGHTRENDER_API_KEY: testKey };
  await night.with({ env }).run().exits(exitCode);
  expect(night.read('out/report/results.csv')).toContain(word);
  const images = night.path('out/images');
  expect(existsSync(images) ? readdirSync(images) : []).toHaveLength(pictures);
});

it.each<[string, string, (black: Sharp) => Promise<Buffer>, number, string]>([
  [
    'a TIFF',
    '',
    (black) => black.tiff().toBuffer(),
    1,
    'a TIFF, and only PNG, JPEG, WebP and AVIF can be saved',
  ],
  ['a cut PNG', '', async (black) => (await black.png().toBuffer()).subarray(0, -9), 2, 'it is cut'],
])('%s is paid for as often as another job may bring another picture', async (_, more, make, jobs, words) => {
  const picture = await make(sharp(Buffer.from(await blackPicture(), 'base64')));
  const service = await startInstantService([{ rendered_image: picture.toString('base64') }]);
  const night = nightOf(service.url, 1, `${more}\nretry: {attempts: 3, firstWait: 1ms, longestWait: 1ms}`);
  const env = { NIGHTRENDER_API_KEY: testKey };
  const { code, stderr } = await night.with({ env }).run();
  expect([code, service.inputs.length], stderr).toEqual([3, jobs]);
  expect(night.read('out/report/results.csv')).toContain(words);
});
