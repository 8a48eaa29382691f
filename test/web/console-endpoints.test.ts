/**
 * Promise: the console creates, shows, changes and removes endpoints, and shows errors beside the field that causes
 * them.
 */
import { spawnSync } from 'node:child_process';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderWith } from '../e2e/cli.ts';
import { noBrowser, openBrowser } from './browser.ts';
import { endpointForm, endpointView, workerView } from './console-things.ts';
import { endpointTexts } from '../../src/service/config/check-endpoint.ts';
import { writtenEndpoint } from '../../src/service/config/endpoint-schema.ts';
import { enter, unfold, go, labelOfFocus, field, expectProblem } from './console-visit.ts';
import { startFakeConsole } from './fake-console.ts';

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => noBrowser ?? browser.close());

describe.skipIf(noBrowser !== undefined)('the console in a browser (skipped if there is no chromium)', () => {
  it('creates an endpoint by quick deploy, with an id made from its name', async () => {
    const service = await startFakeConsole();
    const { page, troubles } = await enter(browser, service, '#/new');
    await page.getByRole('radio', { name: /scene-renderer/ }).check();
    await field(page, 'Name').fill('Mein Größter (2)');
    expect(await field(page, 'Id').inputValue()).toBe('mein-gro-ter-2');
    await page.getByLabel('GPU configuration').selectOption('24 GB');
    await field(page, 'Workers').fill('4');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.getByRole('heading', { level: 1, name: 'Mein Größter (2)' }).waitFor();
    await page.getByText('Endpoint “Mein Größter (2)” is created.').waitFor();
    expect(service.runs && writtenEndpoint(service.runs)).toEqual(
      endpointForm({
        id: 'mein-gro-ter-2',
        name: 'Mein Größter (2)',
        quickDeploy: 'scene-renderer',
        workers: 4,
        gpu: '24 GB',
      }),
    );
    expect(troubles()).toEqual([]);
  });

  it('shows how public workers are started, each in a separate folder', async () => {
    const service = await startFakeConsole();
    const farm = endpointForm({ id: 'farm', name: 'Farm', remote: true, workers: 0 });
    service.overview.endpoints.push(endpointView(farm));
    const { page } = await enter(browser, service, '#/endpoints/farm');
    await page.getByRole('button', { name: 'Worker', exact: true }).click();
    const lines = await page.getByRole('region', { name: 'For workers elsewhere' }).innerText();
    const start = () =>
      spawnSync(
        'sh',
        ['-ec', `${lines}\npwd; ls -A; echo "$RUNPOD_SKIP_AUTO_SYSTEM_CHECKS $RUNPOD_ENDPOINT_ID"`],
        {
          cwd: folderWith({ '.runpod_jobs.pkl': 'of another' }),
          encoding: 'utf8',
        },
      ).stdout.split('\n');
    const [[folder, ...rest], [another]] = [start(), start()];
    expect([rest, folder === another]).toEqual([['true farm', ''], false]);
  });

  it('fills the form from the card of an image, and the first job from its example', async () => {
    const service = await startFakeConsole();
    service.overview.gpus = ['Snow 2000 (24 GB)'];
    const { page, troubles } = await enter(browser, service, '#/new');
    await page.getByRole('radio', { name: /^Stable Diffusion XL/ }).check();
    expect(await field(page, 'Image').inputValue()).toBe('runpod/worker-comfyui:5.5.0-sdxl');
    await page.getByRole('radio', { name: /^Qwen 2.5, 7B/ }).check();
    expect(await page.getByLabel('GPU configuration').inputValue()).toBe('24 GB');
    await field(page, 'Name').fill('Words');
    const make = page.getByRole('button', { name: 'Create endpoint' });
    await make.click();
    await expect.poll(() => labelOfFocus(page)).toBe('Address of the service');
    await expectProblem(page, 'Address of the service').toMatch(/^expected the address at which .* host$/);
    await field(page, 'Address of the service').fill('http://172.17.0.1:4747');
    await make.click();
    await page.getByRole('heading', { level: 1, name: 'Words' }).waitFor();
    expect(service.runs).toMatchObject({
      image: 'runpod/worker-v1-vllm:v2.18.1',
      gpu: '24 GB',
      serviceUrl: 'http://172.17.0.1:4747',
      environment: { MODEL_NAME: 'Qwen/Qwen2.5-7B-Instruct' },
    });
    await page.getByText(/messages: .*what was said so far/).waitFor();
    expect(JSON.parse(await field(page, 'Input').inputValue())).toHaveProperty('messages');
    await page.getByText(/-d '\{"input": \{"messages": \[\{"role": "user"/).waitFor();
    const asked = (path: string) => service.asked.filter((what) => what === `GET ${path}`).length;
    const before = asked('overview');
    await page.clock.runFor(10_000);
    await expect.poll(() => asked('overview')).toBeGreaterThan(before);
    expect(asked('catalogue')).toBe(1);
    expect(troubles()).toEqual([]);
  });

  it('shows what the machine lacks for a card, and offers the other cards', async () => {
    const service = await startFakeConsole();
    service.overview.gpus = ['Snow 2000 (8 GB)'];
    const { page } = await enter(browser, service, '#/new');
    const large = page.getByRole('radio', { name: /^Qwen 2.5, 7B/ });
    await expect.poll(() => large.isDisabled()).toBe(true);
    await page.getByText('Needs a GPU with 24 GB, and this machine has Snow 2000 (8 GB).').waitFor();
    expect(await page.getByRole('radio', { name: /^Stable Diffusion XL/ }).isEnabled()).toBe(true);
    service.overview.containerLack = 'containers cannot be run here';
    await expect
      .poll(() => page.getByRole('radio', { name: /^Stable Diffusion XL/ }).isDisabled())
      .toBe(true);
    expect(await page.getByRole('radio', { name: /^scene-renderer/ }).isEnabled()).toBe(true);
  });

  it('shows errors beside the fields of a custom deployment, and moves to the first', async () => {
    const service = await startFakeConsole();
    const { page } = await enter(browser, service, '#/new');
    await page.getByRole('radio', { name: /Container image/ }).check();
    await unfold(page);
    await field(page, 'Memory').fill('lots');
    await field(page, 'Retries').fill('-1');
    const make = page.getByRole('button', { name: 'Create endpoint' });
    await make.click();
    await page.getByText('expected a name of at most 64 characters').waitFor();
    await expect.poll(() => labelOfFocus(page)).toBe('Name');
    await expectProblem(page, 'Image').toBe(
      'expected an image such as user/name:1.0 or registry.example.com:5000/user/name:1.0',
    );
    await expectProblem(page, 'Memory').toMatch(/^expected a size from 16MB .* such as 500kB/);
    await expectProblem(page, 'Retries').toMatch(/a whole number from 0 to 100$/);
    await field(page, 'Retries').fill('5');

    await field(page, 'Name').fill('Mine');
    await field(page, 'Image').fill('acme/renderer:2');
    await field(page, 'Further arguments').fill(`--label='a b`);
    await make.click();
    await page.getByText('A quote is not closed.').waitFor();
    await field(page, 'Further arguments').fill(`--label='a b' --shm-size=1g`);
    await field(page, 'Memory').fill('8GB');
    await field(page, 'CPUs').fill('2.5');
    await field(page, 'Network').fill('host');
    await field(page, 'Capabilities').fill('CHOWN SETUID');
    await page.getByLabel('GPU configuration').selectOption('devices');
    await field(page, 'GPU devices').fill('0, 1');
    await field(page, 'Variables').fill('MODEL');
    await make.click();
    await expectProblem(page, 'Variables').toBe('“MODEL” is not NAME=value.');
    await field(page, 'Variables').fill('MODEL=a\nMODEL=b');
    await make.click();
    await page.getByText('MODEL is given twice.').waitFor();
    await field(page, 'Variables').fill('RUNPOD_POD_ID=a');
    await make.click();
    await page.getByText('RUNPOD_POD_ID: expected another name: the service sets this one itself').waitFor();
    await field(page, 'Variables').fill('MODEL=/bin\n\nexport GREETING="two\\nlines = 1"\n');
    await make.click();
    await page.getByRole('heading', { level: 1, name: 'Mine' }).waitFor();
    expect(service.runs && writtenEndpoint(service.runs)).toEqual(
      endpointForm({
        id: 'mine',
        name: 'Mine',
        image: 'acme/renderer:2',
        arguments: ['--label=a b', '--shm-size=1g'],
        workers: 1,
        gpu: { devices: ['0', '1'] },
        memory: '8GB',
        cpus: 2.5,
        network: 'host',
        capabilities: ['CHOWN', 'SETUID'],
        environment: { MODEL: '/bin', GREETING: 'two\nlines = 1' },
        retries: 5,
      }),
    );
  });

  it('changes an endpoint, and removes it after a confirmation that names it', async () => {
    const service = await startFakeConsole();
    const command = ['python3', 'my worker.py'];
    const form = endpointForm({ command, environment: { A: '1' }, gpu: 'a big one' });
    service.overview.endpoints.push(endpointView(form));
    const { page, troubles } = await enter(browser, service);
    await page.getByRole('link', { name: 'Painter' }).click();
    await page.getByRole('link', { name: 'Edit' }).click();
    expect(await field(page, 'Command').inputValue()).toBe("python3 'my worker.py'");
    await field(page, 'Name').fill('Painter two');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Endpoint “Painter two” is changed.').waitFor();
    expect(service.sent.get('PUT endpoints/painter')).toEqual(
      endpointTexts({ ...form, name: 'Painter two' }),
    );

    const remove = page.getByRole('button', { name: 'Remove' });
    await remove.click();
    const question = page.getByRole('dialog', { name: 'Remove endpoint “Painter two”?' });
    await question.waitFor();
    for (let i = 0; i < 4; i++) {
      await page.keyboard.press('Tab');
      expect(await page.evaluate<boolean>("document.activeElement.matches('body, dialog *')")).toBe(true);
    }
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    expect(await remove.evaluate((button) => button.matches(':focus'))).toBe(true);
    expect(service.overview.endpoints).toHaveLength(1);
    await remove.click();
    await question.getByRole('button', { name: 'Remove it' }).click();
    await page.getByText('Endpoint “Painter two” is removed.').waitFor();
    await page.getByText('No endpoints yet').waitFor();
    expect(troubles()).toEqual([]);
  });

  it('shows what each worker does, and for a crashed one the reason, its last output and the time of the next start', async () => {
    const service = await startFakeConsole();
    const now = Date.now();
    const log = ['loading', 'model found', 'CUDA error', 'no kernel', 'exited with code 3'];
    service.overview.endpoints.push(
      endpointView(endpointForm(), {
        workers: [
          workerView({ id: 'w-starting', state: 'initializing' }),
          workerView({ id: 'w-idle', log: ['all is well'] }),
          workerView({ id: 'w-busy', state: 'running', jobIds: ['job-7'] }),
          workerView({
            id: 'w-down',
            state: 'unhealthy',
            lastDeath: { why: 'the process exited with code 3', at: now },
            startsAt: now + 3_600_000,
            log,
          }),
          workerView({ id: 'w-again', lastDeath: { why: 'it was killed', at: now } }),
          workerView({ id: 'w-far', kind: 'remote', state: 'unhealthy', lastSeenAt: now - 120_000 }),
        ],
      }),
    );
    const { page, troubles } = await enter(browser, service, '#/endpoints/painter');
    const one = (id: string) =>
      page.getByRole('region', { name: 'Workers' }).getByRole('listitem').filter({ hasText: id });
    for (const [id, word] of Object.entries({
      starting: 'starting',
      idle: 'idle',
      busy: 'busy',
      down: 'down',
    }))
      await one(`w-${id}`).getByText(word, { exact: true }).waitFor();
    await one('w-down')
      .getByText(/^It ended .* ago: the process exited with code 3\. Another starts in (59|60) min/)
      .waitFor();
    expect(await one('w-down').locator('pre').textContent()).toBe(log.slice(1).join('\n'));
    await one('w-again')
      .getByText(/^The previous worker ended .* ago: it was killed\.$/)
      .waitFor();
    await one('w-far')
      .getByText(/^It last asked for a job 2 min .*ago\.$/)
      .waitFor();
    expect(await one('w-idle').locator('pre').count()).toBe(0);
    await page.getByRole('button', { name: '2 down' }).click();
    await expect
      .poll(() => page.getByRole('region', { name: 'Workers' }).getByRole('listitem').count())
      .toBe(2);
    await page.getByRole('button', { name: 'all 6' }).click();
    await one('w-busy').locator('summary').click();
    await one('w-busy').getByRole('link', { name: 'job-7' }).waitFor();
    expect(troubles()).toEqual([]);
  });

  it('explains for the default endpoint how to create others', async () => {
    const service = await startFakeConsole();
    service.overview.file = null;
    service.overview.endpoints.push(endpointView(endpointForm(), { origin: 'file' }));
    const { page } = await enter(browser, service);
    await page.getByText('default').waitFor();
    await go(page, '#/endpoints/painter');
    await page.getByText('nightrender init --service').waitFor();
    expect(await page.getByText('service.yaml').count()).toBe(0);
  });

  it('shows an endpoint of service.yaml without a way to change it', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView(endpointForm(), { origin: 'file' }));
    const { page } = await enter(browser, service, '#/endpoints/painter');
    await page.getByText('It is defined in service.yaml: edit that file').waitFor();
    expect(await page.getByRole('button', { name: 'Remove' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);
    await go(page, '#/endpoints/painter/edit');
    await page.getByText('Edit this endpoint in service.yaml.').waitFor();
    expect(await page.getByRole('textbox').count()).toBe(0);
  });

  it('moves neither the focus nor the page while the user types and the service answers late', async () => {
    const service = await startFakeConsole();
    const { page } = await enter(browser, service, '#/new');
    const held: (() => Promise<void>)[] = [];
    await page.route('**/api/endpoints', (route) => void held.push(() => route.continue()));
    const release = async (): Promise<void> => {
      await expect.poll(() => held.length).toBe(1);
      await held.pop()?.();
    };
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await field(page, 'Id').pressSequentially('by');
    await release();
    await page.getByText('expected a name of at most 64 characters').waitFor();
    // The focus would move within two frames.
    await page.evaluate('new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))');
    await page.keyboard.type('-hand');
    expect(await field(page, 'Id').inputValue()).toBe('by-hand');

    await field(page, 'Name').fill('Mine');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await expect.poll(() => held.length).toBe(1);
    await go(page, '#/keys');
    await field(page, 'Name').fill('half typed');
    await release();
    await page.getByText('Endpoint “Mine” is created.').waitFor();
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Keys');
    expect(await field(page, 'Name').inputValue()).toBe('half typed');
  });

  it('pauses and resumes an endpoint', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const { page } = await enter(browser, service, '#/endpoints/painter');
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    expect(service.asked.filter((what) => /pause|resume/.test(what))).toEqual([
      'POST endpoints/painter/pause',
      'POST endpoints/painter/resume',
    ]);
  });
});
