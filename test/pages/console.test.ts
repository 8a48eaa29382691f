/** Promise: the console makes, shows, changes and removes endpoints, jobs and keys, on a phone and by keyboard, whatever names say. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { noBrowser, openBrowser, openPage, type PageOptions } from './browser.ts';
import { endpointForm, endpointView, jobView, keyView, workerView } from './console-things.ts';
import { consoleKey, startFakeConsole, type FakeConsole } from './fake-console.ts';
import { contrasts } from './contrast.ts';

const phone = { width: 360, height: 740 };
const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGNkYGBgYGBgYmBgYGBgAAAAVgAH8P0V9wAAAABJRU5ErkJggg==';
const hostile = [
  '<img src=x onerror="document.title=1">',
  '</script><script>document.title="taken"</script>',
  'a \u202Efox\u202C & "quoted" \u{1F98A}',
  'wide'.repeat(200),
];

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => noBrowser ?? browser.close());

describe.skipIf(noBrowser !== undefined)('in a browser (skipped where there is no chromium)', () => {
  it('lets in who has the key, and says how to begin', async () => {
    const service = await startFakeConsole();
    const { page, troubles } = await look(service);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Give a key.').waitFor();
    await page.getByLabel('API key').fill('another');
    await page.keyboard.press('Enter');
    await page.getByText('This key is not good here.').waitFor();
    expect(await page.getByLabel('API key').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('API key').fill(consoleKey);
    await page.keyboard.press('Enter');
    await page.getByText('Nothing takes jobs here yet').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(service.asked).toContain('DELETE session');
    expect(await page.getByLabel('API key').inputValue()).toBe('');
    expect(troubles()).toEqual([]);
  });

  it('makes an endpoint by quick deploy, with an id out of its name', async () => {
    const service = await startFakeConsole();
    const { page, troubles } = await enter(service, '#/new');
    await page.getByRole('radio', { name: /scene-renderer/ }).check();
    await field(page, 'Name').fill('Mein Größter (2)');
    expect(await field(page, 'Id').inputValue()).toBe('mein-gro-ter-2');
    await page.getByLabel('GPU configuration').selectOption('24 GB');
    await field(page, 'Workers').fill('4');
    await page.getByRole('button', { name: 'Make endpoint' }).click();
    await page.getByRole('heading', { level: 1, name: 'Mein Größter (2)' }).waitFor();
    await page.getByText('Endpoint “Mein Größter (2)” is made.').waitFor();
    expect(service.sent.get('POST endpoints')).toEqual(
      endpointForm({
        id: 'mein-gro-ter-2',
        name: 'Mein Größter (2)',
        workload: { kind: 'prebuilt', name: 'scene-renderer' },
        workers: 4,
        gpu: { label: '24 GB' },
      }),
    );
    expect(troubles()).toEqual([]);
  });

  it('says beside each field of a custom deployment what is wrong with it, and leads to the first', async () => {
    const service = await startFakeConsole();
    const { page } = await enter(service, '#/new');
    await page.getByRole('radio', { name: /Container image/ }).check();
    await field(page, 'Memory').fill('lots');
    await field(page, 'Retries').fill('-1');
    const make = page.getByRole('button', { name: 'Make endpoint' });
    await make.click();
    await page.getByText('Give a whole number, not “-1”.').waitFor();
    await expect.poll(() => labelOfFocus(page)).toBe('Retries');
    await field(page, 'Retries').fill('5');
    await make.click();
    await page.getByText('Give it a name.').waitFor();
    await expect.poll(() => labelOfFocus(page)).toBe('Name');
    expect(await problemOf(page, 'Image')).toBe('Not an image.');
    expect(await problemOf(page, 'Memory')).toBe('Not a size such as 8GB.');

    await field(page, 'Name').fill('Mine');
    await field(page, 'Image').fill('acme/renderer:2');
    await field(page, 'Further arguments').fill(`--label 'a b' --shm-size 1g`);
    await field(page, 'Memory').fill('8GB');
    await field(page, 'CPUs').fill('2.5');
    await page.getByLabel('GPU configuration').selectOption('devices');
    await field(page, 'GPU devices').fill('0, 1');
    await page.getByRole('button', { name: 'Add a variable' }).click();
    await page.keyboard.type('PATH');
    await page.keyboard.press('Tab');
    await page.keyboard.type('/bin');
    await make.click();
    await page.getByText('PATH is the service’s own.').waitFor();
    await page.getByLabel('name of variable 1').fill('MODEL');
    await make.click();
    await page.getByRole('heading', { level: 1, name: 'Mine' }).waitFor();
    expect(service.sent.get('POST endpoints')).toEqual(
      endpointForm({
        id: 'mine',
        name: 'Mine',
        workload: {
          kind: 'image',
          image: 'acme/renderer:2',
          arguments: ['--label', 'a b', '--shm-size', '1g'],
        },
        workers: 1,
        gpu: { devices: ['0', '1'] },
        memory: '8GB',
        cpus: 2.5,
        environment: { MODEL: '/bin' },
        retries: 5,
      }),
    );
  });

  it('changes an endpoint, and removes it after a question that names it', async () => {
    const service = await startFakeConsole();
    const command = { kind: 'command' as const, command: ['python3', 'my worker.py'], cwd: null };
    const form = endpointForm({ workload: command, environment: { A: '1' }, gpu: { label: 'a big one' } });
    service.overview.endpoints.push(endpointView(form));
    const { page, troubles } = await enter(service);
    await page.getByRole('link', { name: 'Painter' }).click();
    await page.getByRole('link', { name: 'Edit' }).click();
    expect(await field(page, 'Command').inputValue()).toBe("python3 'my worker.py'");
    await field(page, 'Name').fill('Painter two');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Endpoint “Painter two” is changed.').waitFor();
    expect(service.sent.get('PUT endpoints/painter')).toEqual({ ...form, name: 'Painter two' });

    const remove = page.getByRole('button', { name: 'Remove' });
    await remove.click();
    const question = page.getByRole('dialog', { name: 'Remove endpoint “Painter two”?' });
    await question.waitFor();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    expect(await remove.evaluate((button) => button.matches(':focus'))).toBe(true);
    expect(service.overview.endpoints).toHaveLength(1);
    await remove.click();
    await question.getByRole('button', { name: 'Remove it' }).click();
    await page.getByText('Endpoint “Painter two” is removed.').waitFor();
    await page.getByText('Nothing takes jobs here yet').waitFor();
    expect(troubles()).toEqual([]);
  });

  it('shows an endpoint of service.yaml without a way to change it', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView(endpointForm(), { origin: 'file' }));
    const { page } = await enter(service, '#/endpoints/painter');
    await page.getByText('It stands in service.yaml and is edited there').waitFor();
    expect(await page.getByRole('button', { name: 'Remove' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);
    await go(page, '#/endpoints/painter/edit');
    await page.getByText('stands in service.yaml and is edited there.').waitFor();
    expect(await page.getByRole('textbox').count()).toBe(0);
  });

  it('submits a job in fields or as JSON, follows it and shows its picture', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const { page, troubles } = await enter(service, '#/endpoints/painter');
    await page.getByRole('button', { name: 'Submit job' }).click();
    await page.getByText('Say what is to be rendered.').waitFor();
    await field(page, 'Scene').fill('Two hills');
    await field(page, 'Seed').fill('7');
    await page.getByRole('tab', { name: 'JSON' }).click();
    const json = field(page, 'Input');
    expect(JSON.parse(await json.inputValue())).toEqual({ scene: 'Two hills', seed: 7 });
    await json.fill('{"scene": "Two hills", "seed": 7,');
    await page.getByRole('button', { name: 'Submit job' }).click();
    await page.getByText('This is no JSON').waitFor();
    await json.fill('{"scene": "Two hills", "seed": 8, "samples": 4}');
    await page.getByRole('tab', { name: 'Scene' }).click();
    expect(await field(page, 'Seed').inputValue()).toBe('8');
    await page.getByRole('button', { name: 'Submit job' }).click();
    const followed = page.getByRole('region', { name: 'The job you submitted' });
    await followed.getByText('In the queue').waitFor();
    expect(service.sent.get('POST endpoints/painter/jobs')).toEqual({
      input: { scene: 'Two hills', seed: 8, samples: 4 },
    });
    Object.assign(service.jobs[0] ?? {}, { status: 'COMPLETED', endedAt: Date.now(), pictures: [picture] });
    await followed.getByRole('img', { name: 'Two hills' }).waitFor();
    expect(await page.evaluate<number>("document.querySelector('.followed img').naturalWidth")).toBe(2);
    expect(troubles()).toEqual([]);
  });

  it('cancels a job, retries one that failed, and says what becomes of its output', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const failed = jobView({
      id: 'job-1',
      status: 'FAILED',
      startedAt: Date.now(),
      endedAt: Date.now(),
      executionTime: 1_500,
      error: 'The worker died.',
      workerId: 'w1',
      log: ['out of memory'],
    });
    service.jobs.push(failed);
    const { page } = await enter(service, '#/jobs');
    await page.getByRole('link', { name: /Failed.*A lighthouse.*took 1\.5 s.*worker w1/s }).click();
    await page.getByText('The worker died.').waitFor();
    await page.getByText('out of memory').waitFor();
    await page.getByText(/^Input and output are deleted at \d\d:\d\d, in (29|30) min/).waitFor();
    await page.getByRole('button', { name: 'Retry job' }).click();
    await page.getByText('In the queue').waitFor();
    await page.getByRole('button', { name: 'Cancel job' }).click();
    await page.getByText('Cancelled').waitFor();
    expect(await page.getByRole('button', { name: /(Cancel|Retry) job/ }).count()).toBe(0);
    service.jobs = [];
    await page.getByText('There is no such job. Jobs are deleted 30 min after they ended.').waitFor();
  });

  it('lists jobs by status, a page at a time, and purges a queue after a question', async () => {
    const service = await startFakeConsole();
    const view = endpointView();
    view.jobs.inQueue = 60;
    service.overview.endpoints.push(view);
    service.jobs = Array.from({ length: 60 }, (_, i) =>
      jobView({ id: `job-${60 - i}`, summary: `scene ${60 - i}` }),
    );
    const { page } = await enter(service, '#/endpoints/painter');
    await expect.poll(() => page.locator('.job').count()).toBe(50);
    await page.getByRole('button', { name: 'Older' }).click();
    await expect.poll(() => page.locator('.job').count()).toBe(10);
    expect(await page.locator('.job-summary').first().innerText()).toBe('scene 10');
    await page.getByRole('button', { name: 'Newest' }).click();
    await expect.poll(() => page.locator('.job').count()).toBe(50);
    await page.getByRole('button', { name: 'Purge queue' }).click();
    await page.getByRole('dialog', { name: 'Purge the queue of “Painter”?' }).waitFor();
    await page.getByRole('button', { name: 'Purge it' }).click();
    await page.getByText('60 jobs removed from the queue.').waitFor();
    await page.getByLabel('Status').selectOption('COMPLETED');
    await page.getByText('No such jobs.').waitFor();
    await page.getByLabel('Status').selectOption('CANCELLED');
    await expect.poll(() => page.locator('.job').count()).toBe(50);
  });

  it('adds a key that is shown once, tells what each was used for, and revokes one after a question', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const usage = [
      { endpointId: 'painter', jobs: 1_200, gpuMs: 90_500 },
      { endpointId: 'other', jobs: 34, gpuMs: 1_000 },
    ];
    service.keys.push(keyView({ id: 'k1', name: 'laptop', usage }));
    const { page, troubles } = await enter(service, '#/keys');
    await page.getByText('1,234 jobs, 91.5 GPU seconds in workers').click();
    await page.getByRole('row', { name: 'painter 1,200 90.5' }).waitFor();
    await page.getByRole('button', { name: 'Add key' }).click();
    await page.getByText('Give a name.').waitFor();
    await expect.poll(() => labelOfFocus(page)).toBe('Name');
    await field(page, 'Name').fill('box two');
    await page.getByLabel('Kind').selectOption('worker');
    await page.getByLabel('only these').check();
    await page.getByRole('button', { name: 'Add key' }).click();
    await page.getByText('Choose at least one endpoint.').waitFor();
    await page.getByRole('checkbox', { name: 'Painter' }).check();
    await page.getByRole('button', { name: 'Add key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Key “box two” is made' });
    await dialog.getByText('nr_secret_of_key-7').waitFor();
    expect(service.sent.get('POST keys')).toEqual({
      name: 'box two',
      kind: 'worker',
      endpoints: ['painter'],
    });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await dialog.getByRole('button', { name: 'Copy: The new key' }).click();
    await dialog.getByText('Copied.').waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe('nr_secret_of_key-7');
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain('nr_secret');

    await page.getByRole('button', { name: 'Revoke key laptop' }).click();
    await page.getByRole('dialog', { name: 'Revoke key “laptop”?' }).waitFor();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await page.getByText('Key “laptop” is revoked.').waitFor();
    await page.getByText('revoked', { exact: true }).waitFor();
    expect(troubles()).toEqual([]);
  });

  it('keeps what was typed where the service knows the browser no more', async () => {
    const service = await startFakeConsole();
    const { page } = await enter(service, '#/new');
    await field(page, 'Name').fill('Half typed');
    service.isKnown = false;
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await dialog.getByLabel('API key').fill(consoleKey);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await field(page, 'Name').inputValue()).toBe('Half typed');
    await page.getByRole('button', { name: 'Make endpoint' }).click();
    await page.getByRole('heading', { level: 1, name: 'Half typed' }).waitFor();
  });

  it('says since when the service does not answer, keeps what it showed, and finds it again', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const { page } = await enter(service);
    await page.getByRole('link', { name: 'Painter' }).waitFor();
    service.isAway = true;
    const away = page.getByText(/^The service does not answer since \d\d:\d\d; trying again\./);
    await away.waitFor();
    expect(await page.getByRole('link', { name: 'Painter' }).count()).toBe(1);
    service.isAway = false;
    await away.waitFor({ state: 'detached' });
  });

  it('asks for nothing while it cannot be seen', async () => {
    const service = await startFakeConsole();
    const { page } = await enter(service);
    await page.evaluate<void>(
      "Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })",
    );
    // The round that was under way ends; the next would come after two seconds.
    await page.clock.runFor(3_000);
    const before = service.asked.length;
    await page.clock.runFor(60_000);
    expect(service.asked.length).toBe(before);
    await page.evaluate<void>(
      "delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))",
    );
    await expect.poll(() => service.asked.length).toBeGreaterThan(before);
  });

  it('is walked by keyboard alone: in, to a new endpoint, a job, and back', async () => {
    const service = await startFakeConsole();
    const { page, troubles } = await look(service);
    await expect.poll(() => labelOfFocus(page)).toBe('API key');
    await page.keyboard.type(`${consoleKey}\n`);
    await page.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor();
    await tabTo(page, 'New endpoint');
    await page.keyboard.press('Enter');
    await expect.poll(() => textOfFocus(page)).toBe('New endpoint');
    await tabTo(page, 'Name');
    await page.keyboard.type('By hand\n');
    await expect.poll(() => textOfFocus(page)).toBe('By hand');
    await tabTo(page, 'Scene', 'TEXTAREA');
    await page.keyboard.type('Hills');
    await tabTo(page, 'Submit job');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'The job you submitted' }).waitFor();
    await tabTo(page, 'All about job job-1');
    await page.keyboard.press('Enter');
    await expect.poll(() => textOfFocus(page)).toBe('Job job-1');
    await tabTo(page, 'Cancel job');
    await page.keyboard.press('Enter');
    await page.getByText('Cancelled').waitFor();
    expect(await page.title()).toBe('Job job-1 · nightrender');
    expect(troubles()).toEqual([]);
  });

  it('takes names, logs and errors for text, and fits a phone with them, 200 workers and 10,000 jobs', async () => {
    const service = await startFakeConsole();
    const [image = '', script = '', marks = '', wide = ''] = hostile;
    const view = endpointView(endpointForm({ name: image, environment: { [wide]: script } }), {
      trouble: script,
      workers: Array.from({ length: 200 }, (_, i) =>
        workerView({ id: `${wide}-${i}`, log: hostile, gpu: marks }),
      ),
    });
    view.jobs.inQueue = 10_000;
    service.overview.endpoints.push(view);
    service.overview.notices.push(...hostile);
    service.overview.faults = wide;
    const job = {
      summary: wide,
      error: image,
      log: hostile,
      input: JSON.stringify({ scene: script }),
      workerId: wide,
    };
    service.jobs.push(
      jobView({ id: 'job-1', status: 'FAILED', ...job }),
      jobView({ id: wide.slice(0, 120) }),
    );
    service.keys.push(keyView({ name: wide, endpoints: [wide] }), keyView({ name: image }));
    const { page, troubles } = await enter(service, '', phone);
    await page.getByRole('link', { name: image }).waitFor();
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    for (const place of [
      'endpoints/painter',
      'endpoints/painter/edit',
      'new',
      'jobs',
      'jobs/job-1',
      'keys',
    ]) {
      await go(page, `#/${place}`);
      await page.locator('main h1').waitFor();
      await expect.poll(() => page.getByText('Looking …').count()).toBe(0);
      for (const details of await page.locator('details summary').all()) await details.click();
      expect([place, await overflow(page)]).toEqual([place, 0]);
      expect(await page.locator('main img, main script').count()).toBe(0);
    }
    await go(page, '#/endpoints/painter');
    await page.getByRole('button', { name: 'Show all 200' }).click();
    await expect.poll(() => page.locator('.worker').count()).toBe(200);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog', { name: `Remove endpoint “${image}”?` }).waitFor();
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(troubles()).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('can be read in the %s', async (colors) => {
    const service = await startFakeConsole();
    const states = ['unhealthy', 'throttled', 'initializing', 'running', 'idle'] as const;
    const workers = states.map((state) => workerView({ id: state, state }));
    service.overview.endpoints.push(endpointView(endpointForm(), { workers, trouble: 'Broken.' }));
    service.overview.faults = 'faults.yaml';
    service.overview.notices.push('No GPU.');
    service.jobs.push(jobView({ id: 'job-1', status: 'FAILED', error: 'Broken.', endedAt: Date.now() }));
    service.keys.push(keyView({ name: 'one' }), keyView({ name: 'two', revokedAt: Date.now() }));
    const { page } = await enter(service, '', { colors });
    for (const place of ['', 'new', 'endpoints/painter', 'jobs', 'jobs/job-1', 'keys']) {
      await go(page, `#/${place}`);
      await page.locator('main h1').waitFor();
      await expect.poll(() => page.getByText('Looking …').count()).toBe(0);
      const make = page.getByRole('button', { name: 'Make endpoint' });
      if ((await make.count()) > 0) {
        await make.click();
        await page.getByText('Give it a name.').waitFor();
      }
      const faint = (await contrasts(page)).filter(({ ratio }) => ratio < 4.5);
      expect([place, faint]).toEqual([place, []]);
    }
  });
});

/** A page whose troubles are those beyond the refusals that a test asks for; browsers tell each of them. */
async function look(service: FakeConsole, place = '', options: PageOptions = {}) {
  const opened = await openPage(browser, {
    isAllowed: (asked) => asked.startsWith(service.url),
    ...options,
  });
  onTestFinished(() => opened.page.context().close());
  await opened.page.clock.install();
  await opened.page.goto(`${service.url}${place}`);
  const troubles = (): string[] =>
    opened.troubles.filter((text) => !/^Failed to load resource: .* (401|404|422) /.test(text));
  return { page: opened.page, troubles };
}

