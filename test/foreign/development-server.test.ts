/** Promise: the development server of the public Python SDK renders a batch. */
import { expect, it } from 'vitest';
import { nightWith, pipeline, scenes } from '../e2e/cli.ts';
import { blackPicture } from '../e2e/stand-ins.ts';
import { unusedPort } from '../e2e/listen-on-loopback.ts';
import { lack, startWorker } from './sdk.ts';

it.skipIf(lack !== undefined)(
  `renders a batch${lack === undefined ? '' : ` (skipped: ${lack})`}`,
  async () => {
    const port = await unusedPort();
    const url = `http://127.0.0.1:${port}`;
    startWorker({ HANDLER: 'plain' }, ['--rp_serve_api', '--rp_api_port', String(port)]);
    await expect.poll(() => fetch(url).then(({ status }) => status)).toBe(200);
    const input = `{return: {image: ${await blackPicture()}}, scene: "{{ scene }}"}`;
    const file = pipeline(url, `concurrency: 1\ninput: ${input}`);
    const dev = file.replace(/ {2}apiKey: .*\n/, '  version: dev\n');
    const night = nightWith({ 'pipeline.yaml': dev, 'scenes.csv': scenes(3) });
    const run = await night.run();
    expect([run.code, run.stderr]).toEqual([0, run.stderr]);
    const unknown = await fetch(`${url}/status/test-1`, { method: 'POST' });
    expect(await unknown.json()).toEqual({ id: 'test-1', status: 'FAILED', error: 'Job ID not found' });
  },
);
