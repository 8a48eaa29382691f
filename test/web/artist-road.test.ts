/** Promise: an artist turns a spreadsheet into a folder of pictures that a client can open, without writing code. */
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { nightWith, Program, folderWith } from '../e2e/cli.ts';
import { textRow, workbook } from '../fakes/workbook.ts';
import { noBrowser, openBrowser, openPage } from './browser.ts';
import { look } from './watched.ts';

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => noBrowser ?? browser.close());

const prompts = ['a castle on a hill', 'a windmill in a meadow', 'a cabin by the lake', 'a harbour town'];

it.skipIf(noBrowser !== undefined)(
  'from a spreadsheet to the gallery that a client opens from a disk (skipped if there is no chromium)',
  async () => {
    const rows = prompts.map((prompt, index) => textRow(index + 2, `shot-${index + 1}`, prompt));
    const sheet = workbook({ rows: [textRow(1, 'id', 'prompt'), ...rows].join('') });
    const night = nightWith({ 'shots.xlsx': sheet });
    await night.start('init', '--manifest', 'shots.xlsx').exits(0);
    // The comment in the file suggests this setting. The client must not see the metadata.
    night.write('pipeline.yaml', night.read('pipeline.yaml').replace('# metadata: embed', 'metadata: embed'));
    await night.run('--quiet').exits(0);

    const program = new Program(['watch', 'pipeline.yaml', '--json', '--port', '0'], { cwd: night.cwd });
    const { link } = await program.event('watching');
    const { page } = await look(browser, String(link));
    for (const index of [1, 3]) {
      await page.locator('.picture').nth(index).focus();
      await page.keyboard.press('s');
    }
    const marks = (): string => (night.has('renders/marks.jsonl') ? night.read('renders/marks.jsonl') : '');
    await expect.poll(marks).toMatch(/shot-2[^]*shot-4/);

    night.write(
      'large.yaml',
      `scenes: { from: pipeline.yaml, ids: marks }
endpoint: { baseUrl: local, id: scene-renderer }
input: { scene: '{{ prompt }}', width: 1152, height: 768 }
output: { dir: large, metadata: embed }
`,
    );
    await night.start('run', 'large.yaml', '--quiet').exits(0);
    await night
      .start('export', 'large.yaml', 'for-anna', '--to', 'gallery')
      .prints('2 pictures in for-anna, as gallery');

    // The client has only this folder.
    const sent = folderWith({});
    cpSync(night.path('for-anna'), sent, { recursive: true });
    const files = readdirSync(sent, { recursive: true, encoding: 'utf8' });
    const pictures = files.filter((name) => name.endsWith('.png'));
    expect(pictures.toSorted()).toEqual(['pictures/shot-2.png', 'pictures/shot-4.png']);
    const own = readFileSync(night.path('large/images/shot-2.png'), 'latin1');
    for (const secret of [...prompts, night.cwd, 'scene-renderer', 'large.yaml'])
      for (const name of files.filter((each) => statSync(join(sent, each)).isFile()))
        expect(readFileSync(join(sent, name), 'latin1'), name).not.toContain(secret);
    expect(own).toContain(prompts[1]);
    rmSync(night.path('for-anna'), { recursive: true });

    const { page: album, troubles } = await openPage(browser, { hasTouch: true });
    onTestFinished(() => album.context().close());
    await album.goto(pathToFileURL(join(sent, 'index.html')).href);
    await expect.poll(async () => (await widths(album)).filter((width) => width > 0)).toHaveLength(2);
    expect(await album.locator('h1').innerText()).toBe('for-anna 2 pictures');
    await album.locator('.picture').nth(1).click();
    await expect
      .poll(() => album.locator('dialog img').evaluate((img) => Reflect.get(img, 'naturalWidth') as number))
      .toBe(1152);
    await album.keyboard.press('s');
    await album.keyboard.press('Escape');
    await album.reload();
    await expect.poll(() => album.getByRole('button', { name: '1 starred' }).count()).toBe(1);
    // In the view of starred pictures, a picture that loses its star stays open.
    await album.getByRole('button', { name: '1 starred' }).click();
    await expect.poll(() => album.locator('.picture').count()).toBe(1);
    await album.locator('.picture').click();
    await album.keyboard.press('s');
    await expect.poll(() => album.locator('dialog').innerText()).toMatch(/1 of 1/);
    await album.keyboard.press('s');
    await album.keyboard.press('Escape');
    const download = album.waitForEvent('download');
    await album.getByRole('button', { name: 'Download list' }).click();
    const list = readFileSync(await (await download).path(), 'utf8');
    expect(list).toBe('shot-4\n');
    expect(troubles).toEqual([]);

    // A page with many pictures shows the first ones, and adds more while the reader scrolls.
    const one = readFileSync(join(sent, 'index.html'), 'utf8');
    const many = one.replace(
      /"pictures":\[(.*?)\]/,
      (_, all: string) => `"pictures":[${Array.from({ length: 100 }, () => all).join(',')}]`,
    );
    // These pictures are narrower than their tiles.
    const small = many.replaceAll('"width":1152,"height":768', '"width":192,"height":128');
    expect(small).not.toBe(many);
    writeFileSync(join(sent, 'index.html'), small);
    await album.reload();
    await album.locator('.picture').nth(119).waitFor();
    expect(await album.locator('.picture').count()).toBe(120);
    await album.getByRole('button', { name: 'Show more' }).scrollIntoViewIfNeeded();
    await expect.poll(() => album.locator('.picture').count()).toBe(200);
    const rightEdge = async (part: string): Promise<number> => {
      const { x, width } = (await album.locator(`li ${part}`).first().boundingBox()) ?? { x: 0, width: 0 };
      return x + width;
    };
    expect(await rightEdge('> .star')).toBeLessThan(await rightEdge('.frame'));

    // Moving one finger sideways shows the next picture. Two fingers zoom the page instead.
    await album.locator('.picture').first().click();
    const fingers = await album.context().newCDPSession(album);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...across: number[]) =>
      fingers.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: across.map((x, id) => ({ x, y: 300, id })),
      });
    const standing = (): Promise<string> => album.locator('dialog small').innerText();
    await touch('touchStart', 300);
    await touch('touchMove', 200);
    await touch('touchEnd');
    await expect.poll(standing).toBe('2 of 200');
    await touch('touchStart', 300);
    await touch('touchStart', 300, 320);
    await touch('touchMove', 200, 420);
    await touch('touchEnd');
    // Between the two keys the page may render but is never painted, which must not lose the first key.
    const press = (...keys: string[]): Promise<void> =>
      album.evaluate(`(async () => {
        const dialog = document.querySelector('dialog');
        for (const key of ${JSON.stringify(keys)})
          await Promise.resolve(dialog.dispatchEvent(new KeyboardEvent('keydown', { key })));
      })()`);
    await press('ArrowRight', 'ArrowRight');
    await expect.poll(standing).toBe('4 of 200');
    // A star that follows immediately is given to the picture that was just opened.
    await press('ArrowRight', 'ArrowRight', 's');
    expect(await standing()).toBe('6 of 200');
    await album.keyboard.press('Escape');
    await expect.poll(() => album.getByRole('button', { name: '0 starred' }).count()).toBe(1);

    night.write('starred.txt', list);
    await night
      .start('export', 'large.yaml', 'final', '--to', 'gallery', '--ids', 'starred.txt')
      .prints('1 picture in final, as gallery');
  },
  300_000,
);

function widths(page: Page): Promise<number[]> {
  return page
    .locator('.picture img')
    .evaluateAll((all) => all.map((img) => Reflect.get(img, 'naturalWidth') as number));
}
