/**
 * Promise: the console can be used by keyboard, with a screen reader and by touch: landmarks, labels, focus and sizes.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noBrowser, openBrowser } from './browser.ts';
import { endpointForm, endpointView, failedWebhook, jobView, keyView, workerView } from './console-things.ts';
import { enter, field, go, look, textOfFocus } from './console-visit.ts';
import { startFakeConsole, type FakeConsole } from './fake-console.ts';

const places = [
  '',
  'new',
  'endpoints/painter',
  'endpoints/painter/edit',
  'jobs',
  'jobs/job-1',
  'keys',
  'none',
];

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => noBrowser ?? browser.close());

async function fullService(): Promise<FakeConsole> {
  const service = await startFakeConsole();
  const workers = [workerView({ id: 'w1', lastDeath: { why: 'it left', at: Date.now() }, log: ['bye'] })];
  const settings = endpointForm({ environment: { A: '1' } });
  service.overview.endpoints.push(endpointView(settings, { workers, trouble: 'Broken.' }));
  service.jobs.push(jobView({ id: 'job-1', status: 'FAILED', error: 'Broken.', endedAt: Date.now() }));
  service.keys.push(keyView({ name: 'one' }));
  service.webhooks = { givenUp: 1, waiting: 0, webhooks: [failedWebhook({ job: 'job-1' })] };
  return service;
}

async function arriveAt(page: Page, place: string): Promise<void> {
  await go(page, `#/${place}`);
  await page.locator('main h1').waitFor();
  await expect.poll(() => page.getByText('Looking …').count()).toBe(0);
}

describe.skipIf(noBrowser !== undefined)('the console in a browser (skipped if there is no chromium)', () => {
  it('has landmarks, heading levels without gaps, and a name for every control', async () => {
    const { page } = await enter(browser, await fullService());
    for (const place of places) {
      await arriveAt(page, place);
      expect(await page.getByRole('main').count()).toBe(1);
      expect(await page.getByRole('navigation', { name: 'Console' }).count()).toBe(1);
      const found = await page.evaluate<{
        levels: number[];
        nameless: string[];
        leadingNowhere: string[];
      }>(`({
        levels: [...document.querySelectorAll('h1, h2, h3, h4')].map((each) => Number(each.tagName[1])),
        nameless: [...document.querySelectorAll('input, select, textarea, button, a, [role=group], [role=region]')]
          .filter((each) => !(each.labels?.length || each.ariaLabel || each.textContent.trim() || each.getAttribute('aria-labelledby')))
          .map((each) => each.outerHTML),
        leadingNowhere: [...document.querySelectorAll('[aria-describedby], [aria-labelledby]')]
          .flatMap((each) => (each.getAttribute('aria-describedby') ?? each.getAttribute('aria-labelledby')).split(' '))
          .filter((id) => document.getElementById(id) === null),
      })`);
      const gaps = found.levels.filter((level, index) => level > (found.levels[index - 1] ?? 0) + 1);
      expect([place, found.levels.filter((level) => level === 1).length, gaps]).toEqual([place, 1, []]);
      expect([place, found.nameless, found.leadingNowhere]).toEqual([place, [], []]);
    }
  });

  it('has no control on a phone that is too small for a finger', async () => {
    const { page } = await enter(browser, await fullService(), '', {
      width: 360,
      height: 740,
      hasTouch: true,
    });
    for (const place of places) {
      await arriveAt(page, place);
      const small = await page.evaluate<string[]>(`
        [...document.querySelectorAll('button, select, textarea, input, summary, .button, nav a, .option, .choice')]
          .filter((each) => each.checkVisibility() && !each.matches('label input'))
          .filter((each) => { const { width, height } = each.getBoundingClientRect(); return Math.min(width, height) < 36; })
          .map((each) => each.outerHTML.slice(0, 80))
      `);
      expect([place, small]).toEqual([place, []]);
    }
  });

  it('keeps the focus nearby if the pressed button disappears', async () => {
    const service = await fullService();
    const { page } = await look(browser, service);
    await page.getByLabel('API key').fill('the-key-of-the-test');
    await page.keyboard.press('Enter');
    await page.locator('h1:focus', { hasText: 'Endpoints' }).waitFor();

    await arriveAt(page, 'jobs/job-1');
    const actions = page.getByRole('group', { name: 'Job actions' });
    await actions.getByRole('button', { name: 'Retry job' }).press('Enter');
    await actions.getByRole('button', { name: 'Cancel job' }).waitFor();
    await expect.poll(() => actions.evaluate((group) => group.matches(':focus'))).toBe(true);
    await page.keyboard.press('Tab');
    expect(await textOfFocus(page)).toBe('Cancel job');

    await arriveAt(page, 'endpoints/painter');
    await field(page, 'Scene').fill('hills');
    const submit = page.getByRole('button', { name: 'Submit job' });
    await submit.press('Enter');
    await page.getByRole('region', { name: 'The job you submitted' }).waitFor();
    expect(await submit.evaluate((button) => button.matches(':focus'))).toBe(true);

    await arriveAt(page, 'keys');
    await page.getByRole('button', { name: 'Revoke key one' }).press('Enter');
    await page.getByRole('button', { name: 'Revoke it' }).press('Enter');
    await page.getByText('revoked', { exact: true }).waitFor();
    await expect.poll(() => page.getByRole('article').evaluate((key) => key.matches(':focus'))).toBe(true);
  });
});
