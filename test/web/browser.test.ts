/** Promise: tests of pages fail if a page logs errors or sends requests to a network. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { noBrowser, openBrowser, openPage } from './browser.ts';

let browser: Browser | undefined;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(async () => {
  await browser?.close();
});

it.skipIf(noBrowser !== undefined)(
  'the browser of the tests notices errors of a page and its network requests (skipped if there is no chromium)',
  async () => {
    if (browser === undefined) return;
    const { page, troubles } = await openPage(browser);
    await page.setContent('<img src="http://nowhere.example/x.png"><script>throw new Error("oops")</script>');
    await expect.poll(() => troubles.join('\n')).toMatch(/oops/);
    await expect.poll(() => troubles.join('\n')).toMatch(/asks the network for http:\/\/nowhere\.example/);
  },
);
