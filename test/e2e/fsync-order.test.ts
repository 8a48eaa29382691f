/** Promise: every step is on disk before the next one begins, as the system calls show. */
import { join } from 'node:path';
import { expect } from 'vitest';
import { firstTier, rest } from '../fakes/tier.ts';
import { folderWith, nightOf, root, serve, testKey } from './cli.ts';
import { startStandIn } from './stand-ins.ts';
import {
  canTrace,
  parseTrace,
  runOnFailingDisk,
  tracedNode,
  tracedRun,
  type SystemCall,
} from './system-calls.ts';

firstTier.it.skipIf(!canTrace)(
  'intent before the POST, job id before the first GET, picture before it counts as saved (skipped if strace is not there, or may not trace)',
  async () => {
    const { url } = await startStandIn();
    const night = nightOf(url, 1);
    const calls = await tracedRun(['run', 'pipeline.yaml'], night.cwd, { NIGHTRENDER_API_KEY: testKey });

    const post = first(calls, 'the POST', sends(/"POST \/v2\/scene-renderer\/run /));
    const get = first(calls, 'the first GET', sends(/"GET \/v2\/scene-renderer\/status\//));
    const [, jobId = ''] = /\/status\/([\w-]+)/.exec(get.args) ?? [];
    const intended = committed(calls, new RegExp(`intended.{0,60}${url}`));
    expectInOrder([...intended, post]);
    const submitted = committed(calls, new RegExp(`submitted.{0,120}${jobId}`));
    expectInOrder([post, ...submitted, get]);

    const half = /images\/\.nightrender-[^/]*\.tmp>/;
    const written = first(calls, "the picture's bytes", on(half, ...writing));
    const synced = first(calls, "the picture's fsync", on(half, ...syncing));
    const named = first(calls, "the picture's name", on(/images\/s0\.png"/, ...renaming));
    const lasting = next(calls, named, "the folder's fsync", on(/out\/images>/, ...syncing));
    const saved = committed(calls, new RegExp(`saved.{0,120}${jobId}`));
    expectInOrder([get, written, synced, named, lasting, ...saved]);
  },
);

rest.it.skipIf(!canTrace)(
  'the log is on the disk before a page of it replaces one of the checkpoint, and that before the log begins anew (skipped if strace is not there, or may not trace)',
  async () => {
    const cwd = folderWith({});
    const calls = await tracedNode([join(root, 'dist/test/fixtures/many-commits.js')], cwd);
    const files = calls.flatMap(({ name, args }) => {
      const file = /^\d+<[^>]*x\.sqlite(-wal)?>/.exec(args);
      return file === null ? [] : [`${writing.includes(name) ? 'write' : 'sync'} ${file[1] ?? 'pages'}`];
    });
    const steps = files.slice(files.indexOf('sync -wal')).filter((step, i, all) => step !== all[i - 1]);
    const replaced = steps.flatMap((step, i) => (step === 'write pages' ? [i] : []));
    expect(replaced.length).toBeGreaterThan(1);
    for (const i of replaced)
      expect(steps.slice(i - 1, i + 2)).toEqual(['sync -wal', 'write pages', 'sync pages']);
  },
);

rest.it.skipIf(!canTrace)(
  'a disk that fails ends the run in order, and the next goes on (skipped if strace is not there, or may not trace)',
  async () => {
    const { url } = await serve(folderWith({}));
    const more = 'input: {scene: "{{ scene }}", width: 64, height: 64}\n';
    const night = nightOf(url, 3, more);
    const env = { NIGHTRENDER_API_KEY: testKey };
    const failed = await runOnFailingDisk(['run', 'pipeline.yaml'], night.cwd, env);
    expect(failed.code, failed.stderr).toBe(14);
    expect(failed.stdout).toContain(
      'Cannot write the checkpoint: the disk reports an error (EIO); check the disk',
    );
    expect(failed.stderr).not.toMatch(/^ +at /m);
    await night.with({ env }).run().exits(0);
  },
);

firstTier.it('the reader of traces understands overlapping calls: a call without an end is not done', () => {
  const [slow, quick, never] = parseTrace(
    [
      '11 fsync(20</out/a> <unfinished ...>',
      '12 write(21<socket:[7]>, "GET / HTTP/1.1\\r\\n", 16) = 16',
      '11 <... fsync resumed>)              = 0',
      '12 rename("/out/a", "/out/b" <unfinished ...>',
      '12 +++ killed by SIGKILL +++',
    ].join('\n'),
  );
  expect([slow, quick]).toMatchObject([
    { name: 'fsync', begin: 0, end: 2 },
    { name: 'write', begin: 1, end: 1 },
  ]);
  expect(never?.end).toBe(Infinity);
});

const writing = ['write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'sendto', 'sendmsg'];
const syncing = ['fsync', 'fdatasync'];
const renaming = ['rename', 'renameat', 'renameat2'];

type Matcher = (call: SystemCall) => boolean;

function on(pattern: RegExp, ...names: string[]): Matcher {
  return ({ name, args }) => names.includes(name) && pattern.test(args);
}

function sends(pattern: RegExp): Matcher {
  const isWrite = on(pattern, ...writing);
  return (call) => isWrite(call) && call.args.includes('<socket:');
}

function first(calls: SystemCall[], what: string, matches: Matcher): SystemCall {
  const found = calls.find(matches);
  if (found === undefined) throw new Error(`the trace does not show ${what}`);
  return found;
}

function next(calls: SystemCall[], after: SystemCall, what: string, matches: Matcher): SystemCall {
  return first(calls, what, (call) => call.begin > after.end && matches(call));
}

/**
 * Returns the call that first writes such a row into the write-ahead log, and the fsync that makes it
 * durable.
 */
function committed(calls: SystemCall[], row: RegExp): [SystemCall, SystemCall] {
  const log = /^\d+<[^>]*out\/checkpoint\.sqlite-wal>/;
  const isWrite = on(log, ...writing);
  const written = first(calls, `${row} in the log`, (call) => isWrite(call) && row.test(call.args));
  return [written, next(calls, written, `the fsync of ${row}`, on(log, ...syncing))];
}

/** Expects that each call ended before the next began. */
function expectInOrder(calls: SystemCall[]): void {
  const places = calls.flatMap(({ begin, end }) => [begin, end]);
  const shown = calls.map(({ name, args }) => `${name}(${args.slice(0, 100)}`).join('\n');
  expect(places, shown).toEqual(places.toSorted((a, b) => a - b));
}
