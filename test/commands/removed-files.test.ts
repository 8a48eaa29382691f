/** Promise: where the checkpoint or its folder is removed during a run, the last words say what is lost and what to do. */
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it, onTestFinished, vi } from 'vitest';
import { run } from '../../src/commands/run.ts';
import { tempFolder } from '../runner/config/pipeline-file.ts';
import { heard } from './heard.ts';

/** Paints every job at once; `meanwhile` happens while the first one is submitted. */
async function startService(meanwhile: () => void): Promise<string> {
  const pixels = { create: { width: 8, height: 8, channels: 3, background: 'teal' } } as const;
  const image = (await sharp(pixels).png().toBuffer()).toString('base64');
  let jobs = 0;
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    if (request.method === 'POST') {
      if (jobs === 0) meanwhile();
      jobs += 1;
      response.end(JSON.stringify({ id: `job-${jobs}`, status: 'IN_QUEUE' }));
      return;
    }
    const id = request.url?.split('/').at(-1);
    response.end(JSON.stringify({ id, status: 'COMPLETED', output: { image } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it.each([
  { gone: 'out/checkpoint.sqlite', rows: 3, inFlight: false },
  { gone: 'out/checkpoint.sqlite', rows: 1, inFlight: false },
  { gone: 'out', rows: 3, inFlight: true },
])('of $rows scenes, where $gone goes during the first', async ({ gone, rows, inFlight }) => {
  const dir = tempFolder();
  const url = await startService(() => rmSync(join(dir, gone), { recursive: true }));
  const file = join(dir, 'pipeline.yaml');
  const more = 'concurrency: 1\npolling: {shortest: 50ms}';
  writeFileSync(file, `endpoint: {baseUrl: "${url}", id: e}\noutput: {dir: out}\nmanifest: a.txt\n${more}\n`);
  writeFileSync(join(dir, 'a.txt'), ['hills\n', 'sea\n', 'moon\n'].slice(0, rows).join(''));
  vi.stubEnv('NIGHTRENDER_API_KEY', 'k');
  const { code, said } = await heard(() => run(file, {}));
  vi.unstubAllEnvs();
  expect(code).toBe(14);
  expect(said).toMatch(
    new RegExp(`${gone}\\S* was removed during the run, and the record of this batch is lost`, 'i'),
  );
  if (inFlight) expect(said).toContain('Jobs in flight (1) may still be billed');
  expect(said).toContain('put a copy back; or start the run again, with --adopt');
  expect(said).not.toMatch(/Nothing is lost|goes on|^ +at /m);
});
