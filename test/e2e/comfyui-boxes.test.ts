/**
 * Promise: several machines with ComfyUI serve one endpoint. If one fails, no job is lost, it is shown as
 * down, and it is used again once it is back.
 */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import { startComfyStandIn, type ComfyStandIn } from '../fakes/comfyui.ts';
import { emptyImage, saving } from '../fakes/comfyui-workflows.ts';
import { rest } from '../fakes/tier.ts';
import type { WorkerView } from '../../src/protocol/console-data.ts';
import { enter } from '../service/console/visit.ts';
import { type Night, nightWith, testKey } from './cli.ts';
import { Served } from './served.ts';

const jobCount = 20;
const env = { NIGHTRENDER_API_KEY: testKey };

rest.it('a run continues with the other box if one is killed, and uses it again later', async () => {
  const [steady, killed] = [await startComfyStandIn(), await startComfyStandIn()];
  killed.isHeld = true;
  const { night, service } = await serveBoxes([steady, killed], 'retries: 1');
  const run = night.with({ env }).built('run', 'pipeline.yaml');
  await expect.poll(() => [steady.accepted.length > 4, killed.accepted.length]).toEqual([true, 1]);
  kill(killed);
  const { code, stderr } = await run;
  expect(code, stderr).toBe(0);
  expect(readdirSync(night.path('out/images'))).toHaveLength(jobCount);
  expect(steady.accepted).toHaveLength(jobCount);
  const down = (workers: WorkerView[]) =>
    workers.filter(({ lastDeath }) => lastDeath?.why.startsWith(`${killed.url} does not answer`));
  await expect.poll(async () => down(await workersOf(service)).length).toBe(1);
  await restart(killed);
  await expect
    .poll(async () => (await workersOf(service)).map(({ state }) => state))
    .toEqual(['idle', 'idle']);
  const logs = (await workersOf(service)).map(({ log }) => log.at(-1));
  const lines = [steady, killed].map(({ url }) => `ComfyUI 0.3.64 at ${url}`);
  expect(new Set(logs)).toEqual(new Set(lines));
});

rest.it('a run keeps jobs in the queue while no box is there, however few attempts they have', async () => {
  const box = await startComfyStandIn();
  kill(box);
  const { night, service } = await serveBoxes([box], 'retries: 0');
  const run = night.with({ env }).program('run', 'pipeline.yaml', '--json');
  await run.event('scene-submitted');
  await expect.poll(async () => (await workersOf(service)).map(({ state }) => state)).toEqual(['unhealthy']);
  await restart(box);
  await run.finish().exits(0);
  expect(readdirSync(night.path('out/images'))).toHaveLength(jobCount);
});

async function serveBoxes(boxes: ComfyStandIn[], more: string): Promise<{ night: Night; service: Served }> {
  const urls = JSON.stringify(boxes.map(({ url }) => url));
  const night = nightWith({
    'flow.json': JSON.stringify(saving(emptyImage(1))),
    'service.yaml': `endpoints:
  - name: Boxes
    comfyui: {url: ${urls}, workflow: flow.json, set: {1.color: "{{ color }}"}}
    ${more}
`,
    'scenes.csv': `id,n\n${Array.from({ length: jobCount }, (_, n) => `s${n},${n}\n`).join('')}`,
  });
  const service = await Served.start(night.cwd, ['service.yaml'], env);
  night.write(
    'pipeline.yaml',
    `manifest: scenes.csv
endpoint: {speaks: jobs, baseUrl: "${service.url}", id: boxes, apiKey: "\${NIGHTRENDER_API_KEY}"}
input: {color: "{{ n }}"}
columns: {n: number}
output: {dir: out}
polling: {shortest: 50ms}
`,
  );
  return { night, service };
}

/** Turns the machine off. After it is back, it knows none of its former jobs. */
function kill(box: ComfyStandIn): void {
  box.server.close();
  box.restart();
}

async function restart(box: ComfyStandIn): Promise<void> {
  box.isHeld = false;
  box.server.listen(Number(new URL(box.url).port), '127.0.0.1');
  await once(box.server, 'listening');
}

/** Returns the workers as the console shows them. */
async function workersOf({ url }: Served): Promise<WorkerView[]> {
  const { endpoints } = await (await enter(url, testKey)).overview();
  return endpoints.flatMap(({ workers }) => workers);
}
