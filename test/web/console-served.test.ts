/** Promise: the console of the built program really does what it shows: endpoints, jobs, pictures, logs and keys. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { folderWith, Program } from '../e2e/cli.ts';
import { noBrowser, openBrowser, openPage } from './browser.ts';
import { field } from './console-visit.ts';

const run = promisify(execFile);

/** Worker that logs its scene and returns the number of its letters. */
const worker = `
const lines = require('node:readline').createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const { input } = JSON.parse(line);
  process.stderr.write('looking at ' + input.scene + '\\n');
  process.stdout.write(JSON.stringify({ output: { letters: input.scene.length } }) + '\\n');
});
`;

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => noBrowser ?? browser.close());

async function serve(dir: string): Promise<{ url: string; key: string; end: () => Promise<unknown> }> {
  const args = ['serve', '--json', '--port', '0', '--workers', '1', '--data', join(dir, 'service')];
  const program = new Program(args);
  const { url, apiKey } = await program.event('serving');
  return {
    url: String(url),
    key: String(apiKey),
    end: () => {
      program.child.kill('SIGTERM');
      return program.finish();
    },
  };
}

/** Opens the console and signs in. Every message in the browser's log is one of the `troubles`. */
async function enter(url: string, key: string) {
  const opened = await openPage(browser, { isAllowed: (asked) => asked.startsWith(url) });
  onTestFinished(() => opened.page.context().close());
  await opened.page.goto(`${url}/`);
  await opened.page.getByLabel('API key').fill(key);
  await opened.page.keyboard.press('Enter');
  await opened.page.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor();
  return opened;
}

async function makeEndpoint(page: Page, runs: RegExp, name: string): Promise<void> {
  await page.goto(new URL('#/new', page.url()).href);
  await page.getByRole('radio', { name: runs }).check();
  await field(page, 'Name').fill(name);
}

async function saveEndpoint(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Create endpoint' }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
}

async function submitScene(page: Page, scene: string): Promise<void> {
  await field(page, 'Scene').fill(scene);
  await page.getByRole('button', { name: 'Submit job' }).click();
}

describe.skipIf(noBrowser !== undefined)('the console in a browser (skipped if there is no chromium)', () => {
  it('creates keys, and endpoints that render at once and still exist after the next start', async () => {
    const dir = folderWith({ 'worker.cjs': worker });
    const first = await serve(dir);
    const { page, troubles } = await enter(first.url, first.key);

    await makeEndpoint(page, /^scene-renderer/, 'Night paintings');
    await saveEndpoint(page, 'Night paintings');
    await submitScene(page, 'a red lighthouse');
    const picture = page.getByRole('img', { name: 'a red lighthouse' });
    await expect
      .poll(() => picture.evaluate((shown) => (shown as unknown as { naturalWidth: number }).naturalWidth))
      .toBeGreaterThan(0);
    const thumbnail = page.locator('.job .thumbnail.seen');
    await thumbnail.waitFor();
    expect(
      await thumbnail.evaluate((shown) => (shown as unknown as { naturalWidth: number }).naturalWidth),
    ).toBe(320);

    await page.getByRole('button', { name: 'JavaScript' }).click();
    const lines = await page.getByRole('region', { name: /^In JavaScript/ }).textContent();
    const env = { ...process.env, NIGHTRENDER_API_KEY: first.key };
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', lines ?? ''], { env });
    expect(stdout).toMatch(/^COMPLETED \[\{"rendered_image":"iVBOR/);

    await makeEndpoint(page, /^Command/, 'Letters');
    await field(page, 'Command').fill(`${process.execPath} ${join(dir, 'worker.cjs')}`);
    await saveEndpoint(page, 'Letters');
    await field(page, 'Input').fill('{"scene": "four"}');
    await page.getByRole('button', { name: 'Submit job' }).click();
    await page.getByText('completed', { exact: false }).first().waitFor();
    await page.locator('.workers summary').first().click();
    await page
      .getByRole('region', { name: /^Log of worker/ })
      .getByText('looking at four')
      .waitFor();
    await page.getByRole('link', { name: /^All about job/ }).click();
    await page.getByRole('region', { name: 'Output' }).first().getByText('"letters": 4').waitFor();
    await page.getByRole('region', { name: 'Log', exact: true }).getByText('looking at four').waitFor();

    await page.goto(new URL('#/keys', page.url()).href);
    await field(page, 'Name').fill('farm');
    await page.getByRole('button', { name: 'Add key' }).click();
    const told = await page.getByRole('region', { name: 'The new key' }).textContent();
    expect(told).toMatch(/^nr_[\w-]{43}$/);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    const farm = page.getByRole('article').filter({ hasText: 'farm' });
    await farm.getByRole('button', { name: /revoke/i }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /revoke/i })
      .click();
    await farm.getByText('revoked', { exact: true }).waitFor();
    expect(troubles).toEqual([]);
    await first.end();

    const second = await serve(dir);
    const again = await enter(second.url, first.key);
    await again.page.getByRole('link', { name: 'Night paintings' }).first().click();
    await submitScene(again.page, 'a blue house');
    await again.page.getByRole('img', { name: 'a blue house' }).waitFor();
    expect(again.troubles).toEqual([]);
    await second.end();
  });
});
