/**
 * Promise: clips play in the gallery when the pointer is on them, in the open scene, and side by side in step. `watch`
 * sends the byte ranges that a player requests.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClipFacts, ClipFormat } from '../../../src/runner/core/clip.ts';
import { thumbnailOf, withFormat } from '../../../src/runner/core/picture.ts';
import type { SceneRecord } from '../../../src/runner/core/scene-record.ts';
import type { AlbumEntry } from '../../../src/runner/core/gallery-data.ts';
import { fromServer, galleryRow } from '../../../src/runner/report/gallery-row.ts';
import { pageWithData } from '../../../src/runner/report/write-report.ts';
import { clip } from '../../fakes/clips.ts';
import { savedRow } from '../../runner/report/report-fixtures.ts';
import { startWatch } from '../../runner/watch/watch-harness.ts';
import { noBrowser, openBrowser, openPage, type OpenPage, type PageOptions } from '../browser.ts';
import { contrasts } from '../contrast.ts';
import { picture, writtenReport } from '../gallery-report.ts';

let browser: Browser;
let folder = '';
let url = '';

interface Made {
  row: SceneRecord;
  bytes: Buffer;
}

function made(id: string, format: ClipFormat, seconds: number, shape = { width: 64, height: 48 }): Made {
  const isSound = format === 'WAV';
  const size = isSound ? { width: 0, height: 0 } : shape;
  const bytes = clip(format, { seconds, mark: id });
  const facts: ClipFacts = {
    durationMs: seconds * 1000,
    ...(isSound ? {} : { frameRate: 8, codecs: ['vp8'] }),
  };
  const file = withFormat(id, format);
  const sha256 = Buffer.from(id).toString('hex').padEnd(64, '0').slice(-64);
  const saved = { file, ...size, bytes: bytes.length, sha256, output: { clip: facts } };
  const columns = { id, scene: `waves at dusk, ${id}` };
  const row = { ...savedRow, id, pictures: [saved], columns, input: { scene: columns.scene } };
  return { row, bytes };
}

const scenes = [
  made('shown', 'WebM', 6),
  made('second', 'WebM', 3),
  made('voice', 'WAV', 4),
  made('moving', 'GIF', 2),
  made('plain', 'WebM', 2),
  made('tall', 'WebM', 2, { width: 24, height: 96 }),
];
const rows = scenes.map(({ row }) => row);

beforeAll(async () => {
  if (noBrowser !== undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'gallery-clips-'));
  browser = await openBrowser();
  const [first] = rows[0]?.pictures ?? [];
  const poster = join(folder, 'report', (first && thumbnailOf(first)) ?? '');
  await mkdir(dirname(poster), { recursive: true });
  await writeFile(poster, await picture(64, 48, 1));
  await mkdir(join(folder, 'images'));
  for (const { row, bytes } of scenes)
    await writeFile(join(folder, 'images', row.pictures[0]?.file ?? ''), bytes);
  ({ url } = await writtenReport(folder, rows, ['id', 'scene']));
});

afterAll(async () => {
  if (noBrowser !== undefined) return;
  await browser.close();
  await rm(folder, { recursive: true });
});

/** Opens the page and calls `look`. Fails if the page had errors. `asked`: files that the page requested. */
async function looking(
  hash: string,
  look: (opened: OpenPage & { asked: string[] }) => Promise<void>,
  options: PageOptions & { motion?: 'reduce' | 'no-preference' } = {},
): Promise<void> {
  const opened = await openPage(browser, options);
  const { page, troubles } = opened;
  await page.emulateMedia({ reducedMotion: options.motion ?? 'no-preference' });
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url().replace(/.*\//, '')));
  await page.goto(url + hash);
  await page.locator('.clip').nth(4).waitFor();
  await look({ ...opened, asked });
  expect(troubles).toEqual([]);
  await page.context().close();
}

function tile(page: Page, id: string) {
  return page.locator(`li[data-scene="${id}"]`);
}

/** Returns the time of the first player that matches, in seconds. -1 if there is none. */
function timeOf(page: Page, selector: string): Promise<number> {
  return page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.currentTime ?? -1`);
}

describe.skipIf(noBrowser !== undefined)('clips (skipped if there is no chromium)', () => {
  it('are tiles with poster or name, and load nothing before somebody looks', async () => {
    await looking('', async ({ page, asked }) => {
      expect(await tile(page, 'shown').locator('img').getAttribute('alt')).toBe('waves at dusk, shown');
      expect(await tile(page, 'shown').locator('.length').innerText()).toBe('0:06');
      expect(await tile(page, 'second').locator('.name').innerText()).toBe('second.webm');
      expect(await tile(page, 'voice').locator('.name').innerText()).toBe('voice.wav');
      expect(await page.getByRole('button', { name: 'waves at dusk, voice: ' }).count()).toBe(1);
      await expect.poll(() => asked.filter((file) => file.endsWith('.jpg'))).toHaveLength(1);
      expect(asked.filter((file) => /\.(webm|wav)$/.test(file))).toEqual([]);
    });
  });

  it('play without sound while the pointer or the focus is on them', async () => {
    await looking('', async ({ page, asked }) => {
      await tile(page, 'second').hover();
      await expect.poll(() => timeOf(page, '[data-scene=second] video')).toBeGreaterThan(0.2);
      expect(await page.evaluate("document.querySelector('[data-scene=second] video').muted")).toBe(true);
      await tile(page, 'voice').hover();
      await expect.poll(() => page.locator('.clip video').count()).toBe(0);
      await tile(page, 'moving').locator('.picture').focus();
      await page.keyboard.press('Tab');
      await tile(page, 'plain').locator('.picture').focus();
      await expect.poll(() => timeOf(page, '[data-scene=plain] video')).toBeGreaterThan(0);
      expect(asked).not.toContain('voice.wav');
    });
  });

  it('do not play if the reader prefers reduced motion, or under a finger', async () => {
    const still = async ({ page, asked }: OpenPage & { asked: string[] }): Promise<void> => {
      await tile(page, 'second').locator('.picture').click();
      await page.locator('dialog video').waitFor();
      await page.keyboard.press('Escape');
      await tile(page, 'plain').hover();
      await tile(page, 'shown').hover();
      expect(asked.filter((file) => file.endsWith('.webm'))).toEqual([]);
    };
    await looking('', still, { motion: 'reduce' });
    await looking(
      '',
      async ({ page, asked }) => {
        await tile(page, 'second').tap();
        await page.locator('dialog video').waitFor();
        expect(asked.filter((file) => file.endsWith('.webm'))).toEqual([]);
      },
      { hasTouch: true, width: 390 },
    );
  });

  it('have a player in the open scene, which handles its own keys', async () => {
    await looking('#scene=1&id=shown', async ({ page, asked }) => {
      const facts = page.getByRole('region', { name: 'Clip' });
      expect(await facts.innerText()).toMatch(/shown\.webm[^]*64 × 48[^]*6\.0 s[^]*8 a second[^]*vp8/);
      expect(asked).not.toContain('shown.webm');
      await page.keyboard.press(' ');
      await expect.poll(() => timeOf(page, 'dialog video')).toBeGreaterThan(0.2);
      await page.keyboard.press(' ');
      await expect.poll(() => page.evaluate("document.querySelector('dialog video').paused")).toBe(true);
      await page.locator('dialog video').focus();
      await page.keyboard.press('ArrowRight');
      expect(await page.locator('dialog h2').innerText()).toBe('shown');
      await page.evaluate("document.querySelector('dialog').focus()");
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => page.locator('dialog h2').innerText()).toBe('second');
      await page.keyboard.press('ArrowRight');
      await page.locator('dialog audio').waitFor();
      await page.keyboard.press(' ');
      await expect.poll(() => timeOf(page, 'dialog audio')).toBeGreaterThan(0.2);
      await page.keyboard.press('s');
      await expect.poll(() => page.locator('dialog .star[aria-pressed=true]').count()).toBe(1);
    });
  });

  it('keep their player and its focus if the browser cannot play them, and say so', async () => {
    await looking('#scene=1&id=shown', async ({ page }) => {
      const player = page.locator('dialog video[controls]');
      await player.focus();
      const before = await player.elementHandle();
      await player.dispatchEvent('error');
      await page.getByRole('alert').getByText('This browser cannot play it').waitFor();
      expect(await before?.evaluate((video) => video.matches(':focus'))).toBe(true);
    });
  });

  it('play in step side by side: one button, one slider, the longer one to its end', async () => {
    const players = '[...document.querySelectorAll("[data-step]")]';
    await looking('#side=1.1.shown&side=2.1.second', async ({ page }) => {
      const times = (): Promise<number[]> => page.evaluate(`${players}.map((each) => each.currentTime)`);
      await page.locator('[data-step]').nth(1).waitFor();
      const slider = page.getByRole('slider', { name: 'Time in all clips' });
      await expect.poll(() => slider.getAttribute('max')).toMatch(/^6/);
      await page.keyboard.press(' ');
      await expect.poll(async () => Math.min(...(await times()))).toBeGreaterThan(0.5);
      // A clip that was set back catches up with the other.
      await page.evaluate(`${players}[1].currentTime = 0`);
      await expect
        .poll(async () => {
          const [a = 0, b = 0] = await times();
          return a > 0.8 && Math.abs(a - b) < 0.25;
        })
        .toBe(true);
      await page.getByRole('button', { name: 'Pause' }).click();
      await expect.poll(() => page.evaluate(`${players}.every((each) => each.paused)`)).toBe(true);
      await slider.fill('2');
      await expect.poll(times).toEqual([2, 2]);
      await slider.fill('5');
      await expect.poll(async () => (await times())[0]).toBe(5);
      expect((await times())[1]).toBeLessThan(3.2);
      await page.getByRole('button', { name: 'Play' }).click();
      await page.getByRole('button', { name: 'Play' }).waitFor();
      await expect.poll(() => page.evaluate(`${players}[0].ended`)).toBe(true);
    });
  });

  it('are whole side by side, also if they are tall', async () => {
    await looking('#side=1.1.shown&side=6.1.tall', async ({ page }) => {
      await page.locator('[data-step]').nth(1).waitFor();
      const heights = `[...document.querySelectorAll('.panes :is(figure, video)')].map((each) => each.clientHeight)`;
      await expect
        .poll(async () => new Set(await page.evaluate<number[]>(heights)).size, { timeout: 10_000 })
        .toBe(1);
    });
  });

  it.each([
    [390, 'light'],
    [390, 'dark'],
    [1280, 'light'],
    [1280, 'dark'],
  ] as const)('can be read and fit into %i pixels, %s', async (width, colors) => {
    for (const hash of ['', '#scene=3&id=voice', '#side=1.1.shown&side=3.1.voice'])
      await looking(
        hash,
        async ({ page }) => {
          if (hash !== '')
            await page.locator('dialog :is(video, audio)').first().waitFor({ state: 'attached' });
          // Different words have a translucent background, whose contrast cannot be measured.
          const texts = hash.startsWith('#side') ? [] : await contrasts(page);
          expect(texts.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
          const over =
            'Math.max(document.body.scrollWidth, document.querySelector("dialog")?.scrollWidth ?? 0)';
          expect(await page.evaluate(`${over} - innerWidth`)).toBeLessThanOrEqual(0);
        },
        { width, colors, motion: 'reduce' },
      );
  });

  it('play in an exported gallery, and are starred there', async () => {
    const pictures: AlbumEntry[] = scenes.slice(0, 3).map(
      ({
        row: {
          id,
          pictures: [saved],
        },
        bytes,
      }) => {
        const { file = '', width = 0, height = 0, output } = saved ?? {};
        const { durationMs = 0 } = output?.clip ?? {};
        const entry = { id: id ?? '', file: `../images/${file}`, width, height, text: `about ${id}` };
        return { ...entry, clip: { bytes: bytes.length, durationMs } };
      },
    );
    const page = await pageWithData(
      'album',
      { title: 'for Anna', key: 'anna', pictures },
      { title: 'for Anna', elsewhere: '' },
    );
    await mkdir(join(folder, 'album'), { recursive: true });
    await writeFile(join(folder, 'album', 'index.html'), page);
    const album = await openPage(browser);
    await album.page.goto(url.replace(/report\/index.*/, 'album/index.html'));
    expect(await album.page.locator('h1').innerText()).toMatch(/^for Anna\s+3 clips$/);
    await album.page.locator('.picture').nth(2).click();
    await album.page.locator('dialog audio').waitFor();
    await album.page.keyboard.press(' ');
    await expect.poll(() => timeOf(album.page, 'dialog audio')).toBeGreaterThan(0.2);
    await album.page.keyboard.press('s');
    await album.page.keyboard.press('ArrowLeft');
    await album.page.locator('dialog video').waitFor();
    expect(await album.page.locator('header .star').innerText()).toBe('★ 1 starred');
    expect(album.troubles).toEqual([]);
    await album.page.context().close();
  });

  it('can be sought through `watch`, which sends byte ranges', async () => {
    const watch = await startWatch(undefined, 20);
    const long = clip('WAV', { seconds: 60 });
    await writeFile(join(watch.imagesDir, 'voice.wav'), long);
    const row = rows[2];
    if (row === undefined) throw new Error('no scene');
    const shown = galleryRow(row, ['id', 'scene'], fromServer(join(watch.thumbnailsDir, '..')));
    watch.reading.list = { rows: [1], changed: [], arrived: [{ picture: 1, index: 0, row: shown }] };
    const { page } = await openPage(browser, { isAllowed: (asked) => asked.startsWith(watch.url) });
    const ranges: (string | null)[] = [];
    page.on('response', async (answer) => {
      if (answer.url().includes('voice.wav'))
        ranges.push(`${answer.status()} ${await answer.headerValue('content-range')}`);
    });
    await page.goto(watch.url);
    const player = `const audio = new Audio('images/voice.wav?v=ab'); audio.muted = true; audio.currentTime = 50;`;
    await page.evaluate(`${player} globalThis.player = audio; audio.play()`);
    await expect.poll(() => page.evaluate('globalThis.player.currentTime')).toBeGreaterThan(50.2);
    await expect.poll(() => ranges[0]).toMatch(/^206 bytes 0-/);
    expect(watch.troubles).toEqual([]);
    await page.context().close();
  });
});
