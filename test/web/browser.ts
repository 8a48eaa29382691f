/** Opens Debian's chromium for tests of pages. Pages have no network except for URLs that a test allows. */
import { spawnSync } from 'node:child_process';
import { chromium, type Browser, type Page } from 'playwright-core';

const found = spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout.trim();

/** Reason why tests of pages are skipped. Undefined if a browser is installed. */
export const noBrowser = found === '' ? 'there is no chromium on this machine' : undefined;

export interface OpenPage {
  page: Page;
  /** Errors and warnings of the page so far, and requests that were blocked. */
  troubles: string[];
}

export interface PageOptions {
  /** Width in CSS pixels. */
  width?: number;
  height?: number;
  colors?: 'light' | 'dark';
  /** True if the page is used by touch. */
  hasTouch?: boolean;
  /** Returns true if the page may request this URL. Default: only files. */
  isAllowed?: (url: string) => boolean;
}

export function openBrowser(): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: found, args });
}

/** Opens a page in a separate browser context. A request that is not allowed is one of its `troubles`. */
export async function openPage(browser: Browser, options: PageOptions = {}): Promise<OpenPage> {
  const { width = 1280, height = 900, colors = 'light', hasTouch = false, isAllowed = () => false } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: colors,
    hasTouch,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
  // Like `expect.poll` in vitest.config.ts: a busy machine takes longer than Playwright's 30 s.
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on('pageerror', (error) => troubles.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') troubles.push(message.text());
  });
  await page.route(/^(?!file:|data:|blob:)/, async (route) => {
    const url = route.request().url();
    if (isAllowed(url)) return route.continue();
    troubles.push(`asks the network for ${url}`);
    return route.abort();
  });
  return { page, troubles };
}
