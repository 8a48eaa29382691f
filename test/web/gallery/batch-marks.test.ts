/** Promise: marks that are set at `watch` are the same in every browser and after a restart, and a viewer can only star. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderWith, inProcess, pipeline, Program, scenes, withKey } from '../../e2e/cli.ts';
import { startStandIn } from '../../e2e/stand-ins.ts';
import { noBrowser, openBrowser } from '../browser.ts';
import { look } from '../watched.ts';

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => noBrowser ?? browser.close());

/** A finished batch of five scenes, with files of both passwords. */
async function finished(): Promise<string> {
  const service = await startStandIn();
  const cwd = folderWith({
    'pipeline.yaml': pipeline(service.url, 'input: {scene: "{{ scene }}"}\n'),
    'scenes.csv': scenes(5),
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

describe.skipIf(noBrowser !== undefined)('marks of a batch (skipped where there is no chromium)', () => {
  it('are set by the link that watch prints, seen by everybody, and those of the browser are taken over', async () => {
    const cwd = await finished();
    const { url, link } = await watching(cwd);
    const { page: other, troubles } = await look(browser, url);
    await other.locator('.picture').nth(4).waitFor();
    await press(other, 3, 's');
    await expect.poll(() => marked(other)).toEqual(['s3 Star']);
    expect(await textOf(other)).toContain('Stars and other marks stay in this browser.');

    const { page } = await look(browser, link);
    await page.locator('.picture').nth(4).waitFor();
    // No screenshot and no bookmark shows the password.
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
    expect(command).toMatch(/^nightrender retry .*pipeline\.yaml --marked --new-seed$/);

    // The link is pasted into the open page.
    await other.goto(link);
    await other.getByRole('button', { name: 'Keep 1 mark of this browser with the batch' }).click();
    await expect.poll(() => marked(other)).toEqual(['s0 Star', 's1 Render again', 's3 Star']);
    await expect
      .poll(() => readFileSync(join(cwd, 'out/marks.jsonl'), 'utf8').match(/"id":"s\d"/g))
      .toEqual(['"id":"s0"', '"id":"s1"', '"id":"s3"']);
    await expect.poll(() => other.getByRole('button', { name: /^Keep/ }).count()).toBe(0);
    expect(troubles).toEqual([]);
  });

  it('are behind a password where there is a file of it, and a viewer can only star', async () => {
    const cwd = await finished();
    writeFileSync(
      join(cwd, 'out/marks.jsonl'),
      '{"id":"s2","mark":"reject","at":"2026-11-29T12:00:00.000Z"}\n',
    );
    const { url } = await watching(cwd, ...withPasswords);
    const { page } = await look(browser, url);
    await signIn(page, 'wrong-password');
    await expect.poll(() => textOf(page)).toContain('This is not the password.');
    expect(await textOf(page)).not.toContain('s2');
    await signIn(page, 'viewer-of-pictures');
    await page.locator('.picture').nth(4).waitFor();
    expect(await page.getByRole('button', { name: 'Reject', exact: true }).count()).toBe(0);
    await press(page, 1, 'r');
    await press(page, 1, 's');
    await expect.poll(() => marked(page)).toEqual(['s1 Star']);
    await press(page, 2, 's');
    await expect
      .poll(() => textOf(page))
      .toContain('Not kept: with this password, scenes can only be starred.');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Password').waitFor();
    await signIn(page, 'owner-of-pictures');
    await expect.poll(() => marked(page)).toEqual(['s1 Star', 's2 Reject']);
  });
});
