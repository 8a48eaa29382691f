/** Files as messages about them begin, from several working directories. */
import { afterEach, expect, it, vi } from 'vitest';
import { shownFile } from '../../../src/lib/yaml/shown-file.ts';

afterEach(() => void vi.restoreAllMocks());

it.each([
  ['/night', '/night/pipeline.yaml', 'pipeline.yaml'],
  ['/night', '/other/pipeline.yaml', '../other/pipeline.yaml'],
  ['/', '/night/pipeline.yaml', '/night/pipeline.yaml'],
  ['/', 'night/pipeline.yaml', '/night/pipeline.yaml'],
])('in %s, %s is shown as %s', (cwd, file, shown) => {
  vi.spyOn(process, 'cwd').mockReturnValue(cwd);
  expect(shownFile(file)).toBe(shown);
});
