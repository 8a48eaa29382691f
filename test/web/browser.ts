/** Debian's chromium for tests of pages, without any network but what a test allows. */
import { spawnSync } from 'node:child_process';
import { chromium, type Browser, type Page } from 'playwright-core';

const found = spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout.trim();

/** Undefined where tests of pages can be run. */
export const noBrowser = found === '' ? 'there is no chromium on this machine' : undefined;

export interface OpenPage {
  page: Page;
  /** What went wrong in the page so far: errors, and what its policy kept it from. */
  troubles: string[];
}

export interface PageOptions {
  /** CSS pixels. */
  width?: number;
  height?: number;
  colors?: 'light' | 'dark';
  /** Whether it is operated by fingers. */
  hasTouch?: boolean;
  /** Whether an address beyond files may be asked for; none where left out. */
  isAllowed?: (url: string) => boolean;
}

export function openBrowser(): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: found, args });
}

/** A page of its own; what it asks for beyond what is allowed is one of its troubles. */
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
