/** Promise: pictures can be zoomed, and two to four of them compared, with the differences between them. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SceneRecord } from '../../../src/runner/core/scene-record.ts';
import { thumbnailOf } from '../../../src/runner/core/picture.ts';
import { apart } from '../../../src/web/gallery/scene-picture.ts';
import { savedRow } from '../../runner/report/report-fixtures.ts';
import { noBrowser, openBrowser, openPage, type PageOptions } from '../browser.ts';
import { picture, writtenReport } from '../gallery-report.ts';

let browser: Browser;
let folder = '';
let url = '';

/**
 * One row of a list in two seasons, two sizes and two seeds each, 20 other rows, and the first row as it was before an
 * edit.
 */
const rows: SceneRecord[] = [
  ...['spring', 'autumn'].flatMap((season) =>
    [1, 2].flatMap((size) => [11, 12].map((seed) => row('An old harbour at dawn', season, size, seed))),
  ),
  ...Array.from({ length: 20 }, (_, index) => row(`other ${index}`, 'spring', 1, 11)),
  { ...row('A new harbour at dawn', 'spring', 1, 11), state: 'withdrawn' },
];

function row(scene: string, season: string, size: number, seed: number): SceneRecord {
  const id = `${scene.replace(/^An old|^A new/, '').trim()}-${season}-${size}-${seed}`;
  const file = `${scene}-${season}-${size}-${seed}.png`;
  const sha256 = Buffer.from(file).toString('hex').padEnd(64, '0').slice(-64);
  return {
    ...savedRow,
    id,
    pictures: [{ file, width: 600, height: 400, bytes: 90_000, sha256, seed: String(seed) }],
    columns: { id, scene, season, size, seed },
    input: { scene, steps: 30 },
  };
}

beforeAll(async () => {
  if (noBrowser !== undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'gallery-compared-'));
  browser = await openBrowser();
  ({ url } = await writtenReport(folder, rows, ['id', 'scene', 'season', 'size', 'seed'], {
    saved: rows.length - 1,
    withdrawn: 1,
  }));
  for (const [index, { pictures }] of rows.entries())
    for (const one of pictures) {
      await written(join(folder, 'images', one.file), await picture(600, 400, index));
      await written(join(folder, 'report', thumbnailOf(one) ?? ''), await picture(320, 213, index));
    }
});

afterAll(async () => {
  if (noBrowser !== undefined) return;
  await browser.close();
  await rm(folder, { recursive: true });
});

async function written(path: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
}

/** Opens the page and calls `look`. Fails if the page had errors. */
async function looking(
  hash: string,
  look: (page: Page) => Promise<void>,
  options: PageOptions = {},
): Promise<void> {
  const { page, troubles } = await openPage(browser, options);
  await page.goto(url + hash);
  await page.locator('.picture img').first().waitFor();
  await look(page);
  expect(troubles).toEqual([]);
  await page.context().close();
}

/** Returns the number of pictures in the first row. */
function inFirstRow(page: Page): Promise<number> {
  return page.locator('.pictures > li:not(.filler)').evaluateAll((all) => {
    const topOf = (each: unknown): number =>
      (each as { getBoundingClientRect(): { top: number } }).getBoundingClientRect().top;
    return all.filter((each) => Math.abs(topOf(each) - topOf(all[0])) < 1).length;
  });
}

/** Returns the largest ratio of screen pixels to picture pixels. Above 1, a picture is stretched. */
function stretched(page: Page): Promise<number> {
  return page.evaluate(
    `Math.max(...[...document.querySelectorAll('.frame img')].filter((img) => img.naturalWidth > 0).map((img) => img.clientWidth / img.naturalWidth))`,
  );
}

describe.skipIf(noBrowser !== undefined)('tiles (skipped if there is no chromium)', () => {
  it('stand one to twelve in a row, are never stretched, and keep the chosen size', async () => {
    await looking('', async (page) => {
      expect(await inFirstRow(page)).toBe(5);
      const slider = page.getByRole('slider', { name: 'How large pictures are' });
      await slider.focus();
      await page.keyboard.press('Home');
      await expect.poll(() => inFirstRow(page)).toBe(12);
      expect(await slider.getAttribute('aria-valuetext')).toBe('12 in a row');
      expect(await page.locator('.words:visible, .caption:visible').count()).toBe(0);
      // The second key comes before the page is painted again.
      await page.evaluate(`(async () => {
        for (let nth = 1; nth <= 2; nth++) {
          document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }));
          await new Promise((resolve) => setTimeout(resolve));
        }
      })()`);
      await expect.poll(() => inFirstRow(page)).toBe(10);
      await page.keyboard.press('-');
      await expect.poll(() => inFirstRow(page)).toBe(11);
      await page.keyboard.press('End');
      await expect.poll(() => inFirstRow(page)).toBe(1);
      const first = page.locator('.frame img').first();
      await expect.poll(() => first.getAttribute('src')).toMatch(/images\/An%20old/);
      await expect.poll(() => stretched(page)).toBeLessThanOrEqual(1);
      await page.reload();
      await expect.poll(() => inFirstRow(page)).toBe(1);
    });
  });

  it('are thumbnails if these are large enough', async () => {
    await looking('', async (page) => {
      await expect.poll(() => stretched(page)).toBeGreaterThan(0);
      expect(await stretched(page)).toBeLessThanOrEqual(1);
      const sources = await page
        .locator('.frame img')
        .evaluateAll((all) => all.map((img) => img.getAttribute('src')));
      expect(sources.filter((source) => !source?.startsWith('thumbnails/'))).toEqual([]);
    });
  });

  it('stand two in a row on a phone', async () => {
    await looking('', async (page) => expect(await inFirstRow(page)).toBe(2), { width: 390, height: 844 });
  });
});

