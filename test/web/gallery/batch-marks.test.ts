/** Promise: marks that are set at `watch` are the same in every browser and after a restart, and a viewer can only star. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { folderWith, inProcess, pipeline, Program, scenes, withKey } from '../../e2e/cli.ts';
import { startStandIn } from '../../e2e/stand-ins.ts';
import { noBrowser, openBrowser, openPage } from '../browser.ts';
import { unzipped } from '../../runner/watch/watch-harness.ts';
import { look } from '../watched.ts';

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => noBrowser ?? browser.close());

/** Returns the folder of a finished batch of five scenes, with files of both passwords. */
async function finished(list = scenes(5), keys = 'input: {scene: "{{ scene }}"}\n'): Promise<string> {
  const service = await startStandIn();
  const cwd = folderWith({
    'pipeline.yaml': pipeline(service.url, keys),
    'scenes.csv': list,
    password: 'owner-of-pictures\n',
    'view-password': 'viewer-of-pictures\n',
  });
  expect((await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey })).code).toBe(0);
  return cwd;
}

async function watching(cwd: string, ...args: string[]): Promise<{ url: string; link: string }> {
  const program = new Program(['watch', 'pipeline.yaml', '--json', '--port', '0', ...args], { cwd });
  const { url, link } = await program.event('watching');
  return { url: String(url), link: String(link) };
}

const withPasswords = ['--password-file', 'password', '--view-password-file', 'view-password'];