async function enter(service: FakeConsole, place = '', options: PageOptions = {}) {
  const looked = await look(service, place, options);
  await looked.page.getByLabel('API key').fill(consoleKey);
  await looked.page.keyboard.press('Enter');
  await looked.page.getByRole('button', { name: 'Sign out' }).waitFor();
  return looked;
}

async function go(page: Page, hash: string): Promise<void> {
  await page.evaluate<void>(`location.hash = ${JSON.stringify(hash)}`);
}

/** Pixels by which something is wider than the window. */
function overflow(page: Page): Promise<number> {
  return page.evaluate(
    "Math.max(...[...document.querySelectorAll('html, dialog')].map((each) => each.scrollWidth - each.clientWidth))",
  );
}

function labelOfFocus(page: Page): Promise<string> {
  return page.evaluate("document.activeElement.labels?.[0]?.textContent ?? ''");
}

function textOfFocus(page: Page): Promise<string> {
  return page.evaluate('document.activeElement === document.body ? "" : document.activeElement.textContent');
}

function field(page: Page, label: string) {
  return page.getByRole('textbox', { name: label, exact: true });
}

/** What the field is said to be wrong by. */
function problemOf(page: Page, label: string): Promise<string> {
  return field(page, label).evaluate((element) => {
    const id = element.getAttribute('aria-describedby')?.split(' ').at(-1) ?? '';
    return element.ownerDocument.querySelector(`[id="${id}"]`)?.textContent ?? '';
  });
}

/** Goes on with the tabulator key until it stands there, which is always to be seen. */
async function tabTo(page: Page, name: string, tag = ''): Promise<void> {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    const label = (await labelOfFocus(page)) || (await textOfFocus(page));
    if (
      label === name &&
      (tag === '' || (await page.evaluate<string>('document.activeElement.tagName')) === tag)
    )
      return;
  }
  throw new Error(`the tabulator key does not lead to “${name}”`);
}