const harbour = '&scene=1&id=harbour%20at%20dawn-spring-1-11';

describe.skipIf(noBrowser !== undefined)('pictures side by side (skipped if there is no chromium)', () => {
  it('are picked by key, at most four, until Escape or Back', async () => {
    await looking('', async (page) => {
      for (const index of [0, 1, 2, 3, 4]) {
        await page.locator('.picture').nth(index).focus();
        await page.keyboard.press('p');
      }
      expect(await page.locator('.pick[aria-pressed=true]').allInnerTexts()).toEqual(['A', 'B', 'C', 'D']);
      await page.keyboard.press('c');
      await expect.poll(() => namesOf(page)).toHaveLength(4);
      await page.keyboard.press('Escape');
      await expect.poll(() => page.locator('dialog').count()).toBe(0);
      expect(new URL(page.url()).hash).toBe('');
      await page.getByRole('button', { name: 'Compare 4' }).click();
      await expect.poll(() => page.locator('dialog figure').count()).toBe(4);
      const { hash } = new URL(page.url());
      await page.goBack();
      await expect.poll(() => page.locator('dialog').count()).toBe(0);
      await page.goto(url + hash);
      await expect.poll(() => page.locator('dialog figure').count()).toBe(4);
      await page.keyboard.press('Escape');
      await expect.poll(() => page.locator('dialog').count()).toBe(0);
    });
  });

  it('stay open after Back and Forward in quick succession', async () => {
    await looking(sidesOf(1, 2), async (page) => {
      await page.locator('dialog figure').nth(1).waitFor();
      // The address changes in the moment in which the dialog is removed.
      await page.evaluate(`new Promise((resolve) => {
        const { hash } = location;
        new MutationObserver((_, observer) => {
          if (document.querySelector('dialog') !== null) return;
          observer.disconnect();
          location.hash = hash;
          resolve();
        }).observe(document.body, { childList: true, subtree: true });
        location.hash = '';
      })`);
      await expect.poll(() => page.locator('dialog figure').count()).toBe(2);
      // Two frames later the dialog is still open.
      await page.evaluate('new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))');
      expect(await page.locator('dialog figure').count()).toBe(2);
    });
  });

  it('are offered with an open scene: its version before an edit, other seeds, and other values of a list', async () => {
    await looking(`#${harbour}`, async (page) => {
      const offers = page.getByRole('region', { name: 'Compare with' }).getByRole('button');
      await expect
        .poll(() => offers.allInnerTexts())
        .toEqual(['before the edit', 'seed 12', 'size 2', 'season autumn']);
      await offers.first().click();
      await expect.poll(() => namesOf(page)).toHaveLength(2);
      expect(await differences(page)).toEqual([
        ['state', 'withdrawn', 'saved'],
        ['prompt', 'A new harbour at dawn', 'An old harbour at dawn'],
        ['file', 'A new harbour at dawn-spring-1-11.png', 'An old harbour at dawn-spring-1-11.png'],
      ]);
      expect(await page.locator('dialog td mark').first().innerText()).toBe('A new ');
      await page.getByText('6 more values equal in all').click();
      expect(await page.locator('.compared dl').innerText()).toMatch(/season\s+spring[^]*steps\s+30/);
      await page.keyboard.press('Escape');
      // The page is back at the scene from which the comparison was opened.
      await expect.poll(() => page.locator('dialog').count()).toBe(1);
      await offers.nth(3).click();
      await expect
        .poll(async () => (await differences(page)).map(([name]) => name))
        .toEqual(['id', 'season', 'file']);
    });
  });

  it('are moved and zoomed together, by key, wheel and drag', async () => {
    await looking(
      sidesOf(1, 2),
      async (page) => {
        const images = page.locator('dialog figure img');
        await loaded(images, 2);
        const places = async (): Promise<number[][]> => [
          await placeOf(images.first()),
          await placeOf(images.nth(1)),
        ];
        const [[, , width = 0] = []] = await places();
        await page.keyboard.press('+');
        await expect
          .poll(async () => (await places()).map(([, , now]) => Math.round(now ?? 0)))
          .toEqual([1.25, 1.25].map((times) => Math.round(width * times)));
        const [x = 0, y = 0] = await placeOf(page.locator('dialog figure').first());
        await page.mouse.move(x + 100, y + 100);
        await page.mouse.wheel(0, -500);
        await page.mouse.down();
        await page.mouse.move(x + 130, y + 90, { steps: 3 });
        await page.mouse.up();
        await expect.poll(async () => (await places())[0]?.[2]).toBeGreaterThan(width * 2);
        const [a = [], b = []] = await places();
        const between = (await placeOf(page.locator('dialog figure').nth(1)))[0] ?? 0;
        expect(b.map(Math.round)).toEqual([(a[0] ?? 0) + between - x, ...a.slice(1)].map(Math.round));
        await page.keyboard.press('0');
        await expect.poll(async () => (await places())[0]?.[2]).toBeCloseTo(width);
        await page.keyboard.press('1');
        // At key 1, a picture pixel is a screen pixel.
        await expect.poll(async () => (await places())[0]?.[2]).toBeCloseTo(600, 0);
      },
      { width: 900 },
    );
  });

  it('are wiped one over the other, by key, slider and drag', async () => {
    await looking(sidesOf(1, 2), async (page) => {
      const over = page.locator('dialog figure').nth(1);
      await over.waitFor();
      await page.keyboard.press('w');
      const slider = page.getByRole('slider', { name: 'Where A ends and B begins' });
      expect(await slider.inputValue()).toBe('0.5');
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => slider.inputValue()).toBe('0.55');
      const [x = 0, y = 0, width = 0] = await placeOf(over);
      await page.mouse.move(x + 50, y + 100);
      await page.mouse.down();
      await page.mouse.move(x + width / 4, y + 100);
      await page.mouse.up();
      await expect.poll(async () => Number(await slider.inputValue())).toBeCloseTo(0.25);
      const shown = (share: number): Promise<string | null> =>
        page.evaluate(
          `document.elementFromPoint(${x + width * share}, ${y + 100})?.closest('figure')?.getAttribute('aria-label')[0]`,
        );
      expect([await shown(0.2), await shown(0.3)]).toEqual(['A', 'B']);
    });
  });

  it('are marked by key: the picture under the pointer gets the mark', async () => {
    await looking(sidesOf(1, 2), async (page) => {
      await page.locator('dialog figure').nth(1).hover();
      await page.keyboard.press('s');
      const pressed = page.locator('dialog th [aria-pressed=true]');
      await expect.poll(() => pressed.count()).toBe(1);
      expect(await pressed.locator('..').getAttribute('data-scene')).toBe(rows[1]?.id);
    });
  });

  it.each([390, 1280])('fit into %i pixels', async (width) => {
    await looking(
      sidesOf(1, 2, 3, 4),
      async (page) => {
        await loaded(page.locator('dialog figure img'), 4);
        const [first, second] = [
          await placeOf(page.locator('dialog figure').first()),
          await placeOf(page.locator('dialog figure').nth(1)),
        ];
        // On a phone the pictures are one below the other.
        expect(first[0] === second[0]).toBe(width === 390);
        const over = await page.evaluate("document.querySelector('dialog').scrollWidth - innerWidth");
        expect(over).toBeLessThanOrEqual(0);
      },
      { width, height: 844 },
    );
  });
});

