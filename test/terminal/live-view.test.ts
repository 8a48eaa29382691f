/** Promise: a terminal stays calm while requests are repeated, and shows what fails. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { stripVTControlCharacters } from 'node:util';
import { LiveView } from '../../src/terminal/live-view.ts';

let written = '';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  written = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('the live display shows a repeated request only in its block, and a failed attempt above it', () => {
  const options = {
    json: false,
    quiet: false,
    file: 'p',
    runArguments: 'p',
    shownDir: 'out',
    shownImages: 'out/images',
  };
  const view = new LiveView({ ...options, now: () => 0, elapsed: () => 0 });
  const counts = { waiting: 2, active: 0, saved: 0, failed: 0, withdrawn: 0, invalid: 0 };
  view.emit({ type: 'plan-made', added: 2, changed: 0, unchanged: 0, withdrawn: 0, counts });
  const told = { scene: 'fox', text: '429' };
  for (let time = 0; time < 30; time++)
    view.emit({ ...told, type: 'request-troubled', kind: 'poll-failed', waitMs: 100 });
  const failed = { attempt: 1, jobId: 'job-1', kind: 'job-failed', text: 'no memory' } as const;
  view.emit({ ...told, ...failed, type: 'attempt-failed', next: 'waiting', dueAt: 100 });
  vi.advanceTimersByTime(250);
  view.close();
  const lines = stripVTControlCharacters(written)
    .split('\n')
    .map((line) => line.trim());
  expect(lines.filter((line) => /^\d\d:\d\d +fox/.test(line))).toEqual([
    expect.stringMatching(/^\d\d:\d\d {2}fox: attempt 1: no memory; trying again at once$/),
  ]);
  expect(lines.filter((line) => line.startsWith('trouble'))).toHaveLength(1);
});
