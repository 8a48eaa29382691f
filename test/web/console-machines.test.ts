/** Promise: the console shows which machines work, drains a worker, and explains how to add a machine. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noBrowser, openBrowser } from './browser.ts';
import { endpointForm, endpointView, workerView } from './console-things.ts';
import { enter, field, overflow } from './console-visit.ts';
import { startFakeConsole } from './fake-console.ts';

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => noBrowser ?? browser.close());

const gpu = (index: number) => ({
  index,
  name: 'NVIDIA GeForce RTX 4090',
  memoryBytes: 25_757_220_864,
  usedMemoryBytes: 8_100_000_000,
  driver: '550.127',
  celsius: 61,
});

const box = { host: 'attic.example', cores: 32, memoryBytes: 137_000_000_000, gpus: [gpu(0), gpu(1)] };

async function startWithMachines() {
  const service = await startFakeConsole();
  const elsewhere = { kind: 'remote', workload: 'scene', machine: box } as const;
  const workers = [
    workerView({ id: 'attic.example-gpu0-411', ...elsewhere, jobsDone: 40, busyMs: 95_000, log: ['ready'] }),
    workerView({ id: 'attic.example-gpu1-412', ...elsewhere, state: 'running', jobIds: ['job-7'] }),
    workerView({ id: 'public-worker-9', kind: 'remote' }),
  ];
  const farm = endpointForm({ id: 'farm', name: 'Farm', remote: true, workers: 0 });
  const lastDeath = { why: 'the container exited with code 3', at: Date.now() };
  service.overview.endpoints.push(endpointView(farm, { workers }));
  service.overview.endpoints.push(
    endpointView(endpointForm(), { workers: [workerView({ id: 'own-1', lastDeath })] }),
  );
  return service;
}

describe.skipIf(noBrowser !== undefined)('the console in a browser (skipped if there is no chromium)', () => {
  it('groups workers by machine, and shows what each machine has and did', async () => {
    const service = await startWithMachines();
    const { page, troubles } = await enter(browser, service, '#/machines');
    const attic = page.getByRole('article', { name: 'attic.example' });
    await attic.waitFor();
    const text = await attic.innerText();
    expect(text).toContain('32 cores · 137 GB memory');
    expect(text).toContain('8.1 GB of 25.8 GB used · 61 °C · driver 550.127');
    expect(text).toContain('40 jobs done in 1 min 35 s of work');
    expect(await page.getByRole('article').count()).toBe(3);
    const own = await page.getByRole('article', { name: 'This machine' }).innerText();
    expect(own).toMatch(/own-1[^]*ended .* ago: the container exited with code 3\./);
    for (const width of [360, 800, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await overflow(page)).toBe(0);
    }
    expect(troubles()).toEqual([]);
  });

  it('drains a worker after a confirmation', async () => {
    const service = await startWithMachines();
    const { page } = await enter(browser, service, '#/machines');
    await page.getByRole('button', { name: 'Drain worker attic.example-gpu1-412' }).click();
    const yes = page.getByRole('button', { name: 'Drain it' });
    await yes.waitFor();
    expect(service.asked.filter((what) => what.endsWith('/drain'))).toEqual([]);
    await yes.click();
    await page.getByText('draining').waitFor();
    expect(service.asked).toContain('POST endpoints/farm/workers/attic.example-gpu1-412/drain');
  });

  it('creates a key, fills in the command, and notices the new machine', async () => {
    const service = await startWithMachines();
    const { page } = await enter(browser, service, '#/machines');
    await page.getByRole('link', { name: 'Add a machine' }).click();
    await page.getByRole('button', { name: 'Create its key and command' }).click();
    await page.getByText('Give the machine a name.').waitFor();
    await field(page, 'Name of the machine').fill('cellar');
    await page.getByRole('button', { name: 'Create its key and command' }).click();
    const command = await page.getByRole('region', { name: 'On the machine' }).innerText();
    const install = await page.getByRole('region', { name: 'Installation' }).innerText();
    expect(install).toMatch(/npm install --global/);
    const key = service.keys.find(({ name }) => name === 'cellar');
    expect(key).toMatchObject({ kind: 'worker', endpoints: ['farm'] });
    expect(command).toMatch(/^export NIGHTRENDER_WORKER_KEY=\S+$/m);
    expect(command).toContain(
      `nightrender work ${new URL(service.url).origin} --endpoint farm --allow scene`,
    );
    await page.getByText('Waiting for “cellar” …').waitFor();
    const arrived = workerView({
      id: 'cellar-gpu-any-1',
      kind: 'remote',
      machine: { ...box, host: 'cellar' },
    });
    service.overview.endpoints[0]?.workers.push(arrived);
    await page.getByText('Connected: cellar').waitFor();
    await page.getByRole('link', { name: 'See all machines' }).click();
    await page.getByRole('article', { name: 'cellar' }).waitFor();
  });
});
