/** What goes wrong at the service is told on a terminal that does not obey it. */
import { printServiceFailure } from '../../src/commands/service-data.ts';
import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.restoreAllMocks();
});

test('what a worker says of its end cannot command the terminal', () => {
  const told: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    told.push(String(text));
    return true;
  });
  vi.spyOn(console, 'error').mockImplementation((text: unknown) => void told.push(String(text)));
  printServiceFailure('a worker cannot be started: \u001b]0;another title\u0007\u001b[2J');
  expect(told.join('').trim()).toBe(
    String.raw`service: a worker cannot be started: \x1b]0;another title\x07\x1b[2J`,
  );
});
