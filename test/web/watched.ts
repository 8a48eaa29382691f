/** Starts `nightrender watch` as a user does, and opens its page in a browser. */
import type { Browser } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { Program } from '../e2e/cli.ts';
import { openPage, type OpenPage, type PageOptions } from './browser.ts';

export interface Watching {
  url: string;
  program: Program;
}

/** Starts `watch` for pipeline.yaml in `cwd`. */
export async function startWatching(cwd: string, args: string[] = ['--port', '0']): Promise<Watching> {
  const program = new Program(['watch', 'pipeline.yaml', '--json', ...args], { cwd });
  const { url } = await program.event('watching');
  return { url: String(url), program };
}

export async function look(browser: Browser, url: string, options: PageOptions = {}): Promise<OpenPage> {
  const { origin } = new URL(url);
  const opened = await openPage(browser, {
    isAllowed: (asked) => asked.startsWith(`${origin}/`),
    ...options,
  });
  onTestFinished(() => opened.page.context().close());
  await opened.page.goto(url);
  return opened;
}
