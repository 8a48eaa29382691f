/** Opens the console in a browser, and finds things on its pages. */
import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { openPage, type PageOptions } from './browser.ts';
import { consoleKey, type FakeConsole } from './fake-console.ts';

/** Opens the console. Its `troubles` leave out responses 401, 404 and 422, which browsers log and tests expect. */
export async function look(browser: Browser, service: FakeConsole, place = '', options: PageOptions = {}) {
  const opened = await openPage(browser, {
    isAllowed: (asked) => asked.startsWith(service.url),
    ...options,
  });
  onTestFinished(() => opened.page.context().close());
  // The clock runs normally, but a test may advance it.
  await opened.page.clock.install();
  await opened.page.goto(`${service.url}${place}`);
  const troubles = (): string[] =>
    opened.troubles.filter((text) => !/^Failed to load resource: .* (401|404|422) /.test(text));
  return { page: opened.page, troubles };
}

/** Opens the console and signs in. */
export async function enter(browser: Browser, service: FakeConsole, place = '', options: PageOptions = {}) {
  const looked = await look(browser, service, place, options);
  await looked.page.getByLabel('API key').fill(consoleKey);
  await looked.page.keyboard.press('Enter');
  await looked.page.getByRole('button', { name: 'Sign out' }).waitFor();
  return looked;
}

/** Goes to another place within the console, and waits until the console has rendered it. */
export async function go(page: Page, hash: string): Promise<void> {
  // The console has listened before, so it is told first.
  await page.evaluate<void>(`new Promise((resolve) => {
    const before = location.hash;
    addEventListener('hashchange', () => resolve(), { once: true });
    location.hash = ${JSON.stringify(hash)};
    if (location.hash === before) resolve();
  })`);
}

/** Returns the number of pixels by which the page or a dialog is wider than the window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(
    "Math.max(...[...document.querySelectorAll('html, dialog')].map((each) => each.scrollWidth - each.clientWidth))",
  );
}

export function labelOfFocus(page: Page): Promise<string> {
  return page.evaluate("document.activeElement.labels?.[0]?.textContent ?? ''");
}

export function textOfFocus(page: Page): Promise<string> {
  return page.evaluate('document.activeElement === document.body ? "" : document.activeElement.textContent');
}

export function field(page: Page, label: string) {
  return page.getByRole('textbox', { name: label, exact: true });
}

/** Waits until the error beside a field matches. A form shows the errors of the service when its answer has come. */
export function expectProblem(page: Page, label: string) {
  return expect.poll(() =>
    field(page, label).evaluate((element) => {
      const id = element.getAttribute('aria-describedby')?.split(' ').at(-1) ?? '';
      return element.ownerDocument.querySelector(`[id="${id}"]`)?.textContent ?? '';
    }),
  );
}

/** Presses Tab until the focus is on an element with this name. The focus must be visible at every step. */
export async function tabTo(page: Page, name: string, tag = ''): Promise<void> {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    const label = (await labelOfFocus(page)) || (await textOfFocus(page));
    const focus = await page.evaluate<{ tag: string; isSeen: boolean }>(`(() => {
      const at = document.activeElement;
      const isSeen = [at, at.closest('.card')].some((each) => each && getComputedStyle(each).outlineStyle === 'solid');
      return { tag: at.tagName, isSeen: at === document.body || isSeen };
    })()`);
    expect([label, focus.isSeen]).toEqual([label, true]);
    if (label === name && (tag === '' || focus.tag === tag)) return;
  }
  throw new Error(`the tabulator key does not lead to “${name}”`);
}

/** Opens all folded cards of the form. */
export async function unfold(page: Page): Promise<void> {
  await page
    .locator('form details')
    .evaluateAll((all) => all.forEach((each) => each.setAttribute('open', '')));
}
