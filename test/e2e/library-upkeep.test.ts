/**
 * Promise: a program can do everything that the commands do, gets results and refusals as values, and pays
 * again only if it confirms that.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, vi } from 'vitest';
import { Batch } from '../../src/batch/batch.ts';
import { verifyPictures } from '../../src/batch/verify-pictures.ts';
import {
  cancelBatch,
  exportBatch,
  planBatch,
  readBatch,
  retryScenes,
  runBatch,
  verifyBatch,
} from '../../src/index.ts';
import type { RunOptions, RunResult } from '../../src/library/library.ts';
import { localService } from '../../src/service/instance/local-service.ts';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import { folderWith, type Night, nightOf, testKey } from './cli.ts';
import { startHeldStandIn, startStandIn } from './stand-ins.ts';

const env = { ...process.env, NIGHTRENDER_API_KEY: testKey };
const confirm = 'paid again';

/** A library must not print anything. */
beforeEach(() => {
  const ears = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')];
  return () => {
    for (const ear of ears) expect(ear).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  };
});

async function rendered(count: number, more = '', plan?: Parameters<typeof startStandIn>[0]) {
  const service = await startStandIn(plan);
  const night = nightOf(service.url, count, more);
  await run(night);
  return { night, service };
}

function run(night: Night, options: RunOptions = {}): Promise<RunResult> {
  return runBatch(night.cwd, { env, ...options }).result;
}

/** Leaves this many jobs in flight. */
async function leftInFlight(count: number) {
  const service = await startHeldStandIn();
  const night = nightOf(service.url, count);
  const caller = new AbortController();
  const { events, result } = runBatch(night.cwd, { env, signal: caller.signal });
  let sent = 0;
  for await (const { type } of events) if (type === 'scene-submitted' && ++sent === count) caller.abort();
  expect((await result).kind).toBe('interrupted');
  return { night, service };
}

async function countsOf(night: Night) {
  const reading = await readBatch(night.cwd);
  return reading.kind === 'batch' ? reading.scenes : reading;
}

const pictures = (night: Night): string[] => readdirSync(night.path('out/images')).toSorted();

it('plans what a run would do, without the key, and changes nothing', async () => {
  const night = nightOf('http://127.0.0.1:9', 3);
  expect(await planBatch(night.cwd, { limit: 2, requests: 1 })).toMatchObject({
    kind: 'plan',
    dir: night.path('out'),
    isRunning: false,
    changes: { added: 3 },
    counts: { waiting: 3 },
    part: { waiting: 2 },
    requests: [{ scene: 's0', attempt: 1, method: 'POST', file: expect.stringMatching(/\.png$/) as unknown }],
    warnings: [expect.stringContaining('NIGHTRENDER_API_KEY is not set; a run needs it') as unknown],
    obstacle: null,
  });
  expect(night.has('out')).toBe(false);
});

it('refuses in a plan what a run refuses', async () => {
  const night = nightOf('http://127.0.0.1:9', 3);
  expect(await planBatch(night.cwd, { limit: 0, manifest: '-' })).toMatchObject({
    kind: 'wrong-use',
    problems: [
      { where: 'limit', text: expect.stringContaining('1 or more') as unknown },
      { text: expect.stringContaining('standard input belongs to the calling program') as unknown },
    ],
  });
  const both = await runBatch(night.cwd, { limit: 0, manifest: '-', env: { NIGHTRENDER_API_KEY: 'key' } })
    .result;
  expect(both.problems).toHaveLength(2);
  expect(await planBatch(night.cwd, { manifest: '-' })).toMatchObject({ kind: 'wrong-use' });
  const signal = AbortSignal.abort();
  expect(await planBatch(night.path('none.yaml'), { signal })).toMatchObject({ kind: 'wrong-use' });
  expect(await planBatch(night.cwd, { signal: AbortSignal.abort() })).toEqual({
    kind: 'interrupted',
    text: 'Stopped by its caller. Nothing was sent or changed.',
    problems: [],
  });
});

