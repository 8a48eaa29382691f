/** Paths are shown as a person would write them from the working directory. */
import { afterEach, expect, it, vi } from 'vitest';
import { shownPath } from '../../src/batch/refusal.ts';

afterEach(() => void vi.restoreAllMocks());

it.each([
  ['/night', '/night/out', 'out'],
  ['/night', '/night', '.'],
  ['/night', '/other/out', '/other/out'],
  ['/night', '-', 'standard input'],
  ['/', '/night/out', '/night/out'],
  ['/', '/', '/'],
  ['/', '-', 'standard input'],
])('in %s, %s is shown as %s', (cwd, path, shown) => {
  vi.spyOn(process, 'cwd').mockReturnValue(cwd);
  expect(shownPath(path)).toBe(shown);
});
