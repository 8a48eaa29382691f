/** Promise: an error message of the service cannot control the terminal. */
import { printServiceFailure } from '../../src/commands/service-data.ts';
import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.restoreAllMocks();
});

test('the last words of a worker cannot control the terminal', () => {
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