it('puts failed scenes back, all or those that are chosen', async () => {
  let isBroken = true;
  const { night } = await rendered(4, 'retry: {attempts: 1}\n', {
    plan: ({ scene }) =>
      isBroken && scene !== 'Hills and 3 trees' ? { end: () => ({ status: 'FAILED', error: 'no' }) } : {},
  });
  expect(await countsOf(night)).toMatchObject({ failed: 3, saved: 1 });
  const retried = { kind: 'retried', givenUp: 0, kept: 0, notes: [] };
  expect(await retryScenes(night.cwd, { ids: ['s1'] })).toEqual({
    ...retried,
    scenes: [{ id: 's1', was: 'job-failed' }],
  });
  expect(await retryScenes(night.cwd, { where: "id = 's2'" })).toMatchObject({ scenes: [{ id: 's2' }] });
  expect(await retryScenes(night.cwd, { kinds: ['no-output'] })).toMatchObject({ ...retried, scenes: [] });
  expect(await retryScenes(night.cwd)).toMatchObject({ scenes: [{ id: 's0' }] });
  isBroken = false;
  expect(await run(night)).toMatchObject({ kind: 'complete', counts: { saved: 4 } });
});

it('renders saved scenes again only if the caller says that they are paid again', async () => {
  const { night, service } = await rendered(2);
  expect(await retryScenes(night.cwd, { ids: ['s0'], again: true })).toEqual({
    kind: 'wrong-use',
    text: 'One problem was found; nothing was sent and nothing written.',
    problems: [
      {
        where: 'confirm',
        text: "is missing; the jobs of these scenes were or may have been paid for (1 saved), and the next run pays for each scene again; expected 'paid again'",
      },
    ],
  });
  expect(pictures(night)).toEqual(['s0.png', 's1.png']);
  expect(await run(night)).toMatchObject({ kind: 'complete' });
  expect(service.jobs.all).toHaveLength(2);
  expect(await retryScenes(night.cwd, { ids: ['s0'], again: true, confirm })).toEqual({
    kind: 'retried',
    scenes: [{ id: 's0', was: 'saved' }],
    givenUp: 0,
    kept: 1,
    notes: [],
  });
  expect(await run(night)).toMatchObject({ kind: 'complete', counts: { saved: 2 } });
  expect(pictures(night)).toEqual(['s0.png', 's0.png.former', 's1.png']);
  expect(service.jobs.all).toHaveLength(3);
});

it('asks the same for results that are gone and for submissions without an answer', async () => {
  const { night } = await rendered(3);
  const failed = (kind: string, id: string): string =>
    `UPDATE scenes SET state = 'failed', failure_kind = '${kind}' WHERE id = '${id}';`;
  editCheckpoint(
    night.path('out'),
    `${failed('expired', 's0')} ${failed('unanswered', 's1')} ${failed('job-failed', 's2')}
     UPDATE attempts SET state = 'failed', failure_kind = 'job-failed'; DELETE FROM pictures;`,
  );
  expect(await retryScenes(night.cwd)).toMatchObject({
    kind: 'wrong-use',
    problems: [{ where: 'confirm', text: expect.stringContaining('(1 expired, 1 unanswered)') as unknown }],
  });
  expect(await countsOf(night)).toMatchObject({ failed: 3 });
  expect(await retryScenes(night.cwd, { kinds: ['job-failed'] })).toMatchObject({ scenes: [{ id: 's2' }] });
  expect(await retryScenes(night.cwd, { confirm })).toMatchObject({
    scenes: [
      { id: 's0', was: 'expired' },
      { id: 's1', was: 'unanswered' },
    ],
  });
});

