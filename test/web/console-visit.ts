/** A browser's visit of a console, and what is looked at in it. */
import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { openPage, type PageOptions } from './browser.ts';
import { consoleKey, type FakeConsole } from './fake-console.ts';

/** A page whose troubles are those beyond the refusals that a test asks for; browsers tell each of them. */
export async function look(browser: Browser, service: FakeConsole, place = '', options: PageOptions = {}) {
  const opened = await openPage(browser, {
    isAllowed: (asked) => asked.startsWith(service.url),
    ...options,
  });
  onTestFinished(() => opened.page.context().close());
  // Runs as ever; a test may have time pass.
  await opened.page.clock.install();
  await opened.page.goto(`${service.url}${place}`);
  const troubles = (): string[] =>
    opened.troubles.filter((text) => !/^Failed to load resource: .* (401|404|422) /.test(text));
  return { page: opened.page, troubles };
}

/** Signed in. */
export async function enter(browser: Browser, service: FakeConsole, place = '', options: PageOptions = {}) {
  const looked = await look(browser, service, place, options);
  await looked.page.getByLabel('API key').fill(consoleKey);
  await looked.page.keyboard.press('Enter');
  await looked.page.getByRole('button', { name: 'Sign out' }).waitFor();
  return looked;
}

/** Follows an address within the console. */
export async function go(page: Page, hash: string): Promise<void> {
  await page.evaluate<void>(`location.hash = ${JSON.stringify(hash)}`);
}

/** Pixels by which something is wider than the window. */
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

/** What the field is said to be wrong by. */
export function problemOf(page: Page, label: string): Promise<string> {
  return field(page, label).evaluate((element) => {
    const id = element.getAttribute('aria-describedby')?.split(' ').at(-1) ?? '';
    return element.ownerDocument.querySelector(`[id="${id}"]`)?.textContent ?? '';
  });
}

/** Goes on with the tabulator key until it stands there; where it stands has to be seen at every step. */
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
