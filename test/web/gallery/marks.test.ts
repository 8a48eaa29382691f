/** Promise: marks in the gallery stay in the browser, can be filtered, and become a list that `retry` reads. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Download, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noBrowser, openBrowser, openPage } from '../browser.ts';
import { smallReport } from '../gallery-report.ts';

let browser: Browser;
let folder = '';
let url = '';

beforeAll(async () => {
  if (noBrowser !== undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'gallery-marks-'));
  browser = await openBrowser();
  url = (await smallReport(folder)).url;
});

afterAll(async () => {
  if (noBrowser !== undefined) return;
  await browser.close();
  await rm(folder, { recursive: true });
});

async function opened(address = url): Promise<Page> {
  const { page } = await openPage(browser);
  await page.goto(address);
  await page.locator('.picture').nth(59).waitFor();
  return page;
}

/** Returns the ids of marked scenes with their marks. */
function marked(page: Page): Promise<string[]> {
  return page
    .locator('.marks [aria-pressed=true]')
    .evaluateAll((all) =>
      all.map((each) => `${each.parentElement?.dataset['scene']} ${each.getAttribute('aria-label')}`),
    );
}

/** Returns the ids of scenes whose pictures are outlined. */
function outlined(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`
    [...document.querySelectorAll('.pictures > li .frame')]
      .filter((frame) => getComputedStyle(frame).outlineStyle === 'solid')
      .map((frame) => frame.closest('li').dataset.scene)`);
}

async function textOf(download: Download): Promise<string> {
  return readFile(await download.path(), 'utf8');
}

