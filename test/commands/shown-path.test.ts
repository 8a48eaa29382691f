/** Paths as people read them, from several working directories. */
import { afterEach, expect, it, vi } from 'vitest';
import { shownPath } from '../../src/commands/shown-path.ts';

afterEach(() => void vi.restoreAllMocks());

it.each([
  ['/work', '/work/out', 'out'],
  ['/work', '/work', '.'],
  ['/work', '/other/out', '/other/out'],
  ['/work', '-', 'standard input'],
  ['/', '/work/out', '/work/out'],
  ['/', '/', '/'],
  ['/', '-', 'standard input'],
])('in %s, %s is shown as %s', (cwd, path, shown) => {
  vi.spyOn(process, 'cwd').mockReturnValue(cwd);
  expect(shownPath(path)).toBe(shown);
});
