/** Promise: after a setting is fixed, the same command saves the paid results, even without the service. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { blackPicture, startInstantService } from './stand-ins.ts';
import { nightOf, testKey } from './cli.ts';

it('saves pictures from kept answers that the service has forgotten, and shows which setting each waited for', async () => {
  const picture = await blackPicture();
  const service = await startInstantService({ before: { a: picture }, after: { b: picture }, echo: testKey });
  const night = nightOf(service.url, 3);
  const env = { NIGHTRENDER_API_KEY: testKey };
  const run = () => night.with({ env }).run();

  await run().exits(
    10,
    /waiting +3 paid results for `output`; kept here/,
    'Nothing is lost: once that is fixed, the same command resumes.',
  );
  const kept = readdirSync(night.path('out/kept-answers'));
  expect(kept).toHaveLength(3);
  await night
    .with({ env })
    .status()
    .prints(/waiting +3 paid results for `output`, 3 kept here: no picture was found/);
  await night.with({ env }).explain('s0').prints('its job is done, and its result waits for `output`');

  const ids = service.jobs.all.map(({ id }) => id);
  for (const id of ids) service.jobs.remove(id);
  const file = night.path('pipeline.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('dir: out', 'dir: out\n  image: after.b'));
  const second = await run();
  expect(second.code, second.stdout + second.stderr).toBe(0);
  expect(readdirSync(night.path('out/images'))).toHaveLength(3);
  expect(readdirSync(night.path('out/kept-answers'))).toEqual([]);
  expect(service.jobs.all).toEqual([]);
});
