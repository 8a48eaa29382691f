/**
 * Promise: batches whose run was killed with version 0.2.0 continue with every later version, and nothing is
 * submitted twice.
 *
 * Each folder of `test/fixtures/half-done` was made by 0.2.0 as of 2026-11-23 (`sweep`, `lines`: 2026-11-26),
 * and killed with 3 of 8 scenes saved and 2 jobs in flight. `submitted.json` has the inputs sent until then.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { sampled } from '../fakes/tier.ts';
import { HttpService } from '../fakes/http-service.ts';
import { endpoint } from '../fakes/world.ts';
import { nightWith, root, testKey } from './cli.ts';
import { completed } from './stand-ins.ts';

/** Address of the jobs in flight: a loopback address of Linux that no other test uses. */
const address = { host: '127.77.14.1', port: 41477 };
const canListen = await listens();

const batches = ['csv', 'jsonl', 'matrix', 'files', 'unicode', 'sweep', 'lines'];

it.skipIf(!canListen).each(sampled(batches, { ms: 300 }))(
  'a run continues with a batch of %s (skipped if 127.77.14.1 is not loopback)',
  async (name) => {
    const night = nightWith({});
    execFileSync('tar', ['-xzf', join(root, `test/fixtures/half-done/${name}.tgz`), '-C', night.cwd]);
    const before = JSON.parse(night.read('submitted.json')) as JsonObject[];
    const images = night.path('out/images');
    const saved = picturesIn(images);
    expect([before.length, saved.size]).toEqual([5, 3]);
    const service = await startService(before);

    const checkpoint = readFileSync(night.path('out/checkpoint.sqlite'));
    const listed = await night.list('--json');
    expect(listed.stdout.match(/"state":"saved"/g), listed.stderr).toHaveLength(3);
    await night.status('--json').prints('"active":2,"saved":3');
    expect(readFileSync(night.path('out/checkpoint.sqlite')).equals(checkpoint)).toBe(true);

    const env = { NIGHTRENDER_API_KEY: testKey };
    await night.with({ env }).run().exits(0);
    const all = service.inputs.map((input) => JSON.stringify(input));
    expect([all.length, new Set(all).size]).toEqual([8, 8]);
    const polled = service.jobs.all.filter(({ polls }) => polls > 0).map(({ id }) => id);
    expect(polled).toEqual(expect.arrayContaining(['first-4', 'first-5']));
    const pictures = picturesIn(images);
    expect(pictures.size).toBe(8);
    // Rows without ids keep the kind of names with which the batch began.
    const byHash = (files: Iterable<string>): boolean =>
      [...files].every((file) => /^[0-9a-f]{12}\.png$/.test(file));
    expect(byHash(pictures.keys())).toBe(byHash(saved.keys()));
    for (const [file, bytes] of saved) expect(pictures.get(file)?.equals(bytes), file).toBe(true);

    await night.with({ env }).run().exits(0);
    expect(service.inputs).toHaveLength(8);
  },
);

/**
 * Starts a service that also knows the earlier jobs. Each job is completed with its own picture when it is
 * polled.
 */
async function startService(before: JsonObject[]): Promise<HttpService> {
  const pictures = await Promise.all(Array.from({ length: 8 }, (_, i) => pictureOf(idOf(i + 1))));
  let jobs = 0;
  const plan = () => {
    const output = [{ rendered_image: pictures[jobs++], seed: 1 }];
    return { queueMs: 0, executionMs: 0, end: () => completed(output) };
  };
  const service = new HttpService({ plan, idOf });
  for (const input of before) service.jobs.accept(endpoint, input, plan());
  service.server.listen(address);
  await once(service.server, 'listening');
  onTestFinished(() => {
    service.server.closeAllConnections();
    service.server.close();
  });
  return service;
}

/** Returns the id of the nth job: for the first five as version 0.2.0 received them. */
function idOf(number: number): string {
  return number <= 5 ? `first-${number}` : `second-${number - 5}`;
}

async function pictureOf(id: string): Promise<string> {
  const pixels = Buffer.from(`${id} `.repeat(300)).subarray(0, 24 * 24 * 3);
  const picture = sharp(pixels, { raw: { width: 24, height: 24, channels: 3 } });
  return (await picture.png().toBuffer()).toString('base64');
}

function picturesIn(folder: string): Map<string, Buffer> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.png'));
  return new Map(files.map((file) => [file, readFileSync(join(folder, file))]));
}

async function listens(): Promise<boolean> {
  const server = createServer().listen({ ...address, port: 0 });
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return isListening;
}
