/** Promise: the page of `watch` shows a batch as it is, live, ended or dead, on a phone and by keyboard, whatever prompts say. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { folderWith, nightrender, pipeline, Program, scenes, testKey } from '../../e2e/cli.ts';
import { startHeldService } from '../../e2e/held-service.ts';
import { startPatientService } from '../../e2e/patient-service.ts';
import { noBrowser, openBrowser } from '../browser.ts';
import { look, startWatching } from '../watched.ts';

const withKey = { env: { NIGHTRENDER_API_KEY: testKey } };
const small = 'input: {scene: "{{ scene }}", width: 96, height: 64}\n';
const phone = { width: 360, height: 740 };

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => noBrowser ?? browser.close());

describe.skipIf(noBrowser !== undefined)('in a browser (skipped where there is no chromium)', () => {
  it.each([
    ['a phone', phone],
    ['a desktop', { width: 1280, height: 900, colors: 'dark' as const }],
  ])('on %s: waits for the batch, and shows its pictures as they arrive', async (_where, size) => {
    const service = await startHeldService();
    const cwd = folderWith({ 'pipeline.yaml': pipeline(service.url, small), 'scenes.csv': scenes(5) });
    const { url } = await startWatching(cwd);
    const { page, troubles } = await look(browser, url, size);
    await stateOf(page, 'none').waitFor();
    expect(await page.locator('[data-run]').innerText()).toContain('nightrender run pipeline.yaml');

    const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
    await stateOf(page, 'running').waitFor();
    await tile(page, 'in flight', '5').waitFor();
    expect(await page.locator('.picture').count()).toBe(0);
    service.release();
    await page.locator('.picture').nth(4).waitFor();
    await stateOf(page, 'ended').waitFor();
    expect((await run.finish()).code).toBe(0);
    expect(await page.locator('[data-run]').innerText()).toMatch(/Done\s+Every scene .* with exit code 0\./);
    await tile(page, 'saved', '5').waitFor();
    await expect.poll(() => page.title()).toMatch(/^100 % done · [^/]+\/out$/);

    await expect.poll(() => widthsOfPictures(page)).toEqual([96, 96, 96, 96, 96]);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(troubles).toEqual([]);
  });

  it('says that a killed run is gone, what failed how, and the commands that go on', async () => {
    const service = await startPatientService();
    const cwd = folderWith({ 'pipeline.yaml': pipeline(service.url), 'scenes.csv': scenes(20) });
    const { url } = await startWatching(cwd);
    const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
    await run.event('scene-submitted', 16);
    const { page, troubles } = await look(browser, url, phone);
    await stateOf(page, 'running').waitFor();
    run.child.kill('SIGKILL');
    await stateOf(page, 'killed').waitFor();
    const text = await page.locator('[data-run]').innerText();
    expect(text).toContain('No final status');
    expect(text).toContain('Start it again to resume');
    expect(text).toContain('nightrender run pipeline.yaml');
    await tile(page, 'in flight', '16').waitFor();
    expect(await page.locator('.unseen[role=status]').innerText()).toMatch(/No final status/);
    expect(troubles).toEqual([]);
  });

  it('shows failures by kind, in the service’s words, with the command that retries exactly them', async () => {
    const cwd = folderWith({
      'pipeline.yaml': pipeline('local', 'input: {scene: "{{ scene }}", width: 7, height: 7}\n'),
      'scenes.csv': scenes(2),
    });
    await nightrender(['run', 'pipeline.yaml', '--quiet'], { cwd });
    const { url } = await startWatching(cwd);
    const { page } = await look(browser, url);
    const failures = page.getByRole('region', { name: 'Failures' });
    await failures.getByText('2 scenes failed').waitFor();
    expect(await failures.innerText()).toMatch(/nightrender retry pipeline\.yaml --kind [a-z-]+/);
    await tile(page, 'failed', '2').waitFor();
  });

  it('takes prompts and ids for text, whatever they are', async () => {
    const hostile = [
      '</script><script>document.title = "taken"</script>',
      '<img src=x onerror="document.title = 1">',
      'a \u202Efox\u202C \u001B[31mred\u001B[0m & "quoted" \u{1F98A}',
      'wide'.repeat(200),
    ];
    const rows = hostile.map((text) => JSON.stringify({ id: text.slice(0, 120), scene: text }));
    const cwd = folderWith({
      'pipeline.yaml': pipeline('local', small).replace('scenes.csv', 'scenes.jsonl'),
      'scenes.jsonl': `${rows.join('\n')}\n`,
    });
    expect((await nightrender(['run', 'pipeline.yaml', '--quiet'], { cwd })).code).toBe(0);
    const { url } = await startWatching(cwd);
    const { page, troubles } = await look(browser, url, phone);
    await expect.poll(() => widthsOfPictures(page)).toEqual([96, 96, 96, 96]);
    const alts = await page
      .locator('.picture img')
      .evaluateAll((all) => all.map((img) => img.getAttribute('alt')));
    expect(new Set(alts)).toEqual(new Set(hostile));
    await page.locator('.picture').first().click();
    for (let seen = 1; seen < hostile.length; seen++) {
      await page.getByText('Input', { exact: true }).click();
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      await page.keyboard.press('ArrowRight');
    }
    expect(await page.title()).toMatch(/^100 % done · [^/]+\/out$/);
    expect(troubles).toEqual([]);
  });

  it('is walked by keyboard: to a picture, into it, along the others, and back to where one was', async () => {
    const { page, troubles } = await look(browser, await doneBatch(3));
    await page.locator('.picture').nth(2).waitFor();
    const walked: string[] = [];
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press('Tab');
      walked.push(await focused(page));
    }
    expect(new Set(walked)).toEqual(new Set(['s0', 's1', 's2']));
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    const first = await dialog.locator('h2').innerText();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => dialog.locator('h2').innerText()).not.toBe(first);
    for (let i = 0; i < 8; i++) {
      await page.keyboard.press('Tab');
      const isOutside = await page.evaluate<boolean>(
        "document.activeElement !== document.body && document.activeElement.closest('dialog') === null",
      );
      expect(isOutside).toBe(false);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await focused(page)).toBe(first);
    expect(troubles).toEqual([]);
  });

  it('has landmarks, one first heading, a name for each picture and a bar that can be read', async () => {
    const { page } = await look(browser, await doneBatch(2));
    await page.locator('.picture').nth(1).waitFor();
    expect(await page.getByRole('banner').count()).toBe(1);
    expect(await page.getByRole('main').count()).toBe(1);
    expect(await page.getByRole('heading', { level: 1 }).allInnerTexts()).toEqual([
      expect.stringMatching(/^[^/]+\/out$/),
    ]);
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(['Saved', 'Pictures']);
    expect(await page.getByRole('progressbar').getAttribute('aria-valuetext')).toBe('2 of 2 scenes saved');
    expect(await page.getByRole('img', { name: /^Hills and \d trees$/ }).count()).toBe(2);
    expect(await page.getByRole('img', { name: /2 scenes saved from .* to / }).count()).toBe(1);
  });

  it('fits its chart to the run', async () => {
    const { page } = await look(browser, await doneBatch(2));
    await expect
      .poll(() => page.locator('.picture .words').first().innerText())
      .toMatch(/^Hills and \d trees$/);
    expect((await page.locator('.ticks small').allInnerTexts()).join()).toMatch(/^(\d\d:\d\d:\d\d,?)+$/);
    expect(await page.locator('.unit').innerText()).toMatch(/^scenes a/);
  });

  it('holds new pictures back while somebody looks at those that are there, and shows them on demand', async () => {
    const cwd = await doneFolder(30);
    const { url } = await startWatching(cwd);
    const { page } = await look(browser, url, phone);
    const topmost = page.locator('.picture').first();
    await page.locator('.picture').nth(29).scrollIntoViewIfNeeded();
    const before = await topmost.getAttribute('data-key');
    const more = folderWith({ 'scenes.csv': scenes(33) });
    await nightrender(['run', 'pipeline.yaml', '--quiet', '--manifest', join(more, 'scenes.csv')], { cwd });
    const button = page.getByRole('button', { name: '3 new' });
    await button.waitFor();
    expect(await topmost.getAttribute('data-key')).toBe(before);
    await button.click();
    await expect.poll(() => page.locator('.picture').count()).toBe(33);
    expect(Number(await topmost.getAttribute('data-key'))).toBeGreaterThan(Number(before));
    expect(await button.count()).toBe(0);
  });

  it('reaches all pictures of a long batch', async () => {
    const { page } = await look(browser, await doneBatch(60));
    await expect.poll(() => page.locator('.picture').count()).toBe(48);
    await page.getByRole('button', { name: 'Show older ones' }).click();
    await expect.poll(() => page.locator('.picture').count()).toBe(60);
    const keys = await page
      .locator('.picture')
      .evaluateAll((all) => all.map((each) => each.getAttribute('data-key')));
    expect(keys).toEqual(Array.from({ length: 60 }, (_, i) => String(60 - i)));
  });

  it('says that the connection is lost, keeps what it knew, and finds it again', async () => {
    const cwd = await doneFolder(2);
    const first = await startWatching(cwd);
    const { page } = await look(browser, first.url);
    await stateOf(page, 'ended').waitFor();
    first.program.child.kill('SIGTERM');
    expect((await first.program.finish()).code).toBe(0);
    await page.getByText('Connection lost.', { exact: true }).waitFor();
    await tile(page, 'saved', '2').waitFor();
    await startWatching(cwd, ['--port', new URL(first.url).port]);
    await page.getByText('Connection lost.', { exact: true }).waitFor({ state: 'detached' });
  });

  it('works behind a reverse proxy, under a path of its own', async () => {
    const behind = new URL(await doneBatch(2));
    const proxy = createServer((asked, answer) => {
      const path = asked.url?.replace(/^\/night\//, '/');
      request({ host: behind.hostname, port: behind.port, path, headers: { host: '127.0.0.1' } }, (from) => {
        answer.writeHead(from.statusCode ?? 502, from.headers);
        from.pipe(answer);
      }).end();
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/night/`;
    const { page, troubles } = await look(browser, url, { isAllowed: (asked) => asked.startsWith(url) });
    await stateOf(page, 'ended').waitFor();
    await expect.poll(() => widthsOfPictures(page)).toEqual([96, 96]);
    expect(troubles).toEqual([]);
  });
});

function stateOf(page: Page, kind: string) {
  return page.locator(`[data-run=${kind}]`);
}

function tile(page: Page, name: string, value: string) {
  const named = page
    .locator('.tiles > div')
    .filter({ has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) });
  return named.locator('dd', { hasText: new RegExp(`^${value}$`) });
}

/** Of those that are loaded, as their files have them. */
function widthsOfPictures(page: Page): Promise<number[]> {
  return page.evaluate("[...document.querySelectorAll('.picture img')].map((img) => img.naturalWidth)");
}

/** Pixels by which something is wider than the window. */
function overflow(page: Page): Promise<number> {
  return page.evaluate(
    "Math.max(...[...document.querySelectorAll('html, dialog')].map((each) => each.scrollWidth - each.clientWidth))",
  );
}

/** The caption or the text of what has the focus. */
function focused(page: Page): Promise<string> {
  return page.evaluate(
    "(document.activeElement.querySelector('.caption') ?? document.activeElement).textContent",
  );
}

async function doneFolder(count: number): Promise<string> {
  const cwd = folderWith({ 'pipeline.yaml': pipeline('local', small), 'scenes.csv': scenes(count) });
  await nightrender(['run', 'pipeline.yaml', '--quiet'], { cwd });
  return cwd;
}

async function doneBatch(count: number): Promise<string> {
  return (await startWatching(await doneFolder(count))).url;
}