describe.skipIf(noBrowser !== undefined)('marks (skipped if there is no chromium)', () => {
  it('are set and removed by key, at the focus or the pointer, and by click', async () => {
    const page = await opened();
    await page.locator('.picture').nth(2).focus();
    await page.keyboard.press('s');
    await expect.poll(() => marked(page)).toEqual(['s2 Star']);
    await page.keyboard.press('x');
    await expect.poll(() => marked(page)).toEqual(['s2 Reject']);
    await page.evaluate('document.activeElement.blur()');
    await page.locator('.picture').nth(3).hover();
    await page.keyboard.press('r');
    await expect.poll(() => marked(page)).toEqual(['s2 Reject', 's3 Render again']);
    await page.locator('li:hover').getByRole('button', { name: 'Star' }).click();
    await expect.poll(() => marked(page)).toEqual(['s2 Reject', 's3 Star']);
    await page.keyboard.press('s');
    await expect.poll(() => marked(page)).toEqual(['s2 Reject']);
    // A key that is typed into a field is no mark.
    await page.getByLabel('Search prompts and columns').fill('');
    await page.keyboard.press('s');
    await expect.poll(() => page.getByLabel('Search prompts and columns').inputValue()).toBe('s');
    expect(await marked(page)).toEqual(['s2 Reject']);
    await page.context().close();
  });

  it('are set on the picture that was hovered or focused last, which is outlined', async () => {
    const page = await opened();
    const tile = (number: number) => page.locator('.pictures > li').nth(number);
    await tile(2).hover();
    await tile(2).getByRole('button', { name: 'Star' }).click();
    await expect.poll(() => marked(page)).toEqual(['s2 Star']);
    // The button still has the focus, but the pointer is on another picture.
    await tile(4).hover();
    await expect.poll(() => outlined(page)).toEqual(['s4']);
    await page.keyboard.press('s');
    await expect.poll(() => marked(page)).toEqual(['s2 Star', 's4 Star']);
    await page.keyboard.press('p');
    await expect.poll(() => tile(4).locator('.pick').getAttribute('aria-pressed')).toBe('true');
    // If the pointer is on no picture, nothing is marked.
    await page.locator('h1').hover();
    await expect.poll(() => outlined(page)).toEqual([]);
    await page.keyboard.press('s');
    expect(await marked(page)).toEqual(['s2 Star', 's4 Star']);
    // A focus that was moved by keys comes before the pointer, until the pointer moves.
    await tile(6).hover();
    await tile(5).locator('.picture').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Shift+Tab');
    await expect.poll(() => outlined(page)).toEqual(['s5']);
    await page.keyboard.press('x');
    await expect.poll(() => marked(page)).toEqual(['s2 Star', 's4 Star', 's5 Reject']);
    await tile(6).hover({ position: { x: 9, y: 9 } });
    await expect.poll(() => outlined(page)).toEqual(['s6']);
    await page.keyboard.press('r');
    await expect.poll(() => marked(page)).toEqual(['s2 Star', 's4 Star', 's5 Reject', 's6 Render again']);
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => outlined(page)).toEqual(['s5']);
    await page.context().close();
  });

  it.each(['Escape', 'the button'])(
    'go to the scene that was closed by %s, until the pointer moves',
    async (by) => {
      const page = await opened();
      await page.locator('.picture').nth(2).click();
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => page.locator('dialog h2').innerText()).toBe('s3');
      if (by === 'Escape') await page.keyboard.press('Escape');
      else await page.locator('dialog').getByRole('button', { name: 'Close' }).click();
      await expect.poll(() => page.evaluate('document.activeElement.dataset.key')).toBe('4');
      await expect.poll(() => outlined(page)).toEqual(['s3']);
      await page.keyboard.press('s');
      await expect.poll(() => marked(page)).toEqual(['s3 Star']);
      await page
        .locator('.picture')
        .nth(1)
        .hover({ position: { x: 5, y: 5 } });
      await expect.poll(() => outlined(page)).toEqual(['s1']);
      await page.keyboard.press('s');
      await expect.poll(() => marked(page)).toEqual(['s1 Star', 's3 Star']);
      await page.context().close();
    },
  );

  it('are set in the scene that is open, outlive the page and are a filter', async () => {
    const page = await opened(`${url}#scene=5&id=s4`);
    const star = page.locator('dialog').getByRole('button', { name: 'Star' });
    await star.waitFor();
    await page.keyboard.press('s');
    await expect.poll(() => star.getAttribute('aria-pressed')).toBe('true');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => page.locator('dialog h2').innerText()).toBe('s5');
    await page.locator('dialog').getByRole('button', { name: 'Render again' }).click();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('dialog[open]').count()).toBe(0);
    await page.reload();
    await expect.poll(() => marked(page)).toEqual(['s4 Star', 's5 Render again']);
    await page.getByRole('button', { name: '1 starred' }).click();
    await expect.poll(() => page.locator('.found').innerText()).toMatch(/^1 of 300 scenes( · |$)/);
    expect(new URL(page.url()).hash).toBe('#mark=star');
    await page.getByRole('button', { name: '1 starred' }).click();
    await expect.poll(() => page.locator('.found').innerText()).toBe('300 scenes');
    await page.context().close();
  });

  it.each([
    ['comes', ''],
    ['is missed', 'addEventListener("storage", (event) => event.stopImmediatePropagation());'],
  ])('are the same in another tab once it is shown, if the event of the change %s', async (_how, script) => {
    const page = await opened();
    const other = await page.context().newPage();
    await other.addInitScript(script);
    await other.goto(url);
    await other.locator('.picture').nth(59).waitFor();
    await page.bringToFront();
    await page.locator('.picture').nth(2).focus();
    await page.keyboard.press('s');
    await expect.poll(() => marked(page)).toEqual(['s2 Star']);
    await other.bringToFront();
    // Without a window, all tabs count as visible, so the browser does not send this event.
    await other.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await expect.poll(() => marked(other)).toEqual(['s2 Star']);
    await page.context().close();
  });

  it('are exported as ids, one a line, with the command that reads them', async () => {
    const page = await opened();
    for (const [index, key] of Object.entries({ 19: 'r', 2: 'r', 7: 's' })) {
      await page.locator('.picture').nth(Number(index)).focus();
      await page.keyboard.press(key);
    }
    await page.getByRole('button', { name: '2 to render again' }).click();
    await expect
      .poll(() => page.locator('.marked pre').innerText())
      .toBe("nightrender retry '/home/me/my night/pipeline.yaml' --ids render-again.txt --again");
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download render-again.txt' }).click();
    const list = await saved;
    expect(list.suggestedFilename()).toBe('render-again.txt');
    expect((await textOf(list)).split('\n').toSorted()).toEqual(['', 's19', 's2']);
    expect(await page.locator('.marked .hint').count()).toBe(0);
    await page.context().close();
  });

  it('work in a browser that stores nothing, with a note about it', async () => {
    const { page } = await openPage(browser);
    const headers = { 'content-security-policy': 'sandbox allow-scripts' };
    await page.route('http://gallery.test/**', (route) =>
      route.fulfill({
        path: join(folder, decodeURIComponent(new URL(route.request().url()).pathname)),
        headers,
      }),
    );
    await page.goto('http://gallery.test/report/index.html');
    await page.locator('.picture').nth(1).focus();
    await page.keyboard.press('s');
    await page.getByRole('button', { name: '1 starred' }).waitFor();
    await page.getByText('This browser keeps no marks').waitFor();
    // The files are removed after the tests, and a picture may still be requested.
    await page.unrouteAll({ behavior: 'wait' });
    await page.context().close();
  });
});
