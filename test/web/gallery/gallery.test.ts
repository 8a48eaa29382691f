/**
 * Promise: the gallery opens from the file system without a network, and shows, finds and sorts all pictures, whatever
 * prompts contain.
 */
import { durationWords, moneyWords } from '../../../src/web/shared/number-words.ts';
import type { SceneRecord } from '../../../src/runner/core/scene-record.ts';
import { statSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noBrowser, openBrowser, openPage, type OpenPage, type PageOptions } from '../browser.ts';
import { failedRow, savedRow } from '../../runner/report/report-fixtures.ts';
import { nightWith, pipeline, scenes } from '../../e2e/cli.ts';
import { startStandIn } from '../../e2e/stand-ins.ts';
import { hostilePrompts, largeReport, smallReport, writtenReport } from '../gallery-report.ts';

let browser: Browser | undefined;
let folder = '';
let small = '';
let smallRows: SceneRecord[] = [];
let large = '';

beforeAll(async () => {
  if (noBrowser !== undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'gallery-'));
  browser = await openBrowser();
  ({ url: small, rows: smallRows } = await smallReport(join(folder, 'small')));
  large = await largeReport(join(folder, 'large'), 100_000);
});

afterAll(async () => {
  await browser?.close();
  if (folder !== '') await rm(folder, { recursive: true });
});

/** Opens the page, waits for its first pictures and calls `look`. Fails if the page had errors. */
async function looking(
  url: string,
  look: (opened: OpenPage & { found: () => Promise<string> }) => Promise<void>,
  options: PageOptions = {},
): Promise<void> {
  if (browser === undefined) throw new Error('no browser');
  const opened = await openPage(browser, options);
  const { page, troubles } = opened;
  const found = (): Promise<string> => page.locator('.found').innerText();
  await page.goto(url);
  await page.locator('main > *').first().waitFor();
  await look({ ...opened, found });
  expect(troubles).toEqual([]);
  await page.context().close();
}

function alts(page: Page): Promise<string[]> {
  return page.locator('.pictures img').evaluateAll((all) => all.map((img) => img.getAttribute('alt') ?? ''));
}

function captions(page: Page): Promise<string[]> {
  return page.locator('.picture .caption').allInnerTexts();
}

const dialog = 'dialog[open]';

/** Types into the search field. Runs in the page. */
const typing = `
  const type = (text) => {
    const input = document.querySelector('[type=search]');
    input.value = text;
    input.dispatchEvent(new Event('input', { bubbles: true }));
  };`;

const side = '#side=1.1.s0&side=5.1.s4';

/** Returns a part of the page that is there when all of this view is shown. */
function partOf(page: Page, view: string): Locator {
  const parts = {
    'view=grid': 'tbody .picture',
    'view=failures': 'article .picture',
    'view=night': 'svg[role=img]',
    'scene=': `${dialog} section[aria-label=Story]`,
    'side=': `${dialog} figcaption`,
  };
  const [, part = '.picture'] = Object.entries(parts).find(([name]) => view.includes(name)) ?? [];
  return page.locator(part).first();
}

/** Returns a scene of a product whose seeds differ for each prompt. Two scenes of the first prompt have no picture. */
function sceneOf(prompt: number, style: string, lens: number, take: number): SceneRecord {
  const columns = { scene: `prompt ${prompt}`, style, lens, seed: prompt * 7919 + take };
  const row = {
    ...savedRow,
    id: `${prompt}-${style}-${lens}-${take}`,
    pictures: [],
    columns,
    input: columns,
  };
  if (prompt > 0 || style === 'oil' || take === 1)
    return prompt === 0 && style === 'ink' && lens === 1
      ? { ...row, state: 'failed', savedAt: null, failureKind: 'job-failed', failureText: 'no' }
      : row;
  return lens === 2 ? { ...row, state: 'unneeded', savedAt: null } : row;
}