it('gives jobs in flight up, and asks the same before', async () => {
  const { night } = await leftInFlight(2);
  const given = { ids: ['s1'], giveUp: true };
  expect(await retryScenes(night.cwd, given)).toMatchObject({
    problems: [{ where: 'confirm', text: expect.stringContaining('(1 in flight)') as unknown }],
  });
  expect(await countsOf(night)).toMatchObject({ active: 2 });
  expect(await retryScenes(night.cwd, { ...given, confirm })).toMatchObject({
    scenes: [{ id: 's1', was: 'given-up' }],
    givenUp: 1,
  });
  expect(await countsOf(night)).toMatchObject({ active: 1, waiting: 1 });
});

it('says why scenes cannot be put back, and changes nothing then', async () => {
  const { night } = await rendered(1);
  expect(await retryScenes(night.cwd, { ids: ['s0', 'nobody'], confirm })).toMatchObject({
    kind: 'wrong-use',
    problems: [
      { where: 'ids', text: expect.stringContaining('"s0" is saved') as unknown },
      { where: 'ids', text: '"nobody" is not the id of a scene in this batch' },
    ],
  });
  expect(await retryScenes(night.cwd, { where: 'stile = 1' })).toMatchObject({
    problems: [{ where: 'where' }],
  });
  expect(await retryScenes(night.cwd, { lackingFiles: true })).toMatchObject({
    problems: [{ where: 'lackingFiles' }],
  });
  expect(await retryScenes(nightOf('http://127.0.0.1:9', 1).cwd)).toMatchObject({ kind: 'no-batch' });
  const { release } = await night.hold();
  expect(await retryScenes(night.cwd)).toMatchObject({ kind: 'already-running', problems: [] });
  expect(await verifyBatch(night.cwd, { repair: true, confirm })).toMatchObject({ kind: 'already-running' });
  expect(await cancelBatch(night.cwd, { env })).toMatchObject({ kind: 'already-running', isResumable: true });
  release();
});

it('checks every picture, and puts back what is missing or damaged if the caller says that it is paid again', async () => {
  const { night } = await rendered(3);
  expect(await verifyBatch(night.cwd)).toMatchObject({ kind: 'verified', checked: 3, good: 3, bad: [] });
  rmSync(night.path('out/images/s0.png'));
  night.write('out/images/s1.png', 'nothing');
  const missing = { kind: 'missing', scene: 's0', file: 'images/s0.png', problem: 'it is missing' };
  const damaged = { kind: 'damaged', scene: 's1', file: 'images/s1.png' };
  const found = await verifyBatch(night.cwd);
  expect(found).toMatchObject({ checked: 3, good: 1, missing: 1, damaged: 1, putBack: 0 });
  expect('bad' in found && found.bad).toEqual([missing, expect.objectContaining(damaged)]);
  expect(await verifyBatch(night.cwd, { repair: true })).toMatchObject({
    kind: 'wrong-use',
    problems: [{ where: 'confirm', text: expect.stringContaining('pays for each again') as unknown }],
  });
  expect(await countsOf(night)).toMatchObject({ saved: 3 });
  const repaired = await verifyBatch(night.cwd, { repair: true, confirm });
  expect(repaired).toMatchObject({ kind: 'verified', putBack: 2 });
  expect('bad' in repaired && repaired.bad[1]).toMatchObject({
    ...damaged,
    keptAs: 'images/s1.png.damaged',
  });
  expect(night.read('out/images/s1.png.damaged')).toBe('nothing');
  expect(await run(night)).toMatchObject({ kind: 'complete', counts: { saved: 3 } });
});

it('repairs a damaged checkpoint, and says so', async () => {
  const { night } = await rendered(2);
  const path = night.path('out/checkpoint.sqlite');
  const bytes = readFileSync(path, 'latin1');
  writeFileSync(path, bytes.replaceAll('CREATE TABLE pictures', 'CREATE TABLE picturez'), 'latin1');
  expect(await verifyBatch(night.cwd)).toMatchObject({ kind: 'damaged' });
  expect(await retryScenes(night.cwd)).toMatchObject({ kind: 'damaged' });
  expect(await verifyBatch(night.cwd, { repair: true, confirm })).toMatchObject({
    kind: 'verified',
    good: 2,
    putBack: 0,
    checkpoint: { lost: 0, keptAs: `${path}.damaged` },
  });
  expect(await verifyBatch(night.cwd)).toMatchObject({ kind: 'verified', good: 2 });
});

