/**
 * Promise: the form of an endpoint has an input for every key, the service runs exactly what the form says, and errors
 * are shown beside their input.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FieldSchema } from '../../src/protocol/console-data.ts';
import { checkEndpoint } from '../../src/service/config/check-endpoint.ts';
import { endpointSchema, writtenEndpoint } from '../../src/service/config/endpoint-schema.ts';
import { workloads } from '../../src/service/workloads/workloads.ts';
import { noBrowser, openBrowser } from './browser.ts';
import { endpointView } from './console-things.ts';
import { enter, field, unfold } from './console-visit.ts';
import { startFakeConsole } from './fake-console.ts';

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => rmSync(folder, { recursive: true }));

afterAll(() => noBrowser ?? browser.close());

const folder = mkdtempSync(join(tmpdir(), 'nightrender-test-'));
writeFileSync(join(folder, 'flow.json'), '{"6": {"class_type": "Text", "inputs": {"text": ""}}}');

/** Text that is typed into the form, by workload and path. */
const right: Record<string, [path: string, text: string][]> = {
  Command: [
    ['command', `${process.execPath} 'my worker.js'`],
    ['cwd', folder],
    ['workers', '8'],
    ['workers.min', '2'],
    ['workers.idle', '5m'],
    ['executionTimeout', '20m'],
    ['ttl', '2h'],
    ['retries', '5'],
    ['maxQueued', '7'],
    ['recycle.jobs', '9'],
    ['recycle.time', '6h'],
    ['recycle.memory', '12GB'],
    ['stall', '90s'],
    ['memory', '16GB'],
    ['environment', 'MODEL=x'],
  ],
  'Container image': [
    ['image', 'acme/renderer:2'],
    ['arguments', '--init --shm-size=1g'],
    ['cpus', '2.5'],
    ['network', 'farm'],
    ['serviceUrl', 'http://172.17.0.1:4747'],
    ['capabilities', 'CHOWN SETUID'],
  ],
  Blender: [
    ['blender.program', process.execPath],
    ['blender.assets', folder],
    ['blender.scripts', folder],
    ['blender.image', 'acme/blender:4'],
  ],
  Module: [['module', 'dist/cli.js']],
  ComfyUI: [
    ['comfyui.url', 'http://box-1:8188 http://box-2:8188'],
    ['comfyui.workflow', join(folder, 'flow.json')],
    ['comfyui.set', '6.text={{ prompt }}'],
  ],
};

const wrong: [workload: string, all: [path: string, text: string][]][] = [
  [
    'Command',
    [
      ['name', ''],
      ['id', 'a b'],
      ['command', 'gone-from-path'],
      ['cwd', '/gone'],
      ['workers', '-1'],
      ['executionTimeout', '10'],
      ['ttl', 'soon'],
      ['retries', '1.5'],
      ['maxQueued', 'many'],
      ['recycle.jobs', '0'],
      ['recycle.memory', '8'],
      ['recycle.time', '0s'],
      ['stall', 'x'],
      ['memory', 'lots'],
      ['environment', 'A-B=1'],
    ],
  ],
  [
    'Container image',
    [
      ['image', 'acme'],
      ['arguments', 'init'],
      ['workers.min', '-1'],
      ['workers.idle', 'x'],
      ['cpus', '0'],
      ['network', 'none'],
      ['serviceUrl', 'box'],
      ['capabilities', 'chown'],
    ],
  ],
  ['scene-renderer', [['workers.min', '5']]],
  [
    'Blender',
    [
      ['blender.program', '/gone'],
      ['blender.assets', '/gone'],
      ['blender.scripts', '/gone'],
    ],
  ],
  ['Blender', [['blender.image', 'acme']]],
  ['Module', [['module', 'worker.py']]],
  [
    'ComfyUI',
    [
      ['comfyui.url', ''],
      ['comfyui.workflow', ''],
    ],
  ],
  [
    'ComfyUI',
    [
      ['comfyui.url', 'box'],
      ['comfyui.workflow', ''],
      ['comfyui.set', '6.text={{ a.b }}'],
    ],
  ],
];

function run(page: Page, workload: string): Promise<void> {
  return page.getByRole('radio', { name: new RegExp(`^${workload}`) }).check();
}

async function type(page: Page, all: [path: string, text: string][]): Promise<void> {
  await unfold(page);
  for (const [path, text] of all) await input(page, path).fill(text);
}

function input(page: Page, path: string) {
  return page.locator(`form [name="${path}"]`);
}

