/** Watching over the data folder while its files are open, and no longer. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { FolderWatch } from '../../../src/service/jobs/data-folder.ts';

it('raises no alarm about files that go with the end of the service', () => {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'service.sqlite-wal');
  writeFileSync(path, '');
  const troubles: string[] = [];
  const folder = new FolderWatch(dir, [path], (text) => troubles.push(text));
  folder.stop();
  rmSync(path);
  expect(folder.check()).toBe(false);
  expect(troubles).toEqual([]);
});