it('ends a check early, after finishing the pictures in progress', async () => {
  // More pictures than are checked concurrently.
  const count = 20 + 2 * availableParallelism();
  const { night } = await rendered(count);
  const caller = new AbortController();
  rmSync(night.path('out/images/s0.png'));
  const batch = Batch.at({ file: night.path('pipeline.yaml'), localService, onTrouble: () => undefined });
  const { checked, missing } = await verifyPictures(batch, false, {
    signal: caller.signal,
    onBad: () => caller.abort(),
    onProgress: () => undefined,
  });
  expect(missing).toBe(1);
  expect(checked).toBeLessThan(count);
  expect(await verifyBatch(night.cwd, { signal: AbortSignal.abort() })).toMatchObject({
    kind: 'interrupted',
  });
});

it('exports the pictures, and again only what has changed', async () => {
  const { night } = await rendered(3);
  const dir = join(folderWith({}), 'dataset');
  const asked = { to: 'captions', dir } as const;
  const exported = { kind: 'exported', dir, pictures: 3, bad: [], missing: {}, notes: [] };
  expect(await exportBatch(night.cwd, asked)).toMatchObject({ ...exported, written: 3 });
  expect(readFileSync(join(dir, 's2.txt'), 'utf8')).toBe('Hills and 2 trees');
  expect(await exportBatch(night.cwd, asked)).toEqual({ ...exported, written: 0, bytes: 0 });
  expect(await exportBatch(night.cwd, { ...asked, ids: ['s1', 'nobody'] })).toMatchObject({
    pictures: 1,
    notes: ['ids: no matching scene has the id "nobody"'],
  });
  expect(existsSync(join(dir, 's2.png'))).toBe(false);
  rmSync(night.path('out/images/s0.png'));
  expect(await exportBatch(night.cwd, { ...asked, where: "id <> 's1'" })).toMatchObject({
    pictures: 1,
    bad: [{ kind: 'missing', scene: 's0', file: 'images/s0.png', problem: 'it is missing' }],
  });
  expect(await exportBatch(night.cwd, { ...asked, signal: AbortSignal.abort() })).toMatchObject({
    kind: 'interrupted',
  });
  for (const [more, where] of [
    [{ to: 'parquet', caption: 'x' }, 'caption'],
    [{ to: 'webdataset', link: true }, 'link'],
    [{ copy: 'webp' }, 'copy'],
    [{ caption: '{{ stile }}' }, 'caption'],
    [{ dir: night.path('out') }, expect.stringMatching(/out$/) as string],
  ] as const)
    expect(await exportBatch(night.cwd, { ...asked, ...more })).toMatchObject({
      kind: 'wrong-use',
      problems: [{ where }],
    });
});

it('cancels what is in flight, and says what became of it', async () => {
  const { night } = await leftInFlight(2);
  expect(await cancelBatch(night.cwd, { env: {} })).toMatchObject({ kind: 'wrong-use', isResumable: false });
  expect(await cancelBatch(night.cwd, { env })).toEqual({
    kind: 'complete',
    isResumable: false,
    text: 'Nothing is in flight',
    problems: [],
    found: 2,
    left: [],
    unanswered: 0,
    ends: { saved: 0, cancelled: 2, expired: 0, failed: 0 },
    notes: [],
  });
  expect(await countsOf(night)).toMatchObject({ waiting: 2, active: 0 });
  const none = nightOf('http://127.0.0.1:9', 1);
  const refused = await cancelBatch(none.cwd, { env });
  expect(refused).toMatchObject({ kind: 'wrong-use', problems: [{ where: expect.any(String) as unknown }] });
  expect(refused).not.toHaveProperty('found');
});