/**
 * Returns the paths of all inputs, with dots for nested keys. A range replaces the input for a single number, so
 * `workers.max` has none.
 */
function pathsOf(schema: FieldSchema, path = ''): string[] {
  const inner = schema.properties ?? schema.anyOf?.find(({ properties }) => properties)?.properties;
  const own = schema.properties === undefined ? [path] : [];
  const all = Object.entries(inner ?? {}).flatMap(([key, each]) =>
    pathsOf(each, path ? `${path}.${key}` : key),
  );
  return [...own, ...all].filter((each) => each !== 'workers.max');
}

describe.skipIf(noBrowser !== undefined)('the console in a browser (skipped if there is no chromium)', () => {
  it('has an input with a name and a hint for every key of the schema', async () => {
    const service = await startFakeConsole();
    const { page, troubles } = await enter(browser, service, '#/new');
    const found = new Set(['quickDeploy', 'remote']);
    for (const workload of ['scene-renderer', 'Blender', 'Container image', 'Command', 'Module', 'ComfyUI']) {
      await run(page, workload);
      await unfold(page);
      for (const [select, options] of Object.entries({ gpu: 'devices', on: 'slurm' }))
        if ((await input(page, select).locator(`[value=${options}]`).count()) > 0)
          await input(page, select).selectOption(options);
      const inputs = await page.locator('form :is(input, select, textarea):not([type=radio])').all();
      for (const each of inputs) {
        const described = await each.evaluate((element) =>
          (element.getAttribute('aria-describedby') ?? '')
            .split(' ')
            .map((id: string) => element.ownerDocument.getElementById(id)?.textContent ?? '')
            .join(''),
        );
        const path = (await each.getAttribute('name')) ?? '';
        expect([path, described.length > 10]).toEqual([path, true]);
        found.add(path);
      }
    }
    for (const name of workloads.flatMap(({ values }) => values?.names ?? [])) {
      // An old name that existing files may still use.
      if (name === 'painter') continue;
      await page.getByRole('radio', { name: new RegExp(`^${name}`, 'i') }).check();
    }
    await run(page, 'Workers elsewhere');
    const schema = z.toJSONSchema(endpointSchema, { io: 'input', unrepresentable: 'any' }) as FieldSchema;
    expect([...found].toSorted()).toEqual(pathsOf(schema).toSorted());
    expect(troubles()).toEqual([]);
  });

  it.each(Object.entries(right))(
    'creates an endpoint of %s with the typed settings, and shows them again',
    async (workload, all) => {
      const service = await startFakeConsole();
      const { page } = await enter(browser, service, '#/new');
      await run(page, workload);
      await field(page, 'Name').fill('Mine');
      await type(page, all);
      await page.getByRole('button', { name: 'Create endpoint' }).click();
      await page.getByRole('heading', { level: 1, name: 'Mine' }).waitFor();
      const { runs } = service;
      const written: object = runs === undefined ? {} : writtenEndpoint(runs);
      await page.getByRole('link', { name: 'Edit' }).click();
      for (const [path, text] of all) {
        expect(await input(page, path).inputValue()).toBe(
          path === 'module' ? `${process.cwd()}/${text}` : text,
        );
        expect(written).toHaveProperty(path.split('.')[0] ?? '');
      }
      await page.getByRole('button', { name: 'Save changes' }).click();
      await page.getByText('Endpoint “Mine” is changed.').waitFor();
      expect(service.runs).toEqual(runs);
    },
  );

  it('creates an endpoint on a cluster, and one with devices', async () => {
    const service = await startFakeConsole();
    const { page } = await enter(browser, service, '#/new');
    await run(page, 'Command');
    await type(page, [
      ['name', 'Mine'],
      ['command', 'worker'],
    ]);
    await input(page, 'quickStart').uncheck();
    await input(page, 'on').selectOption('Slurm');
    await input(page, 'on.slurm').fill('--gres=gpu:1 gpu');
    const make = page.getByRole('button', { name: 'Create endpoint' });
    await make.click();
    await page.getByText('Expected an option of sbatch').waitFor();
    await input(page, 'on.slurm').fill('--gres=gpu:1 --time=8:00:00');
    await make.click();
    await page.getByRole('heading', { level: 1, name: 'Mine' }).waitFor();
    expect(service.runs?.on?.slurm).toEqual(['--gres=gpu:1', '--time=8:00:00']);
    await page.getByRole('link', { name: 'Edit' }).click();
    await run(page, 'Module');
    await input(page, 'module').fill('dist/cli.js');
    await input(page, 'gpu').selectOption('devices');
    await input(page, 'gpu.devices').fill('0, GPU-1');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Endpoint “Mine” is changed.').waitFor();
    expect(service.runs).toMatchObject({ gpu: { devices: ['0', 'GPU-1'] } });
    expect(service.runs).not.toHaveProperty('on');
  });

  it.each(wrong)('shows the error at each field of %s', async (workload, all) => {
    const service = await startFakeConsole();
    const { page } = await enter(browser, service, '#/new');
    await run(page, workload);
    await field(page, 'Name').fill('Mine');
    await type(page, all);
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.locator('form [aria-invalid=true]:focus').waitFor();
    const told = await page.locator('form [aria-invalid=true]').evaluateAll((inputs) =>
      inputs.map((each) => {
        const id = each.getAttribute('aria-describedby')?.split(' ').at(-1) ?? '';
        const said = each.ownerDocument.getElementById(id)?.textContent ?? '';
        return `${each.getAttribute('name') ?? ''}: ${said.replace(/^(A-B: )?(expected) .*$/, '$2')}`;
      }),
    );
    expect(told.toSorted()).toEqual(all.map(([path]) => `${path}: expected`).toSorted());
    expect(await page.locator('form .problems').count()).toBe(0);
    expect(service.runs).toBeUndefined();
  });

  it('folds settings that are seldom needed, shows their values, and opens the ones with errors', async () => {
    const service = await startFakeConsole();
    const { page } = await enter(browser, service, '#/new');
    const limits = page.locator('details', { hasText: 'Limits of jobs' });
    expect(await input(page, 'retries').isVisible()).toBe(false);
    expect(await limits.locator('summary').innerText()).toMatch(/Execution time-out: 10m · .*Retries: 2/);
    await limits.locator('summary').click();
    await input(page, 'retries').fill('7');
    await limits.locator('summary').click();
    expect(await limits.locator('summary').innerText()).toMatch(/Retries: 7/);
    await unfold(page);
    await input(page, 'environment').fill('TOKEN=x\nMODEL=y');
    await input(page, 'stall').fill('soon');
    await page.locator('details').evaluateAll((all) => all.forEach((each) => each.removeAttribute('open')));
    const variables = page.locator('details', { hasText: 'Environment' }).locator('summary');
    expect(await variables.innerText()).toMatch(/Variables: 2 lines/);
    await field(page, 'Name').fill('Mine');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.locator('[name=stall][aria-invalid=true]:focus').waitFor();
    expect(await input(page, 'retries').isVisible()).toBe(false);
  });

  it('has an input for a key that the page does not know', async () => {
    const service = await startFakeConsole();
    const later = {
      colour: { type: 'string', description: 'the colour of its light' },
      maxHeat: { type: 'object', properties: { degrees: { type: 'integer', title: 'Degrees' } } },
      isWarm: { type: 'boolean', description: 'whether it is warm' },
    };
    service.fields.workloads[0]?.cards.push({ title: 'New', isFolded: false, fields: Object.entries(later) });
    const { page } = await enter(browser, service, '#/new');
    await field(page, 'Name').fill('Mine');
    await field(page, 'Colour').fill('amber');
    await field(page, 'Degrees').fill('40');
    await page.getByRole('checkbox', { name: 'Is warm' }).check();
    await page.getByText('The colour of its light.').waitFor();
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.locator('form .problem', { hasText: 'unknown field' }).first().waitFor();
    const sent = service.sent.get('POST endpoints');
    expect(sent).toMatchObject({ colour: 'amber', maxHeat: { degrees: '40' }, isWarm: true });
  });

  it('keeps settings that only service.yaml had, whatever else is changed', async () => {
    const service = await startFakeConsole();
    const given = {
      name: 'Old',
      quickDeploy: 'scene-renderer',
      workers: { min: 1, max: 4, idle: '5m' },
      recycle: { jobs: 200, time: '6h' },
      stall: '5m',
    };
    const context = {
      others: [],
      env: {},
      folder,
      maxQueued: 9,
      publicUrlExpected: undefined,
      hasPrograms: true,
      before: undefined,
    };
    const checked = checkEndpoint(given, context);
    if ('problems' in checked) throw new Error(JSON.stringify(checked.problems));
    service.overview.endpoints.push(endpointView(writtenEndpoint(checked.settings)));
    const { page } = await enter(browser, service, '#/endpoints/old/edit');
    await field(page, 'Name').fill('New');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Endpoint “New” is changed.').waitFor();
    expect(service.runs).toEqual({ ...checked.settings, name: 'New' });
  });
});
