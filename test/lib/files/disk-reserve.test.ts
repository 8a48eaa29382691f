/** Promise: reserved disk space stays reserved until it is released, once. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DiskReserve } from '../../../src/lib/files/disk-reserve.ts';

it('the disk reserve keeps the file of an earlier start, and gives its space away once', () => {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'reserve');
  const bytes = 3_000_000;
  new DiskReserve(path, bytes).take();
  const { size, blocks, ino, mtimeMs } = statSync(path);
  expect(size).toBeGreaterThanOrEqual(bytes);
  expect(blocks * 512).toBeGreaterThanOrEqual(bytes);
  const reserve = new DiskReserve(path, bytes);
  reserve.take();
  expect(statSync(path)).toMatchObject({ ino, mtimeMs });
  expect([reserve.release(), reserve.release()]).toEqual([true, false]);
});