describe.skipIf(noBrowser !== undefined)('the gallery (skipped if there is no chromium)', () => {
  it('shows pictures with their prompts, whatever these contain', async () => {
    await looking(small, async ({ page, found }) => {
      await expect.poll(found).toBe('300 scenes');
      await expect.poll(async () => (await captions(page)).length).toBe(60);
      const said = await alts(page);
      for (const prompt of hostilePrompts.slice(0, 4)) expect(said).toContain(prompt);
      expect(await page.title()).toBe('my night/out · nightrender');
      const first = page.locator('.picture img').first();
      await expect
        .poll(() => first.evaluate((img) => (img as unknown as { naturalWidth: number }).naturalWidth))
        .toBe(40);
      await page.locator('.picture').nth(4).click();
      await expect.poll(() => page.locator(`${dialog} .prompt`).innerText()).toMatch(/and its end$/);
      expect(await page.locator('script').count()).toBe(2);
    });
  });

  it('counts the same scenes in its head and above the pictures', async () => {
    const rows = ['a', 'b', 'c'].map((id) => ({ ...savedRow, id, pictures: [] }));
    const last = { ...savedRow, id: 'd', pictures: [], state: 'withdrawn' as const };
    const counts = { saved: 3, failed: 0, withdrawn: 1 };
    const { url } = await writtenReport(join(folder, 'withdrawn'), [...rows, last], ['id'], counts);
    await looking(url, async ({ page, found }) => {
      await expect.poll(found).toBe('3 scenes and 1 withdrawn');
      expect(await page.locator('.head').innerText()).toContain('3 of 3 scenes · 1 withdrawn · ');
    });
  });

  it('turns pages, finds, filters and sorts over all rows', async () => {
    await looking(small, async ({ page, found }) => {
      await page.getByRole('button', { name: 'Next' }).click();
      await expect.poll(() => captions(page)).toContain('s60');
      await page.getByLabel('Search prompts and columns').fill('LIGHTHOUSE winter');
      await expect.poll(found).toMatch(/^74 of 300 scenes( · |$)/);
      await expect.poll(async () => (await captions(page))[0]).toBe('s7');
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByLabel('size').selectOption('128');
      const matching = smallRows.filter(
        ({ columns }) => columns['size'] === 128 && columns['season'] === 'winter',
      );
      const ms = matching.reduce((sum, { executionTimeMs }) => sum + (executionTimeMs ?? 0), 0);
      const cost = moneyWords((ms / 600_000) * 6, 'USD');
      await expect.poll(found).toBe(`25 of 300 scenes · ${durationWords(ms)} of execution · about ${cost}`);
      await page.getByLabel('take').selectOption('take 3');
      await expect.poll(() => captions(page)).toEqual(['s43']);
      await page.getByRole('button', { name: 'Show everything' }).click();
      await page.getByLabel('State').selectOption('kind:job-failed');
      await expect.poll(found).toMatch(/^15 of 300 scenes( · |$)/);
      await expect.poll(async () => (await captions(page))[0]).toBe('s19');
      await page.getByLabel('State').selectOption('state:saved');
      await page.getByLabel('Order').selectOption('last');
      await expect.poll(async () => (await captions(page)).slice(0, 3)).toEqual(['s298', 's297', 's296']);
      await page.getByLabel('Search prompts and columns').fill('no such thing');
      await expect.poll(found).toBe('No scene matches');
    });
  });

  it('loses no letter and no choice while a search begins', async () => {
    await looking(small, async ({ page, found }) => {
      await page.locator('.picture').nth(59).waitFor();
      // The last letter comes when the search for the others has begun, and the page was not painted since.
      await page.evaluate(`${typing}
        const replace = history.replaceState.bind(history);
        history.replaceState = (...all) => {
          replace(...all);
          history.replaceState = replace;
          setTimeout(() => type('number 19'));
        };
        type('number 1');
      `);
      await expect.poll(async () => (await captions(page))[0]).toBe('s19');
      expect(await page.getByLabel('Search prompts and columns').inputValue()).toBe('number 19');
      await page.getByRole('button', { name: 'Show everything' }).click();
      await expect.poll(found).toBe('300 scenes');
      expect(await page.getByLabel('Search prompts and columns').inputValue()).toBe('');
      // A choice that follows the text at once.
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.evaluate(`${typing}
        type('winter');
        const size = document.querySelector('option[value="128"]').parentElement;
        size.value = '128';
        size.dispatchEvent(new Event('change', { bubbles: true }));
      `);
      await expect.poll(found).toMatch(/^25 of 300 scenes/);
      // A panel that is closed at once.
      await page.getByLabel('scene', { exact: true }).fill('number 43');
      await page.keyboard.press('Escape');
      await expect.poll(() => captions(page)).toEqual(['s43']);
    });
  });

  it('keeps a number that is being typed while the page is rendered again', async () => {
    await looking(small, async ({ page }) => {
      const field = page.getByRole('spinbutton', { name: 'Page' });
      await field.click({ clickCount: 3 });
      await page.keyboard.type('3');
      // Another tab has set a mark.
      await page.evaluate("dispatchEvent(new StorageEvent('storage'))");
      await page.keyboard.press('Enter');
      await expect.poll(() => captions(page)).toContain('s120');
      await page.keyboard.type('99');
      await page.keyboard.press('Enter');
      await expect.poll(() => field.inputValue()).toBe('3');
    });
  });

  it('shows which words are missing in a picture or were not drawn exactly, and finds such pictures', async () => {
    await looking(small, async ({ page, found }) => {
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByLabel('Words').selectOption('left out');
      await expect.poll(found).toBe('No scene matches');
      await page.getByLabel('Words').selectOption('drawn as labelled boxes');
      await expect.poll(() => captions(page)).toEqual(['s0', 's100', 's200']);
      expect(new URL(page.url()).hash).toBe('#words=labelled_words');
      await page.getByRole('heading', { level: 1 }).click();
      await expect.poll(() => page.getByLabel('Words').count()).toBe(0);
      await page.locator('.picture').nth(1).click();
      const said = 'Drawn as labelled boxes: buoy. Fifty gulls.';
      await expect.poll(() => page.locator(dialog).innerText()).toContain(said);
    });
  });

  it('finds and sorts by values, and shows the command that lists the same', async () => {
    const rows = [0.25, 0.123456789, 1, undefined, 0.5].map((score, index) => ({
      ...savedRow,
      id: `s${index}`,
      pictures: [],
      columns: { style: index % 2 === 0 ? "painter's" : 'ink', ...(score !== undefined && { score }) },
    }));
    const { url } = await writtenReport(join(folder, 'values'), rows, ['style', 'score'], {}, ['score']);
    await looking(url, async ({ page }) => {
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByLabel('Order').selectOption('by score, highest first');
      const all = ['1 · s2', '0.5 · s4', '0.25 · s0', '0.1235 · s1', 's3'];
      await expect.poll(() => captions(page)).toEqual(all);
      await page.getByLabel('score, at least').fill('0.2');
      await page.getByLabel('score, at most').fill('0.5');
      await page.keyboard.press('Tab');
      await page.getByLabel('style').selectOption("painter's");
      await expect.poll(() => captions(page)).toEqual(['0.5 · s4', '0.25 · s0']);
      await expect
        .poll(() => page.locator('.toolbar pre').innerText())
        .toBe(
          `nightrender list '/home/me/my night/pipeline.yaml' --where 'style = "painter'\\''s" and score >= 0.2 and score <= 0.5'`,
        );
      await page.keyboard.press('Escape');
      await page.locator('.picture').first().click();
      await expect
        .poll(() => page.locator(`${dialog} [aria-label=Values]`).innerText())
        .toMatch(/score\s+0.5/);
    });
  });

  it('hides seeds that were not needed, unless a filter selects them', async () => {
    const rows = (['saved', 'unneeded', 'unneeded', 'saved'] as const).map((state, index) => ({
      ...savedRow,
      id: `s${index}`,
      state,
      pictures: [],
    }));
    const counts = { saved: 2, unneeded: 2 };
    const { url } = await writtenReport(join(folder, 'unneeded'), rows, ['id'], counts);
    await looking(url, async ({ page, found }) => {
      await expect.poll(() => captions(page)).toEqual(['s0', 's3']);
      expect(await found()).toBe('2 scenes and 2 not needed');
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByLabel('State').selectOption('state:unneeded');
      await expect.poll(() => captions(page)).toEqual(['s1', 's2']);
      expect(await page.locator('.picture').first().innerText()).toContain('not needed');
    });
  });

  it('shows the source picture beside a picture of a stage, or instead of it if the job brings none', async () => {
    const { url } = await startStandIn();
    const stage = (dir: string, output = '') =>
      pipeline(url, "input: {image: '{{ picture | file_base64 }}'}\n")
        .replace('manifest: scenes.csv\n', 'scenes: {from: first.yaml}\n')
        .replace('dir: out\n', `dir: ${dir}\n${output}`);
    const night = nightWith({
      'first.yaml': pipeline(url).replace('dir: out', "dir: 'one #1/out'"),
      'next.yaml': stage('next'),
      'score.yaml': stage('score', '  image: none\n  values: {seed_of: seed}\n'),
      'scenes.csv': scenes(1),
    });
    await night.start('run', 'first.yaml', 'next.yaml', 'score.yaml').exits(0);
    const isShown = (place: Locator) =>
      expect
        .poll(() => place.evaluate((img) => (img as unknown as { naturalWidth: number }).naturalWidth))
        .toBe(64);
    const reportOf = (dir: string) => pathToFileURL(night.path(dir, 'report/index.html')).href;
    await looking(reportOf('next'), async ({ page }) => {
      await page.locator('.picture').first().click();
      await isShown(page.locator(`${dialog} .before img`));
    });
    await looking(reportOf('score'), async ({ page }) => {
      await isShown(page.locator('.picture img'));
      await page.locator('.picture').first().click();
      await isShown(page.locator(`${dialog} figure img`));
      expect(await page.locator(`${dialog} .before`).count()).toBe(0);
    });
  });

  it('shows a scene, moves to others by keyboard, and returns to the same place', async () => {
    await looking(small, async ({ page }) => {
      await page.locator('.picture').first().waitFor();
      await page.locator('.picture').first().focus();
      await page.keyboard.press('Enter');
      const title = page.locator(`${dialog} h2`);
      await expect.poll(() => title.innerText()).toBe('s0');
      expect(await page.locator(dialog).innerText()).toMatch(
        /Inputs[^]*season[^]*spring[^]*steps[^]*30[^]*Story[^]*job-1[^]*Seed[^]*1000/,
      );
      const link = page.locator(`${dialog} section[aria-label=Files] a`);
      expect([await link.innerText(), await link.getAttribute('href')]).toEqual([
        's0 #-depth.exr',
        '../images/s0%20%23-depth.exr',
      ]);
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => page.locator(dialog).innerText()).toMatch(/s1\n[^]*picture 1 of 2/);
      expect(await link.count()).toBe(0);
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => page.locator(dialog).innerText()).toMatch(/picture 2 of 2/);
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => title.innerText()).toBe('s2');
      await page.keyboard.press('ArrowLeft');
      await expect.poll(() => page.locator(dialog).innerText()).toMatch(/s1\n[^]*picture 2 of 2/);
      await page.keyboard.press('Escape');
      await expect.poll(() => page.locator(dialog).count()).toBe(0);
      const focused = (): Promise<string | null> => page.evaluate('document.activeElement.dataset.key');
      await expect.poll(focused).toBe('2');
    });
  });

  it('counts each of several quick keys in an open scene, and marks the scene that they lead to', async () => {
    await looking(small, async ({ page }) => {
      await page.locator('.picture').nth(9).click();
      await expect.poll(() => page.locator(`${dialog} h2`).innerText()).toBe('s9');
      // The page may render between two keys, but is never painted.
      await page.evaluate(`(async () => {
        for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowLeft', 's']) {
          document.querySelector('dialog').dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
          await new Promise((resolve) => setTimeout(resolve));
        }
      })()`);
      await expect.poll(() => page.locator(`${dialog} h2`).innerText()).toBe('s11');
      await page.locator(`${dialog} [data-scene=s11] .star[aria-pressed=true]`).waitFor();
      await page.getByRole('button', { name: '1 starred' }).waitFor({ state: 'attached' });
    });
  });

  it('stays closed if a scene is closed while the next one is loaded', async () => {
    const rows = [...Array(1_000).keys()].map((index) => ({ ...savedRow, id: `s${index}`, pictures: [] }));
    const { url } = await writtenReport(join(folder, 'two files'), rows, ['id']);
    await looking(url, async ({ page }) => {
      const held: (() => void)[] = [];
      await page.route('http://gallery.test/**', (route) => {
        const path = join(folder, 'two files', new URL(route.request().url()).pathname);
        if (!path.endsWith('/2.js')) return route.fulfill({ path });
        return void held.push(() => void route.fulfill({ path }));
      });
      await page.goto('http://gallery.test/report/index.html#scene=500&id=s499');
      await expect.poll(() => page.locator(`${dialog} h2`).innerText()).toBe('s499');
      // Other versions of the scene are looked for in the next file as well.
      await expect.poll(() => held.length).toBe(1);
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Escape');
      await expect.poll(() => page.locator(dialog).count()).toBe(0);
      for (const release of held) release();
      await page.locator('script[src$="/2.js"]').waitFor({ state: 'detached' });
      expect(new URL(page.url()).hash).toBe('');
      expect(await page.locator(dialog).count()).toBe(0);
      await page.unrouteAll({ behavior: 'wait' });
    });
  });

  it('turns the page behind the scene, and stops at both ends', async () => {
    await looking(`${small}#scene=60&id=s59`, async ({ page }) => {
      const title = page.locator(`${dialog} h2`);
      await expect.poll(() => title.innerText()).toBe('s59');
      expect(await page.locator(`${dialog} .message`).innerText()).toMatch(
        /job-failed\s+the job ended as FAILED/,
      );
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => title.innerText()).toBe('s60');
      await page.keyboard.press('Escape');
      await expect.poll(() => page.evaluate('document.activeElement.dataset.key')).toBe('61');
      expect(new URL(page.url()).hash).toBe('#page=2');
    });
    await looking(`${small}#scene=300&id=s299`, async ({ page }) => {
      await expect.poll(() => page.locator(`${dialog} h2`).innerText()).toBe('s299');
      expect(await page.locator(dialog).getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
    });
  });

  it('finds the scene of a link by its id if the list has changed', async () => {
    await looking(`${small}#scene=2&id=s250`, async ({ page }) => {
      await expect.poll(() => page.locator(`${dialog} h2`).innerText()).toBe('s250');
    });
  });

  it('lays the pictures out by two columns of the reader’s choice', async () => {
    await looking(`${small}#view=grid`, async ({ page }) => {
      await expect.poll(() => page.locator('tbody tr').count()).toBe(4);
      expect(await page.locator('thead th').allInnerTexts()).toEqual(['64', '128', '256']);
      const cell = page.locator('tbody tr').nth(1).locator('td').first();
      await expect.poll(() => cell.locator('.picture').count()).toBe(9);
      // Pictures that are compared are shown completely.
      const { width = 0, height = 1 } = (await cell.locator('img').first().boundingBox()) ?? {};
      expect(width / height).toBeCloseTo(4 / 3, 1);
      await page.locator('.axes').getByLabel('Columns').selectOption('take');
      await expect.poll(() => page.locator('thead th').count()).toBe(25);
      await expect.poll(() => cell.locator('.picture').count()).toBe(3);
      await page.getByRole('button', { name: 'Swap' }).click();
      await expect.poll(() => page.locator('tbody tr').count()).toBe(25);
      await page.locator('tbody tr').first().locator('.picture').first().click();
      await expect.poll(() => page.locator(`${dialog} h2`).innerText()).toBe('s0');
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => page.locator(`${dialog} h2`).innerText()).toBe('s4');
    });
    await looking(`${small}#view=grid`, async ({ page, found }) => {
      await page.locator('tbody tr').nth(1).getByRole('button', { name: 'all 25' }).first().click();
      await expect.poll(found).toMatch(/^25 of 300 scenes( · |$)/);
    });
  });

  it('steps through two more columns, has pages for any number of prompts, and shows why a cell is empty', async () => {
    const rows = [...Array(130).keys()].flatMap((prompt) =>
      ['oil', 'ink'].flatMap((style) =>
        [1, 2].flatMap((lens) =>
          [1, 2].flatMap((take) =>
            prompt === 0 && take === 2 && style === 'oil' ? [] : [sceneOf(prompt, style, lens, take)],
          ),
        ),
      ),
    );
    const columns = ['id', 'scene', 'style', 'lens', 'seed'];
    const { url } = await writtenReport(join(folder, 'four'), rows, columns, { unneeded: 1 });
    const place = '#view=grid&down=scene&across=seed%2C+by+number&step=style&step=lens';
    await looking(url + place, async ({ page, found }) => {
      const row = page.locator('tbody tr').first();
      await expect.poll(() => row.innerText()).toMatch(/^prompt 0\s/);
      expect(await page.locator('tbody tr').count()).toBe(50);
      expect(await page.locator('thead th').allInnerTexts()).toEqual(['seed 1', 'seed 2']);
      const second = row.locator('td').nth(1);
      expect(await second.innerText()).toBe('no such scene');
      const alt = row.locator('img, .word').first();
      expect(await alt.innerText()).toContain('prompt 0');
      const step = (name: string) => page.locator('.step', { hasText: name });
      await step('style').getByRole('button', { name: 'Next' }).click();
      await expect.poll(() => row.innerText()).toContain('job-failed');
      expect(await step('style').innerText()).toMatch(/style\s+ink/);
      await step('lens').getByRole('button', { name: 'Next' }).click();
      await expect.poll(() => second.innerText()).toBe('not needed');
      await page.getByLabel('scene, page of').fill('3');
      await page.keyboard.press('Enter');
      await expect.poll(() => row.innerText()).toMatch(/^prompt 100\s/);
      expect(await page.locator('tbody tr').count()).toBe(30);
      expect(await step('style').innerText()).toMatch(/style\s+ink/);
      // After another search, the table begins at its start.
      await page.getByLabel('Search prompts and columns').fill('120-oil');
      await expect.poll(() => row.innerText()).toMatch(/^prompt 120\s/);
      expect(await page.locator('tbody tr').count()).toBe(1);
      await expect.poll(found).toMatch(/^4 of 1,038 scenes and 1 not needed/);
    });
  });

  it('shows that a cell is empty because its scenes are not selected', async () => {
    await looking(`${small}#view=grid&column.take=take+0&search=winter`, async ({ page }) => {
      await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
      await page.getByLabel('Search prompts and columns').fill('number 8');
      await expect.poll(() => page.locator('tbody').innerText()).toMatch(/^spring/);
    });
    await looking(`${small}#view=grid&down=season&across=take&search=number+1`, async ({ page }) => {
      await expect.poll(() => page.locator('tbody').innerText()).toMatch(/not selected/);
    });
  });

  it('lists just the scenes of a cell, whatever the values are', async () => {
    const rows = [...Array(120).keys()].map((index) => ({
      ...savedRow,
      id: `s${index}`,
      pictures: [],
      columns: { scene: index < 60 ? `fox ${index % 3}` : `fox ${index}, red`, half: `h${index % 2}` },
    }));
    const { url } = await writtenReport(join(folder, 'cell'), rows, ['scene', 'half']);
    await looking(`${url}#view=grid`, async ({ page, found }) => {
      const first = page.locator('tbody tr').first();
      await first.getByRole('button', { name: 'all 10' }).first().click();
      await expect.poll(found).toMatch(/^10 of 120 scenes/);
      await page.getByRole('button', { name: 'Filter' }).click();
      expect(await page.locator('.toolbar pre').innerText()).toContain(`scene = "fox 0" and half = "h0"`);
    });
  });

  it.each([390, 1280])('moves nothing when the filter is opened at %i pixels', async (width) => {
    await looking(
      small,
      async ({ page }) => {
        const tops = (): Promise<number[]> =>
          page
            .locator('#page > *, .picture')
            .evaluateAll((all) => all.map((each) => (each as unknown as { offsetTop: number }).offsetTop));
        await page.locator('.picture').nth(59).waitFor();
        const before = await tops();
        await page.getByRole('button', { name: 'Filter' }).click();
        await page.getByLabel('season').waitFor();
        expect(await tops()).toEqual(before);
        await page.keyboard.press('Escape');
        expect(await page.getByLabel('season').count()).toBe(0);
      },
      { width },
    );
  });

  it('shows the distribution of numbers, and what the bounds exclude', async () => {
    const rows = [...Array(100).keys()].map((index) => ({
      ...savedRow,
      id: `s${index}`,
      pictures: [],
      columns: { guidance: String(index / 10) },
    }));
    const { url } = await writtenReport(join(folder, 'numbers'), rows, ['guidance']);
    await looking(url, async ({ page, found }) => {
      await page.getByRole('button', { name: 'Filter' }).click();
      const bars = page.getByRole('img', { name: /^guidance from 0 to 9.9/ }).locator('rect');
      await expect.poll(() => bars.count()).toBeGreaterThan(20);
      expect(await page.locator('rect.out').count()).toBe(0);
      const least = page.getByLabel('guidance, at least');
      await least.fill('5');
      await page.keyboard.press('Enter');
      await expect.poll(found).toMatch(/^50 of 100 scenes/);
      const out = await page.locator('rect.out').count();
      expect(out).toBe(Math.round((await bars.count()) / 2));
      await least.press('ArrowUp');
      await expect.poll(() => page.locator('rect.out').count()).toBe(out + 1);
    });
  });

  it('groups failures by cause', async () => {
    const texts = ['out of memory: # GiB', 'no model at /models/#', 'lost: worker #', 'no such node'];
    const rows = [...Array(40).keys()].map((index) => ({
      ...failedRow,
      id: `s${index}`,
      failureText: (texts[index % 5] ?? texts[0] ?? '').replace('#', String(index)),
    }));
    const { url } = await writtenReport(join(folder, 'causes'), rows, ['id'], { saved: 0, failed: 40 });
    await looking(`${url}#view=failures`, async ({ page }) => {
      await expect
        .poll(() => page.locator('summary').allInnerTexts())
        .toEqual([
          '16 scenes',
          '8 scenes no model at /models/1',
          '8 scenes lost: worker 2',
          '8 scenes no such node',
        ]);
      const shown = page.locator('article .picture');
      await expect.poll(() => shown.count()).toBe(6);
      await page.locator('summary').nth(2).click();
      await expect.poll(() => shown.count()).toBe(12);
      expect(await shown.last().getAttribute('data-key')).toBe('28');
      await page.keyboard.press('Enter');
      await expect.poll(() => shown.count()).toBe(6);
      expect(await page.locator('.copyable').count()).toBe(1);
    });
  });

  it('shows what failed with the command that retries it, and a summary of the night', async () => {
    await looking(`${small}#view=failures`, async ({ page, found }) => {
      expect(await page.getByRole('region', { name: 'Command that retries them' }).innerText()).toBe(
        "nightrender retry '/home/me/my night/pipeline.yaml' --kind job-failed",
      );
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.getByRole('button', { name: 'Copy' }).click();
      await expect.poll(() => page.locator('.copyable').innerText()).toMatch(/Copied/);
      const failed = page.locator('article .picture');
      await expect.poll(() => failed.count()).toBe(6);
      expect(await failed.first().innerText()).toMatch(
        /job-failed\s+a lighthouse in winter, number 19\s+s19/,
      );
      await failed.nth(1).click();
      await expect.poll(() => page.locator(`${dialog} h2`).innerText()).toBe('s39');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Show them' }).click();
      await expect.poll(found).toMatch(/^15 of 300 scenes( · |$)/);
    });
    await looking(`${small}#view=night`, async ({ page }) => {
      const charts = await page
        .locator('svg[role=img]')
        .evaluateAll((all) => all.map((svg) => svg.getAttribute('aria-label')));
      expect(charts.join('\n')).toMatch(/285 scenes saved and 15 failed in/);
      const throughput = page.locator('.chart').first();
      expect(await throughput.locator('.unit').innerText()).toBe('scenes a minute');
      expect(await throughput.locator('.scale small').allInnerTexts()).toEqual(['2', '1', '0']);
      const times = await throughput.locator('.ticks small').allInnerTexts();
      expect(times).toEqual(['00:00', '03:00', '06:00']);
      expect(charts.join('\n')).toMatch(/Execution of 285 jobs: half within 3\.\d s, 95 % within 5\.\d s/);
    });
  });

  it.each([390, 800, 1280])('begins with complete pictures at %i pixels', async (width) => {
    await looking(
      small,
      async ({ page }) => {
        const first = page.locator('.picture img').first();
        await first.waitFor();
        const { width: w = 0, height: h = 1 } = (await first.boundingBox()) ?? {};
        expect((await page.locator('.frame').first().boundingBox())?.y).toBeLessThan(200);
        expect(w / h).toBeCloseTo(4 / 3, 1);
        expect(await page.locator('.head').innerText()).toMatch(
          /my night\/out\s+15 failed\s+285 of 300 scenes · 6\.00 USD \+ 1 unknown · 10 h 10 min/,
        );
        expect(await page.locator('.picture .words').nth(6).innerText()).toBe(
          'a lighthouse in autumn, number 6',
        );
      },
      { width },
    );
  });

  it('hides the grid if no two columns have few values', async () => {
    const own = join(folder, 'plain');
    const { url } = await writtenReport(own, [{ ...savedRow, pictures: [] }], ['id', 'scene']);
    await looking(`${url}#view=grid`, async ({ page }) => {
      await page.locator('.picture').first().waitFor();
      expect(await page.getByRole('button', { name: 'Grid' }).count()).toBe(0);
    });
  });

  it.each([360, 1280, 2200])('fits into %i pixels', async (width) => {
    for (const view of [
      '',
      '#view=grid',
      '#view=failures',
      '#view=night',
      '#scene=1&id=s0',
      '#scene=20&id=s19',
      side,
    ])
      await looking(
        small + view,
        async ({ page }) => {
          await partOf(page, view).waitFor();
          const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
          expect(over, view).toBeLessThanOrEqual(0);
        },
        { width },
      );
  });

  it.each(['light', 'dark'] as const)(
    'can be used without seeing it, and read if it is %s',
    async (colors) => {
      for (const view of ['', '#view=grid', '#view=failures', '#view=night', '#scene=1&id=s0', side])
        await looking(
          small + view,
          async ({ page }) => {
            await partOf(page, view).waitFor();
            expect(await page.evaluate(unusable), view).toEqual([]);
          },
          { colors },
        );
    },
  );

  it('shows that the report was replaced while it was open', async () => {
    const own = join(folder, 'replaced');
    const { url } = await smallReport(own);
    if (browser === undefined) throw new Error('no browser');
    const { page } = await openPage(browser);
    await page.goto(url);
    await page.locator('.picture').first().waitFor();
    const [rows = ''] = await readdir(join(own, 'report/gallery'));
    await smallReport(own);
    expect(await readdir(join(own, 'report/gallery'))).not.toContain(rows);
    await page.evaluate('location.reload()');
    await page.locator('.picture').first().waitFor();
    await rm(join(own, 'report/gallery'), { recursive: true });
    await page.evaluate('location.reload()');
    await page.getByText('A newer report was written').waitFor();
    await page.context().close();
  });
});