it('a comparison shows only the words in which texts differ', () => {
  expect(apart(['a red fox at dusk', 'a big blue fox at dusk'])).toEqual([
    ['a ', 'red ', 'fox at dusk'],
    ['a ', 'big blue ', 'fox at dusk'],
  ]);
  expect(apart(['fox fox', 'fox', ''])).toEqual([
    ['', 'fox fox', ''],
    ['', 'fox', ''],
    ['', '', ''],
  ]);
});

function sidesOf(...numbers: number[]): string {
  return `#${numbers.map((number) => `side=${number}.1.${encodeURIComponent(rows[number - 1]?.id ?? '')}`).join('&')}`;
}

function namesOf(page: Page): Promise<string[]> {
  return page.locator('dialog figcaption').allInnerTexts();
}

/** Returns the rows of the table: the name of the difference, and the text of each side. */
async function differences(page: Page): Promise<string[][]> {
  const all = await page.locator('.compared tbody tr').all();
  return Promise.all(all.map((each) => each.locator('th, td').allInnerTexts()));
}

/** Waits until this number of images is loaded. Their size on the page depends on it. */
function loaded(images: Locator, count: number): Promise<void> {
  return expect
    .poll(() => images.evaluateAll((all) => all.filter((img) => Reflect.get(img, 'naturalWidth') > 0).length))
    .toBe(count);
}

/** Returns left, top, width and height in the window. */
async function placeOf(element: Locator): Promise<number[]> {
  const { x = 0, y = 0, width = 0, height = 0 } = (await element.boundingBox()) ?? {};
  return [x, y, width, height];
}
