/** Promise: claiming scenes takes no longer in a larger batch, because it counts no rows. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sqlite } from '../../../src/lib/sqlite/database.ts';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openCheckpoint } from '../../../src/runner/checkpoint/open-checkpoint.ts';
import { endpoint, manifestOf, unstopped } from '../../fakes/world.ts';

it('a claim of a batch on the disk counts no scenes', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-claim-'));
  const batch = { manifest: ['list.csv'], endpoint, columns: ['id', 'scene'] };
  const { checkpoint, close } = openCheckpoint(dir, 'test', batch, 0);
  onTestFinished(() => {
    close();
    rmSync(dir, { recursive: true });
  });
  const list = manifestOf([
    ['a', 'sea'],
    ['b', 'hills'],
  ]);
  await checkpoint.reconcile(list, unstopped);
  const prepare = vi.spyOn(Sqlite.prototype, 'prepare');
  onTestFinished(() => prepare.mockRestore());
  expect(await checkpoint.claim(1, endpoint, 1)).toHaveLength(1);
  expect(prepare.mock.calls.filter(([sql]) => sql.includes('count('))).toEqual([]);
  await checkpoint.counts();
  expect(prepare.mock.calls.some(([sql]) => sql.includes('count('))).toBe(true);
});
