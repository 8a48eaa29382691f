/**
 * Promise: `watch` shows the gallery of an active, ended or killed batch, on a phone and by keyboard, whatever prompts
 * contain.
 */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { folderWith, type Night, nightOf, nightWith, pipeline, scenes } from '../../e2e/cli.ts';
import { startHeldService } from '../../e2e/held-service.ts';
import { startPatientService, startStandIn } from '../../e2e/stand-ins.ts';
import { sendJson } from '../../faults/answers.ts';
import { answerHonestly } from '../../fakes/job-server.ts';
import { noBrowser, openBrowser } from '../browser.ts';
import { contrasts } from '../contrast.ts';
import { look, startWatching } from '../watched.ts';

const small = 'input: {scene: "{{ scene }}", width: 96, height: 64}\n';
const phone = { width: 360, height: 740 };

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => noBrowser ?? browser.close());

describe.skipIf(noBrowser !== undefined)(
  'the page of `watch` in a browser (skipped if there is no chromium)',
  () => {
    it.each([
      ['a phone', phone],
      ['a desktop', { width: 1280, height: 900, colors: 'dark' as const }],
    ])('on %s: waits for the batch, and shows its pictures as they arrive', async (_where, size) => {
      const service = await startHeldService();
      const night = nightOf(service.url, 5, small);
      const { url } = await startWatching(night.cwd);
      const { page, troubles } = await look(browser, url, size);
      await stateOf(page, 'none').waitFor();
      expect(await page.locator('[data-run]').innerText()).toContain('nightrender run pipeline.yaml');

      const run = night.program('run', 'pipeline.yaml', '--json');
      await stateOf(page, 'running').waitFor();
      await tile(page, 'in flight', '5').waitFor();
      // The whole list is shown. A scene without a picture shows its state.
      await expect.poll(() => page.locator('main .picture .word').count()).toBe(5);
      expect(await page.locator('.picture img').count()).toBe(0);
      service.release();
      await page.locator('main .picture img').nth(4).waitFor();
      await stateOf(page, 'ended').waitFor();
      await run.finish().exits(0);
      expect(await page.locator('[data-run]').innerText()).toMatch(
        /Done\s+Every scene .* with exit code 0\./,
      );
      await expect.poll(() => page.locator('.numbers').innerText()).toMatch(/^5 of 5 scenes( · |$)/);
      expect(await page.getByRole('region', { name: 'The run' }).count()).toBe(0);
      await expect.poll(() => page.title()).toMatch(/^100 % done · [^/]+\/out$/);

      await expect.poll(() => widthsOfPictures(page)).toEqual([96, 96, 96, 96, 96]);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      expect(troubles).toEqual([]);
    });

    it.each([
      ['a phone by day', { ...phone, colors: 'light' as const }],
      ['a phone by night', { ...phone, colors: 'dark' as const }],
      ['a desktop by day', { width: 1280, height: 900, colors: 'light' as const }],
      ['a desktop by night', { width: 1280, height: 900, colors: 'dark' as const }],
    ])('on %s: each text can be read, each control has a name, and all fits', async (_where, size) => {
      const service = await startHeldService();
      const night = nightOf(service.url, 4, small);
      const { url } = await startWatching(night.cwd);
      const { page, troubles } = await look(browser, url, size);
      const check = async (): Promise<void> => {
        expect((await contrasts(page)).filter(({ ratio }) => ratio < 4.5)).toEqual([]);
        expect(await page.evaluate(nameless)).toEqual([]);
        expect(await overflow(page)).toBeLessThanOrEqual(0);
      };
      await stateOf(page, 'none').waitFor();
      await check();
      const run = night.program('run', 'pipeline.yaml', '--json');
      await run.event('scene-submitted', 4);
      service.release(2);
      await page.getByRole('region', { name: 'Latest pictures' }).locator('img').nth(1).waitFor();
      await page.locator('main .picture img').nth(1).waitFor();
      await check();
      service.release();
      await stateOf(page, 'ended').waitFor();
      await check();
      await run.finish().exits(0);
      expect(troubles).toEqual([]);
    });

    it('shows that a run was killed, what failed and why, and the commands that continue', async () => {
      const service = await startPatientService();
      const night = nightOf(service.url, 20);
      const { url } = await startWatching(night.cwd);
      const run = night.program('run', 'pipeline.yaml', '--json');
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
      const night = nightOf('local', 2, 'input: {scene: "{{ scene }}", width: 7, height: 7}\n');
      await night.run('--quiet');
      const { url } = await startWatching(night.cwd);
      const { page } = await look(browser, url);
      await page.getByRole('button', { name: 'Failures 2' }).click();
      const failures = page.getByRole('region', { name: 'Failures' });
      await failures.getByText('2 scenes').waitFor();
      expect(await failures.innerText()).toMatch(/nightrender retry \S*pipeline\.yaml --kind [a-z-]+/);
      expect(await failures.locator('pre.bad').innerText()).toMatch(/width/);
    });

    it('shows prompts and ids as text, whatever they contain', async () => {
      const hostile = [
        '</script><script>document.title = "taken"</script>',
        '<img src=x onerror="document.title = 1">',
        'a \u202Efox\u202C \u001B[31mred\u001B[0m & "quoted" \u{1F98A}',
        'wide'.repeat(75),
      ];
      const rows = hostile.map((text) => JSON.stringify({ id: text.slice(0, 120), scene: text }));
      const night = nightWith({
        'pipeline.yaml': pipeline('local', small).replace('scenes.csv', 'scenes.jsonl'),
        'scenes.jsonl': `${rows.join('\n')}\n`,
      });
      await night.run('--quiet').exits(0);
      const { url } = await startWatching(night.cwd);
      const { page, troubles } = await look(browser, url, phone);
      await expect.poll(() => widthsOfPictures(page)).toEqual([96, 96, 96, 96]);
      const alts = await page
        .locator('main .picture img')
        .evaluateAll((all) => all.map((img) => img.getAttribute('alt')));
      expect(new Set(alts)).toEqual(new Set(hostile));
      await page.locator('.picture').first().click();
      for (let seen = 1; seen < hostile.length; seen++) {
        expect(await overflow(page)).toBeLessThanOrEqual(0);
        await page.keyboard.press('ArrowRight');
        await page.locator('dialog small', { hasText: `${seen + 1} of 4` }).waitFor();
      }
      expect(await page.title()).toMatch(/^100 % done · [^/]+\/out$/);
      expect(troubles).toEqual([]);
    });

    it('is used by keyboard: to a picture, into it, to the next ones, and back to the same place', async () => {
      const { page, troubles } = await look(browser, await doneBatch(3));
      await page.locator('.picture').nth(2).waitFor();
      await page.getByRole('slider').focus();
      const walked: string[] = [];
      while (walked.length < 12 && walked.at(-1) !== 's2') {
        await page.keyboard.press('Tab');
        walked.push(await focused(page));
      }
      expect(walked).toEqual(['s0', 's1', 's2']);
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog');
      await dialog.waitFor();
      await expect.poll(() => dialog.locator('h2').innerText()).toBe('s2');
      await page.keyboard.press('ArrowLeft');
      await expect.poll(() => dialog.locator('h2').innerText()).toBe('s1');
      for (let i = 0; i < 8; i++) {
        await page.keyboard.press('Tab');
        const isOutside = await page.evaluate<boolean>(
          "document.activeElement !== document.body && document.activeElement.closest('dialog') === null",
        );
        expect(isOutside).toBe(false);
      }
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      expect(await focused(page)).toBe('s1');
      expect(troubles).toEqual([]);
    });

    it('has landmarks, one main heading, a name for each picture and a readable progress bar', async () => {
      const service = await startHeldService();
      const night = nightOf(service.url, 2, small);
      const { url } = await startWatching(night.cwd);
      const { page } = await look(browser, url);
      const run = night.program('run', 'pipeline.yaml', '--json');
      await run.event('scene-submitted', 2);
      await page.locator('main .picture').nth(1).waitFor();
      expect(await page.getByRole('progressbar').getAttribute('aria-valuetext')).toBe('0 of 2 scenes saved');
      expect(await page.getByRole('banner').count()).toBe(1);
      expect(await page.getByRole('main').count()).toBe(1);
      expect(await page.getByRole('heading', { level: 1 }).allInnerTexts()).toEqual([
        expect.stringMatching(/^[^/]+\/out$/),
      ]);
      service.release();
      await expect.poll(() => page.getByRole('img', { name: /^Hills and \d trees$/ }).count()).toBe(2);
      await page.getByRole('button', { name: 'The night' }).click();
      await page.getByRole('img', { name: /^Throughput: 2 scenes saved in / }).waitFor();
      await run.finish().exits(0);
    });

    it('shows the latest pictures on top, holds new ones back while somebody looks at those, and opens them', async () => {
      const service = await startHeldService();
      const night = nightOf(service.url, 5, small);
      const { url } = await startWatching(night.cwd);
      const { page, troubles } = await look(browser, url);
      const run = night.program('run', 'pipeline.yaml', '--json');
      await run.event('scene-submitted', 5);
      const latest = page.getByRole('region', { name: 'Latest pictures' });
      service.release(2);
      await latest.locator('.picture img').nth(1).waitFor();
      await latest.locator('.picture').first().focus();
      const before = await keysOf(latest);
      service.release(2);
      const button = latest.getByRole('button', { name: '2 new' });
      await button.waitFor();
      expect(await keysOf(latest)).toEqual(before);
      await button.click();
      await expect.poll(async () => (await keysOf(latest)).length).toBe(4);
      expect((await keysOf(latest)).slice(2)).toEqual(before);
      const [first] = await keysOf(latest);
      await latest.locator('.picture').first().click();
      await expect
        .poll(() => page.getByRole('dialog').locator('h2').innerText())
        .toBe(`s${Number(first) - 1}`);
      service.release(1);
      await run.finish().exits(0);
      expect(troubles).toEqual([]);
    });

    it('brings pictures into the view that is shown: filtered, sorted, as a grid, with marks', async () => {
      const service = await startHeldService();
      const rows = [
        'id,scene,season',
        ...['fox', 'owl'].map((id, i) => `${id},an ${id},${['spring', 'autumn'][i]}`),
      ];
      const list = [...rows, 'elk,an elk,autumn', 'bee,a bee,spring'].map(
        (row, i) => `${row},${i === 0 ? 'size' : i % 2}`,
      );
      const night = nightOf(service.url, `${list.join('\n')}\n`, small);
      const { url } = await startWatching(night.cwd);
      const { page, troubles } = await look(browser, url);
      const run = night.program('run', 'pipeline.yaml', '--json');
      await run.event('scene-submitted', 4);
      await page.locator('main .picture').nth(3).waitFor();
      await page.locator('main .picture', { hasText: 'an owl' }).hover();
      await page.keyboard.press('s');
      await page.getByRole('button', { name: '1 starred' }).waitFor();
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByLabel('State').selectOption('state:active');
      await expect.poll(() => page.locator('.found').innerText()).toMatch(/^4 scenes$/);
      await page.getByLabel('season').selectOption('autumn');
      await expect.poll(() => captions(page)).toEqual(['owl', 'elk']);
      await page.getByLabel('State').selectOption('state:');
      service.release(4);
      await expect.poll(() => page.locator('main .picture img').count()).toBe(2);
      await page.getByLabel('State').selectOption('state:saved');
      await expect.poll(() => captions(page)).toEqual(['owl', 'elk']);
      await page.getByRole('button', { name: 'Grid', exact: true }).click();
      await expect.poll(() => page.locator('.cells td img').count()).toBe(2);
      await page.getByRole('button', { name: '1 starred' }).click();
      await expect.poll(() => captions(page)).toEqual(['owl']);
      await run.finish().exits(0);
      expect(troubles).toEqual([]);
    });

    it('keeps marks, filters and the open scene from before the first submission', async () => {
      let isOpen = false;
      const service = await startStandIn({
        meet: (asked) =>
          isOpen ? answerHonestly(asked) : sendJson(asked.response, { error: 'no workers yet' }, 503),
      });
      const night = nightOf(service.url, 4, small);
      const { url } = await startWatching(night.cwd);
      const { page, troubles } = await look(browser, url);
      const run = night.program('run', 'pipeline.yaml', '--json');
      await page.locator('main .picture').nth(3).waitFor();
      await page.locator('main .picture').first().hover();
      await page.keyboard.press('s');
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByLabel('State').selectOption('state:waiting');
      isOpen = true;
      await run.finish().exits(0);
      await stateOf(page, 'ended').waitFor();
      await expect.poll(() => captions(page)).toEqual([]);
      await page.getByLabel('State').selectOption('state:saved');
      await page.getByRole('button', { name: '1 starred' }).click();
      await expect.poll(() => captions(page)).toEqual(['s0']);
      await page.reload();
      await page.getByRole('button', { name: '1 starred' }).waitFor();
      expect(troubles).toEqual([]);
    });

    it('never moves a picture that somebody looks at, however the list grows', async () => {
      const night = await doneFolder(30);
      const { url } = await startWatching(night.cwd);
      const { page } = await look(browser, url, phone);
      await page.locator('.picture').nth(29).scrollIntoViewIfNeeded();
      const more = folderWith({ 'scenes.csv': scenes(33) });
      await night.run('--quiet', '--manifest', join(more, 'scenes.csv'));
      await expect.poll(() => page.locator('main .picture').count()).toBe(33);
      expect((await captions(page)).slice(0, 30)).toEqual(Array.from({ length: 30 }, (_, i) => `s${i}`));
    });

    it('reaches all pictures of a long batch', async () => {
      const { page } = await look(browser, await doneBatch(70));
      await expect.poll(() => page.locator('.picture').count()).toBe(60);
      await page.getByRole('button', { name: 'Next' }).click();
      await expect.poll(() => captions(page)).toEqual(Array.from({ length: 10 }, (_, i) => `s${60 + i}`));
    });

    it('shows that the connection is lost, keeps its data, and connects again', async () => {
      const night = await doneFolder(2);
      const first = await startWatching(night.cwd);
      const { page } = await look(browser, first.url);
      await stateOf(page, 'ended').waitFor();
      first.program.child.kill('SIGTERM');
      await first.program.finish().exits(0);
      await page.getByText('Connection lost.', { exact: true }).waitFor();
      expect(await page.locator('.numbers').innerText()).toMatch(/^2 of 2/);
      await startWatching(night.cwd, ['--port', new URL(first.url).port]);
      await page.getByText('Connection lost.', { exact: true }).waitFor({ state: 'detached' });
    });

    it('keeps place and focus when it connects again, and loads the pictures that failed meanwhile', async () => {
      const night = await doneFolder(70);
      const first = await startWatching(night.cwd);
      const { page } = await look(browser, first.url, phone);
      await page.locator('.picture').nth(59).waitFor();
      first.program.child.kill('SIGTERM');
      await first.program.finish().exits(0);
      await page.getByText('Connection lost.', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Next' }).click();
      await expect.poll(() => captions(page)).toContain('s69');
      const last = page.locator('.picture').nth(9);
      await last.focus();
      await last.getByText('the file is missing').waitFor();
      const { y } = (await last.boundingBox()) ?? {};
      await startWatching(night.cwd, ['--port', new URL(first.url).port]);
      await last.locator('img').waitFor();
      await expect.poll(async () => (await widthsOfPictures(page)).at(-1)).toBe(96);
      expect(await focused(page)).toBe('s69');
      expect((await last.boundingBox())?.y).toBeCloseTo(y ?? 0, -1);
    });

    it('works behind a reverse proxy, below a path', async () => {
      const behind = new URL(await doneBatch(2));
      const proxy = createServer((asked, answer) => {
        const path = asked.url?.replace(/^\/night\//, '/');
        request(
          { host: behind.hostname, port: behind.port, path, headers: { host: '127.0.0.1' } },
          (from) => {
            answer.writeHead(from.statusCode ?? 502, from.headers);
            from.pipe(answer);
          },
        )
          .on('error', () => answer.destroy())
          .end();
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
  },
);

function captions(page: Page): Promise<string[]> {
  return page.locator('main .picture .caption').allInnerTexts();
}

function keysOf(within: Locator): Promise<(string | null)[]> {
  return within.locator('.picture').evaluateAll((all) => all.map((each) => each.getAttribute('data-key')));
}

function stateOf(page: Page, kind: string) {
  return page.locator(`[data-run=${kind}]`);
}

function tile(page: Page, name: string, value: string) {
  const named = page
    .locator('.tiles > div')
    .filter({ has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) });
  return named.locator('dd', { hasText: new RegExp(`^${value}$`) });
}

/** Returns the natural widths of pictures that are loaded. */
function widthsOfPictures(page: Page): Promise<number[]> {
  return page.evaluate("[...document.querySelectorAll('main .picture img')].map((img) => img.naturalWidth)");
}

/** Controls without a name for screen readers. Runs in the page. */
const nameless = `[...document.querySelectorAll('button, a, input, select')]
  .filter((each) => each.checkVisibility() && !(each.innerText || each.labels?.[0]?.innerText || each.ariaLabel || each.querySelector('img')?.alt || '').trim())
  .map((each) => each.outerHTML.slice(0, 90))`;

/** Returns the number of pixels by which the page or a dialog is wider than the window. */
function overflow(page: Page): Promise<number> {
  return page.evaluate(
    "Math.max(...[...document.querySelectorAll('html, dialog')].map((each) => each.scrollWidth - each.clientWidth))",
  );
}

/** Returns the caption or the text of the focused element. */
function focused(page: Page): Promise<string> {
  return page.evaluate(
    "(document.activeElement.querySelector('.caption') ?? document.activeElement).textContent",
  );
}

async function doneFolder(count: number): Promise<Night> {
  const night = nightOf('local', count, small);
  await night.run('--quiet');
  return night;
}

async function doneBatch(count: number): Promise<string> {
  return (await startWatching((await doneFolder(count)).cwd)).url;
}
