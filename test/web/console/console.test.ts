/**
 * Promise: the console admits only owners of a key, keeps what was typed and shown, and works on a phone, by keyboard
 * and in dark mode, whatever names contain.
 */
import type { Browser, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noBrowser, openBrowser } from '../browser.ts';
import { endpointForm, endpointView, jobView, keyView, workerView } from '../console-things.ts';
import { look, enter, go, labelOfFocus, overflow, field, tabTo } from '../console-visit.ts';
import { contrasts } from '../contrast.ts';
import { consoleKey, startFakeConsole } from '../fake-console.ts';

const phone = { width: 360, height: 740 };
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

describe.skipIf(noBrowser !== undefined)('the console in a browser (skipped if there is no chromium)', () => {
  it('admits only the owner of a key, and explains how to begin', async () => {
    const service = await startFakeConsole();
    const { page, troubles } = await look(browser, service);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Enter a key.').waitFor();
    await page.getByLabel('API key').fill('another');
    await page.keyboard.press('Enter');
    await page.getByText('This key is not good here.').waitFor();
    expect(await page.getByLabel('API key').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('API key').fill(consoleKey);
    await page.keyboard.press('Enter');
    await page.getByText('No endpoints yet').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(service.asked).toContain('DELETE session');
    expect(await page.getByLabel('API key').inputValue()).toBe('');
    expect(troubles()).toEqual([]);
  });

  it('keeps the typed text if the session has ended', async () => {
    const service = await startFakeConsole();
    const { page } = await enter(browser, service, '#/new');
    await field(page, 'Name').fill('Half typed');
    service.isKnown = false;
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await dialog.getByLabel('API key').fill(consoleKey);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await field(page, 'Name').inputValue()).toBe('Half typed');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.getByRole('heading', { level: 1, name: 'Half typed' }).waitFor();
  });

  it('shows since when the service does not answer, keeps its data, and connects again', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const { page } = await enter(browser, service);
    await page.getByRole('link', { name: 'Painter' }).waitFor();
    service.isAway = true;
    const away = page.getByText(/^The service has not answered since \d\d:\d\d; trying again\./);
    await away.waitFor();
    expect(await page.getByRole('link', { name: 'Painter' }).count()).toBe(1);
    service.isAway = false;
    await away.waitFor({ state: 'detached' });
  });

  it('sends no requests while the page is hidden', async () => {
    const service = await startFakeConsole();
    const { page } = await enter(browser, service);
    const onTheWay = new Set<Request>();
    page.on('request', (request) => onTheWay.add(request));
    page.on('requestfinished', (request) => onTheWay.delete(request));
    page.on('requestfailed', (request) => onTheWay.delete(request));
    // Requests that are on their way already arrive before the next one.
    const { length } = service.asked;
    await expect.poll(() => service.asked.length).toBeGreaterThan(length);
    await page.evaluate<void>(
      "Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })",
    );
    // A poll in progress ends. The next one would come after two seconds.
    await page.clock.runFor(3_000);
    await expect.poll(() => onTheWay.size).toBe(0);
    const before = service.asked.length;
    await page.clock.runFor(60_000);
    expect(service.asked.length).toBe(before);
    await page.evaluate<void>(
      "delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))",
    );
    await expect.poll(() => service.asked.length).toBeGreaterThan(before);
  });

  it('is used by keyboard alone: to sign in, create an endpoint, submit a job, and go back', async () => {
    const service = await startFakeConsole();
    const { page, troubles } = await look(browser, service);
    await expect.poll(() => labelOfFocus(page)).toBe('API key');
    await page.keyboard.type(`${consoleKey}\n`);
    await page.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor();
    await tabTo(page, 'New endpoint');
    await page.keyboard.press('Enter');
    await page.locator('h1:focus', { hasText: 'New endpoint' }).waitFor();
    await tabTo(page, 'Name');
    await page.keyboard.type('By hand\n');
    await page.locator('h1:focus', { hasText: 'By hand' }).waitFor();
    await tabTo(page, 'Scene', 'TEXTAREA');
    await page.keyboard.type('Hills');
    await tabTo(page, 'Submit job');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'The job you submitted' }).waitFor();
    await tabTo(page, 'All about job job-1');
    await page.keyboard.press('Enter');
    await page.locator('h1:focus', { hasText: 'Job job-1' }).waitFor();
    await tabTo(page, 'Cancel job');
    await page.keyboard.press('Enter');
    await page.getByText('Cancelled').waitFor();
    expect(await page.title()).toBe('Job job-1 · nightrender');
    expect(troubles()).toEqual([]);
  });

  it('shows names, logs and errors as text, and fits a phone with 200 workers and 10,000 jobs', async () => {
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
    service.overview.file = marks;
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
    const { page, troubles } = await enter(browser, service, '', phone);
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
    await expect.poll(() => page.locator('.workers > li').count()).toBe(200);
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
    service.overview.endpoints.push(
      endpointView(endpointForm({ id: '3d', name: '3D', quickDeploy: 'scene-renderer' })),
    );
    service.jobs.push(jobView({ id: 'job-1', status: 'FAILED', error: 'Broken.', endedAt: Date.now() }));
    service.keys.push(keyView({ name: 'one' }), keyView({ name: 'two', revokedAt: Date.now() }));
    const { page } = await enter(browser, service, '', { colors });
    for (const place of ['', 'new', 'endpoints/painter', 'endpoints/3d', 'jobs', 'jobs/job-1', 'keys']) {
      await go(page, `#/${place}`);
      await page.locator('main h1').waitFor();
      await expect.poll(() => page.getByText('Looking …').count()).toBe(0);
      const make = page.getByRole('button', { name: 'Create endpoint' });
      if ((await make.count()) > 0) {
        await make.click();
        await page.getByText('expected a name of at most').waitFor();
      }
      const faint = (await contrasts(page)).filter(({ ratio }) => ratio < 4.5);
      expect([place, faint]).toEqual([place, []]);
    }
  });
});