describe.skipIf(noBrowser !== undefined)(
  'a hundred thousand scenes (skipped if there is no chromium)',
  () => {
    it('are less than a megabyte until they are looked at', async () => {
      const index = fileURLToPath(large);
      expect(statSync(index).size).toBeLessThan(1_000_000);
      const loaded: string[] = [];
      if (browser === undefined) throw new Error('no browser');
      const { page } = await openPage(browser);
      page.on('request', (request) => loaded.push(request.url()));
      const from = performance.now();
      await page.goto(large);
      await page.locator('.picture').nth(59).waitFor();
      console.log(
        `first page after ${Math.round(performance.now() - from)} ms, index of ${statSync(index).size} bytes`,
      );
      expect(loaded.filter((url) => url.endsWith('.js'))).toHaveLength(1);
      expect(await page.locator('*').count()).toBeLessThan(1_000);
      // Both the thumbnail and the picture itself are missing.
      await expect
        .poll(() => page.locator('.picture .word').first().innerText())
        .toMatch(/the file is missing$/);
      await page.context().close();
    });

    it('are all reached, found and sorted', async () => {
      if (browser === undefined) throw new Error('no browser');
      const { page } = await openPage(browser);
      const found = (): Promise<string> => page.locator('.found').innerText();
      await page.goto(`${large}#page=1667`);
      await expect.poll(() => captions(page)).toContain('scene-99999');
      const from = performance.now();
      await page.getByLabel('Search prompts and columns').fill('99999:');
      await expect.poll(found, { timeout: 60_000 }).toMatch(/^1 of 100,000 scenes · /);
      console.log(`found after ${Math.round(performance.now() - from)} ms`);
      await page.goto(`${large}#order=last`);
      await page.reload();
      await expect.poll(() => captions(page), { timeout: 60_000 }).toContain('scene-99999');
      await page.context().close();
    });
  },
);

