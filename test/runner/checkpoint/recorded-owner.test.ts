/**
 * Promise: while the process of a run lives, no other run can open its batch, even if the lock file was
 * damaged or removed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  assertNotOwned,
  BatchInUse,
  isBatchInUse,
  lockBatch,
} from '../../../src/runner/checkpoint/batch-lock.ts';
import {
  openCheckpoint,
  openCheckpointForMaintenance,
} from '../../../src/runner/checkpoint/open-checkpoint.ts';
import { endpoint } from '../../fakes/world.ts';

const hasProc = spawnSync('test', ['-r', '/proc/self/stat']).status === 0;

/** The parent process of this one, recorded as the owner of a run. It is surely alive. */
const parent = {
  pid: process.ppid,
  host: hostname(),
  boot: hasProc ? readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() : '',
  started: hasProc
    ? execFileSync('cut', ['-d', ')', '-f', '2', `/proc/${process.ppid}/stat`], { encoding: 'utf8' })
        .trim()
        .split(' ')[19]
    : '',
  endedAt: null as number | null,
};

/** Creates a batch whose latest run belongs to `owner`. */
function batchOf(owner: typeof parent): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-owner-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  openCheckpoint(dir, 'test', { manifest: ['list.csv'], endpoint, columns: ['id'] }, 7).close();
  const opened = openCheckpointForMaintenance(dir);
  opened?.db
    .prepare(
      'UPDATE runs SET pid = @pid, host = @host, boot = @boot, process_started = @started, ended_at = @endedAt',
    )
    .run(owner);
  // A run keeps its checkpoint open too.
  onTestFinished(() => opened?.close(false));
  return dir;
}

const damages: [string, (lock: string) => void][] = [
  ['missing', () => undefined],
  ['empty', (lock) => writeFileSync(lock, '')],
  ['damaged', (lock) => writeFileSync(lock, 'x'.repeat(5_000))],
  ['a folder', (lock) => mkdirSync(lock)],
];

it.runIf(hasProc).each(damages)(
  'a live run holds the batch if the lock file is %s (skipped if there is no /proc)',
  async (name, damage) => {
    const dir = batchOf(parent);
    damage(join(dir, '.lock.sqlite'));
    expect(isBatchInUse(dir)).toBe(true);
    expect(() => assertNotOwned(dir)).toThrow(BatchInUse);
    if (name === 'missing' || name === 'empty') {
      const holder = { pid: parent.pid, host: parent.host, since: 7 };
      await expect(lockBatch(dir, 9)).rejects.toMatchObject({ holder });
    }
  },
);

it.each<[string, Partial<typeof parent>]>([
  ['has ended', { endedAt: 8 }],
  ['was another process of that id', { started: '1' }],
  ['was begun before the machine was started', { boot: 'another' }],
  ['is another machine’s', { host: 'elsewhere' }],
  ['is no more', { pid: spawnSync('true').pid }],
  ['was written by an earlier version', { boot: null as unknown as string }],
])('a run does not hold the batch if it %s', async (_name, change) => {
  const dir = batchOf({ ...parent, ...change });
  expect(isBatchInUse(dir)).toBe(false);
  (await lockBatch(dir, 9)).release();
});

it.each(damages)('a run starts if the lock file is %s and no run is alive', (_name, damage) => {
  const dir = batchOf({ ...parent, endedAt: 8 });
  damage(join(dir, '.lock.sqlite'));
  expect(isBatchInUse(dir)).toBe(false);
});
