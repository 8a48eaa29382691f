/** Promise: after a setting is fixed, the same command saves what was paid for, also without the service. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { blackPicture, startInstantService } from './stand-ins.ts';
import { inProcess, newBatch, testKey } from './cli.ts';

it('saves pictures from kept answers that the service has forgotten, and tells what waited for which setting', async () => {
  const picture = await blackPicture();
  const service = await startInstantService({ before: { a: picture }, after: { b: picture }, echo: testKey });
  const cwd = newBatch(service.url, 3);
  const env = { NIGHTRENDER_API_KEY: testKey };
  const run = () => inProcess(['run', 'pipeline.yaml'], { cwd, env });

  const first = await run();
  expect(first.code, first.stderr).toBe(10);
  expect(first.stdout).toMatch(/waiting +3 paid results for `output`; kept here/);
  expect(first.stdout).toContain('Nothing is lost: once that is fixed, the same command resumes.');
  const kept = readdirSync(join(cwd, 'out/kept-answers'));
  expect(kept).toHaveLength(3);
  const status = await inProcess(['status', 'pipeline.yaml'], { cwd, env });
  expect(status.stdout).toMatch(/waiting +3 paid results for `output`, 3 kept here: no picture was found/);
  const explained = await inProcess(['explain', 'pipeline.yaml', 's0'], { cwd, env });
  expect(explained.stdout).toContain('its job is done, and its result waits for `output`');

  service.jobs.all.splice(0);
  const file = join(cwd, 'pipeline.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('dir: out', 'dir: out\n  image: after.b'));
  const second = await run();
  expect(second.code, second.stdout + second.stderr).toBe(0);
  expect(readdirSync(join(cwd, 'out/images'))).toHaveLength(3);
  expect(readdirSync(join(cwd, 'out/kept-answers'))).toEqual([]);
  expect(service.jobs.all).toEqual([]);
});