/** Finds problems for people with a screen reader, a keyboard or weak eyesight. Runs in the page. */
const unusable = `(() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (element) => element.checkVisibility();
  for (const selector of ['header', 'nav', 'main', 'footer', 'h1'])
    if (all('#page > ' + selector + ', #page > * > ' + selector).length === 0) wrong.push('no ' + selector);
  if (document.documentElement.lang === '') wrong.push('no language');
  for (const img of all('img')) if (!img.alt) wrong.push('a picture without words');
  for (const svg of all('svg')) if (!svg.getAttribute('aria-label')) wrong.push('a chart without words');
  for (const control of all('button, input, select, a').filter(shown)) {
    const label = control.labels?.[0]?.innerText || control.innerText || control.getAttribute('aria-label');
    const name = label || control.querySelector('img')?.alt;
    if (!name?.trim()) wrong.push('no name: ' + control.outerHTML.slice(0, 90));
    if (control.tabIndex < 0) wrong.push('no keyboard: ' + control.outerHTML.slice(0, 90));
  }
  for (const element of all('[onclick]:not(button)')) wrong.push('a click without a button: ' + element.outerHTML.slice(0, 90));
  const ids = all('[id]').map(({ id }) => id);
  if (new Set(ids).size < ids.length) wrong.push('an id twice');
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = numbers(getComputedStyle(each).backgroundColor);
      if ((color[3] ?? 1) === 1) return color;
    }
    return numbers(getComputedStyle(document.body).backgroundColor);
  };
  for (const element of all('main *, header *, nav *, dialog[open] *').filter(shown)) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    if (element.matches(':disabled, option, .badge, .unseen')) continue;
    const [a, b] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) wrong.push('contrast ' + contrast.toFixed(1) + ': ' + element.outerHTML.slice(0, 90));
  }
  return [...new Set(wrong)];
})()`;