async function signIn(page: Page, password: string): Promise<void> {
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function press(page: Page, index: number, key: string): Promise<void> {
  await page.locator('.picture').nth(index).focus();
  await page.keyboard.press(key);
}

const marked = (page: Page): Promise<string[]> =>
  page
    .locator('.marks [aria-pressed=true]')
    .evaluateAll((all) =>
      all.map((each) => `${each.parentElement?.dataset['scene']} ${each.getAttribute('aria-label')}`),
    );

const textOf = (page: Page): Promise<string> => page.locator('body').innerText();

describe.skipIf(noBrowser !== undefined)('marks of a batch (skipped if there is no chromium)', () => {
  it('are set by the link that watch prints, shown to everybody, and can include those of the browser', async () => {
    const cwd = await finished();
    const { url, link } = await watching(cwd);
    const { page: other, troubles } = await look(browser, url);
    await other.locator('.picture').nth(4).waitFor();
    await press(other, 3, 's');
    await expect.poll(() => marked(other)).toEqual(['s3 Star']);
    expect(await textOf(other)).toContain('Stars and other marks stay in this browser.');

    const { page } = await look(browser, link);
    await page.locator('.picture').nth(4).waitFor();
    // The password must not appear in screenshots and bookmarks.
    expect(page.url()).toBe(url);
    expect(await marked(page)).toEqual([]);
    await press(page, 0, 's');
    await press(page, 1, 'r');
    await expect.poll(() => marked(page)).toEqual(['s0 Star', 's1 Render again']);
    const kept = (): string => readFileSync(join(cwd, 'out/marks.jsonl'), 'utf8');
    await expect.poll(kept).toMatch(/s0[^]*s1/);
    await page.reload();
    await expect.poll(() => marked(page)).toEqual(['s0 Star', 's1 Render again']);
    await page.getByRole('button', { name: '1 to render again' }).click();
    const command = await page.locator('.marked pre').innerText();
    // The batch sends no seeds.
    expect(command).toMatch(/^nightrender retry .*pipeline\.yaml --marked$/);

    // This is like pasting the link into the open page.
    await other.goto(link);
    await other.getByRole('button', { name: 'Keep 1 mark of this browser with the batch' }).click();
    await expect.poll(() => marked(other)).toEqual(['s0 Star', 's1 Render again', 's3 Star']);
    await expect
      .poll(() => readFileSync(join(cwd, 'out/marks.jsonl'), 'utf8').match(/"id":"s\d"/g))
      .toEqual(['"id":"s0"', '"id":"s1"', '"id":"s3"']);
    await expect.poll(() => other.getByRole('button', { name: /^Keep/ }).count()).toBe(0);
    expect(troubles).toEqual([]);
  });

  it('are kept with the batch if the link is opened while the server does not answer', async () => {
    const { url, link } = await watching(await finished());
    const { page } = await openPage(browser, { isAllowed: (asked) => asked.startsWith(url) });
    onTestFinished(() => page.context().close());
    let asked = 0;
    await page.route('**/session', (route) => (++asked === 1 ? route.abort() : route.continue()));
    await page.goto(link);
    await page.getByText('Stars and other marks are kept with the batch').waitFor();
    expect(page.url()).toBe(url);
  });

  it('need a password if there is a file with one, and a viewer can only star', async () => {
    const cwd = await finished();
    writeFileSync(
      join(cwd, 'out/marks.jsonl'),
      '{"id":"s2","mark":"reject","at":"2026-11-29T12:00:00.000Z"}\n',
    );
    const { url } = await watching(cwd, ...withPasswords);
    const { page } = await look(browser, `${url}#password=a-link-that-was-cut%C`);
    await signIn(page, 'wrong-password');
    await expect.poll(() => textOf(page)).toContain('This is not the password.');
    expect(await textOf(page)).not.toContain('s2');
    await signIn(page, 'viewer-of-pictures');
    await page.locator('.picture').nth(4).waitFor();
    expect(await page.getByRole('button', { name: 'Reject', exact: true }).count()).toBe(0);
    await press(page, 1, 'r');
    await press(page, 1, 's');
    await expect.poll(() => marked(page)).toEqual(['s1 Star']);
    // Commands are shown only to people who have the program and the batch.
    await page.getByRole('button', { name: '1 starred' }).click();
    await page.getByRole('button', { name: 'Download the pictures (ZIP)' }).waitFor();
    expect(await page.locator('.marked pre').count()).toBe(0);
    await page.getByRole('button', { name: '1 starred' }).click();
    await page.locator('.picture').nth(4).waitFor();
    await press(page, 2, 's');
    await expect
      .poll(() => textOf(page))
      .toContain('Not kept: with this password, scenes can only be starred.');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Password').waitFor();
    await signIn(page, 'owner-of-pictures');
    await expect.poll(() => marked(page)).toEqual(['s1 Star', 's2 Reject']);
  });

  it('are set on a phone while swiping through seeds, downloaded as a ZIP, and shown in the report', async () => {
    const cwd = await finished(
      'id,prompt\nfox,a fox\nhare,a hare\nowl,an owl\n',
      'input: {scene: "{{ prompt }}", seed: "{{ seed }}"}\nscenes: {seeds: 4}\n',
    );
    const { link } = await watching(cwd);
    const { page, troubles } = await look(browser, link, { width: 390, height: 800, hasTouch: true });
    await page.locator('.picture').nth(11).waitFor();
    const captions = await page.locator('.caption').allInnerTexts();
    expect(captions.slice(0, 5)).toEqual([
      'seed 1 · fox-s1',
      'seed 2 · fox-s2',
      'seed 3 · fox-s3',
      'seed 4 · fox-s4',
      'seed 1 · hare-s1',
    ]);
    await page.locator('.picture').first().click();
    const title = () => page.locator('dialog h2').innerText();
    await expect.poll(title).toBe('fox-s1');
    await expect
      .poll(() => page.getByRole('region', { name: 'Compare with' }).getByRole('button').allInnerTexts())
      .toEqual(['seed 2', 'seed 3', 'seed 4']);
    for (const [by, then] of [
      [-150, 'fox-s2'],
      [-150, 'fox-s3'],
      [150, 'fox-s2'],
      // A finger that only trembles, or scrolls, does not turn the page.
      [-20, 'fox-s2'],
    ] as const) {
      await swipe(page, by);
      await expect.poll(title).toBe(then);
    }
    await page.locator('dialog').getByRole('button', { name: 'Star' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Close' }).click();

    const { page: desk } = await look(browser, link);
    await desk.locator('.picture').nth(11).waitFor();
    // The seeds of a prompt are in one row.
    const tops = await desk
      .locator('.picture')
      .evaluateAll((all) =>
        all.map((each) =>
          Math.round(
            (each as unknown as { getBoundingClientRect(): { top: number } }).getBoundingClientRect().top,
          ),
        ),
      );
    expect([...new Set(tops)].map((top) => tops.filter((each) => each === top).length)).toEqual([4, 4, 4]);
    await desk.getByRole('button', { name: 'Grid' }).click();
    await expect
      .poll(() => desk.locator('.cells thead th').allInnerTexts())
      .toEqual(['seed 1', 'seed 2', 'seed 3', 'seed 4']);
    expect(await desk.locator('.cells tbody th').allInnerTexts()).toEqual(['a fox', 'a hare', 'an owl']);
    await desk.getByRole('button', { name: 'Pictures', exact: true }).click();
    await desk.getByRole('button', { name: 'Filter' }).click();
    await desk.locator('.filters').getByLabel('Mark').selectOption('starred');
    await expect.poll(() => desk.locator('.found').innerText()).toMatch(/^1 of 12 scenes/);
    expect(await desk.locator('.toolbar pre').innerText()).toMatch(
      /^nightrender list .*pipeline\.yaml --starred$/,
    );
    const download = desk.waitForEvent('download');
    await desk.getByRole('button', { name: 'Download the pictures (ZIP)' }).click();
    const files = await unzipped(readFileSync(await (await download).path()));
    expect([...files]).toEqual([['fox-s2.png', readFileSync(join(cwd, 'out/images/fox-s2.png'))]]);

    expect((await inProcess(['report', 'pipeline.yaml'], { cwd, ...withKey })).code).toBe(0);
    const report = pathToFileURL(join(cwd, 'out/report/index.html')).href;
    const { page: morning } = await openPage(browser);
    await morning.goto(report);
    await expect.poll(() => marked(morning)).toEqual(['fox-s2 Star']);
    await press(morning, 2, 's');
    await press(morning, 1, 's');
    await morning.reload();
    await expect.poll(() => marked(morning)).toEqual(['fox-s3 Star']);
    // A star that is set again at `watch` overrides the earlier change in the report.
    await desk.getByRole('button', { name: 'Show everything' }).click();
    await desk.locator('.picture').nth(11).waitFor();
    await press(desk, 1, 's');
    await expect.poll(() => marked(desk)).toEqual([]);
    await press(desk, 1, 's');
    await expect
      .poll(() => readFileSync(join(cwd, 'out/marks.jsonl'), 'utf8').trim().split('\n'))
      .toHaveLength(3);
    expect((await inProcess(['report', 'pipeline.yaml'], { cwd, ...withKey })).code).toBe(0);
    await morning.reload();
    await expect.poll(() => marked(morning)).toEqual(['fox-s2 Star', 'fox-s3 Star']);
    await morning.context().close();
    expect(troubles).toEqual([]);
  });

  it('and pictures of a page with a password cannot be read by a page of the same machine', async () => {
    const cwd = await finished();
    const { url } = await watching(cwd, ...withPasswords);
    const { page } = await look(browser, url);
    await signIn(page, 'owner-of-pictures');
    await page.locator('.picture').nth(4).waitFor();
    const picture = `${url}images/s0.png`;
    const seen = (from: Page): Promise<string> =>
      from.evaluate<string>(`new Promise((resolve) => {
        const image = new Image();
        image.onload = () => resolve('shown');
        image.onerror = () => resolve('refused');
        image.src = ${JSON.stringify(picture)};
      })`);
    expect(await seen(page)).toBe('shown');
    // The browser sends the cookie there as well, because cookies ignore ports.
    const other = createServer((_, response) => response.end('<p>another program'));
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const stranger = await page.context().newPage();
    await stranger.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    expect(await seen(stranger)).toBe('refused');
  });
});

/** Moves a finger sideways over the open picture by `by` pixels. */
async function swipe(page: Page, by: number): Promise<void> {
  const finger = await page.context().newCDPSession(page);
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', x?: number) =>
    finger.send('Input.dispatchTouchEvent', { type, touchPoints: x === undefined ? [] : [{ x, y: 300 }] });
  await touch('touchStart', 195);
  await touch('touchMove', 195 + by / 2);
  await touch('touchMove', 195 + by);
  await touch('touchEnd');
  await finger.detach();
}
