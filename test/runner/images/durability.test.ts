/**
 * Promise: the bytes of a picture are on disk before its name, and a failure of any of these calls leaves no
 * partial file.
 */
import { createHash } from 'node:crypto';
import type * as Fs from 'node:fs';
import type * as FsPromises from 'node:fs/promises';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import type { Picture } from '../../../src/runner/core/picture.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import { isWhole } from '../../fakes/tier.ts';
import { filesIn, temporaryFolder, troubleOf } from './store.ts';

type OnOpen = (error: unknown, file?: number) => void;
type OnSync = (error: unknown) => void;

const disk = vi.hoisted(() => ({
  calls: [] as string[],
  failAt: '',
  failAtClose: '',
  code: '',
  /** Short file names by open file descriptor. */
  open: new Map<number, string>(),
  mostOpen: 0,
}));

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof Fs>();
  return {
    ...fs,
    open: (path: string, flags: string, done: OnOpen) => callBack(done, () => open(fs, path, flags)),
    openSync: (path: string, flags: string) => open(fs, path, flags),
    writeFileSync: (file: number | string, bytes: Uint8Array) => {
      if (typeof file === 'number') write(fs, file, bytes);
      else fs.writeFileSync(file, bytes);
    },
    writeFile: (file: number, bytes: Uint8Array, done: OnSync) =>
      callBack(done, () => write(fs, file, bytes)),
    fsync: (file: number, done: OnSync) => callBack(done, () => sync(fs, file)),
    closeSync: (file: number) => close(fs, file),
  };
});

vi.mock('node:fs/promises', async (original) => {
  const fs = await vi.importActual<typeof Fs>('node:fs');
  return {
    ...(await original<typeof FsPromises>()),
    rename: async (from: string, to: string) => rename(fs, from, to),
  };
});

const sizes = ['small', 'large'] as const;

const writeSteps = ['open tmp', 'write tmp', 'sync tmp', 'rename tmp a.png', 'open sea', 'sync sea'];

beforeEach(() =>
  Object.assign(disk, { calls: [], failAt: '', failAtClose: '', code: '', open: new Map(), mostOpen: 0 }),
);

test.each(sizes)(
  'the bytes of a %s picture are on the disk before the name is, and the name before it is said to be saved',
  async (size) => {
    const store = createImageStore(folderPlace(temporaryFolder()));
    await store.write(picture, 'sea/first.png');
    disk.calls = [];
    await store.write(pictures[size], 'sea/a.png');
    expect(disk.calls).toEqual(writeSteps);
    expect(disk.open.size).toBe(0);
  },
);

test('small pictures that come at once share their syncs', async () => {
  const store = createImageStore(folderPlace(temporaryFolder()));
  await store.write(picture, 'sea/first.png');
  disk.calls = [];
  await Promise.all(['a.png', 'b.png', 'c.png'].map((name) => store.write(picture, `sea/${name}`)));
  const each = (call: string): string[] => [call, call, call];
  const steps = disk.calls.map((call) => call.replace(/ .\.png$/, ''));
  expect(steps.slice(0, 6).toSorted()).toEqual([...each('open tmp'), ...each('write tmp')]);
  const files = steps.slice(6).filter((name) => name.endsWith('tmp'));
  expect(files.toSorted()).toEqual([...each('rename tmp'), ...each('sync tmp')]);
  expect(steps.filter((name) => name === 'sync sea').length).toBeLessThan(3);
  expect(steps.at(-1)).toBe('sync sea');
});

test('a picture that fails leaves the others of its group alone', async () => {
  const dir = temporaryFolder();
  const store = createImageStore(folderPlace(dir));
  await store.write(picture, 'a.png');
  Object.assign(disk, { failAt: 'rename tmp b.png', code: 'EISDIR' });
  const outcomes = await Promise.allSettled(
    ['a.png', 'b.png', 'c.png'].map((name) => store.write(picture, name)),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(filesIn(dir)).toEqual(['a.png', 'c.png']);
});

test('a rename during the sync of its folder waits for the next sync', async () => {
  const dir = temporaryFolder();
  const store = createImageStore(folderPlace(dir));
  await store.write(pictures.large, 'first.png');
  disk.calls = [];
  const names = ['a.png', 'b.png', 'c.png'];
  await Promise.all(names.map((name) => store.write(pictures.large, name)));
  const lastName = disk.calls.findLastIndex((call) => call.startsWith('rename'));
  const folderSyncs = disk.calls.filter((call) => call === `sync ${basename(dir)}`);
  expect(disk.calls.lastIndexOf(`sync ${basename(dir)}`)).toBeGreaterThan(lastName);
  expect(folderSyncs.length).toBeLessThan(names.length);
});

test('many pictures that come at once take few open files, and all are there', async () => {
  const dir = temporaryFolder();
  const store = createImageStore(folderPlace(dir));
  const names = Array.from({ length: isWhole ? 1_000 : 200 }, (_, i) => `${i}.png`);
  await Promise.all(names.map((name) => store.write(picture, name)));
  expect(filesIn(dir)).toEqual(names.toSorted());
  expect(disk.mostOpen).toBeLessThan(100);
  expect(disk.open.size).toBe(0);
});

test('a new folder is made durable before any file is put into it', async () => {
  const dir = temporaryFolder();
  await createImageStore(folderPlace(join(dir, 'images'))).write(picture, 'sea/a.png');
  expect(disk.calls.slice(0, 4)).toEqual([
    'open images',
    'sync images',
    `open ${basename(dir)}`,
    `sync ${basename(dir)}`,
  ]);
  expect(disk.calls.slice(4)).toEqual(writeSteps);
});

test('a move of a picture is made durable in both folders', async () => {
  const store = createImageStore(folderPlace(temporaryFolder()));
  await store.write(picture, 'sea/a.png');
  await store.write(picture, 'old/b.png');
  disk.calls = [];
  await store.move('sea/a.png', 'old/a.png');
  expect(disk.calls).toEqual(['rename a.png a.png', 'open old', 'sync old', 'open sea', 'sync sea']);
});

test('files of a crashed run are made durable before anybody relies on them', async () => {
  const dir = temporaryFolder();
  await createImageStore(folderPlace(dir)).write(picture, 'sea/a.png');
  disk.calls = [];
  const { content, ...size } = picture;
  const sha256 = createHash('sha256').update(content).digest('hex');
  const recorded = { ...size, file: 'sea/a.png', bytes: content.length, sha256 };
  expect(await createImageStore(folderPlace(dir)).has(recorded)).toBe(true);
  expect(disk.calls).toEqual([`open ${basename(dir)}`, `sync ${basename(dir)}`, 'open sea', 'sync sea']);
});

const codes = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'EIO', 'EWHATEVER'];

test.each(
  codes.flatMap((code) => sizes.flatMap((size) => writeSteps.map((at) => [code, at, size] as const))),
)('%s at "%s" of a %s picture is a fatal failure and leaves no half file', async (code, failAt, size) => {
  const dir = temporaryFolder();
  const store = createImageStore(folderPlace(dir));
  await store.write({ ...picture, content: Buffer.from('the old one') }, 'sea/a.png');
  Object.assign(disk, { failAt, code });
  const text = await troubleOf(store.write(pictures[size], 'sea/a.png'));
  const verb = failAt.startsWith('open') && ['EMFILE', 'ENFILE', 'EIO'].includes(code) ? 'open' : 'write';
  expect(text).toMatch(
    new RegExp(
      `^cannot ${verb} ${join(dir, 'sea', 'a.png')}(\\.former)?: [a-z -]+ \\(${code}\\); .+ give the same command again$`,
    ),
  );
  const contentOf = (file: string): string => readFileSync(join(dir, file), 'utf8').trimEnd();
  const old = filesIn(dir).filter((file) => contentOf(file) === 'the old one');
  const others = filesIn(dir).filter((file) => contentOf(file) !== 'the old one');
  expect(old).toHaveLength(1);
  expect(others.map(contentOf)).toEqual(others.length === 0 ? [] : ['the new one']);
  expect(disk.open.size).toBe(0);

  Object.assign(disk, { failAt: '' });
  await store.write(pictures[size], 'sea/a.png');
  expect(filesIn(dir)).toEqual(['sea/a.png', 'sea/a.png.former']);
  expect(contentOf('sea/a.png')).toBe('the new one');
  expect(contentOf('sea/a.png.former')).toBe('the old one');
});

test('a network folder without fsync is accepted', async () => {
  const dir = temporaryFolder();
  const store = createImageStore(folderPlace(dir));
  await store.write(picture, 'sea/first.png');
  Object.assign(disk, { failAt: 'sync sea', code: 'EINVAL' });
  await store.write(picture, 'sea/a.png');
  expect(filesIn(dir)).toEqual(['sea/a.png', 'sea/first.png']);
});

test.each(sizes)(
  'a disk that reports only at the closing that it did not take a %s picture is believed',
  async (size) => {
    const dir = temporaryFolder();
    const store = createImageStore(folderPlace(dir));
    await store.write(picture, 'sea/first.png');
    Object.assign(disk, { failAtClose: 'tmp', code: 'EDQUOT' });
    expect(await troubleOf(store.write(pictures[size], 'sea/a.png'))).toContain('(EDQUOT)');
    expect(filesIn(dir)).toEqual(['sea/first.png']);
    Object.assign(disk, { failAtClose: '' });
    await store.write(pictures[size], 'sea/a.png');
    expect(filesIn(dir)).toEqual(['sea/a.png', 'sea/first.png']);
  },
);

test('a bug is not reported as a failure of the disk', async () => {
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'x'), '');
  const broken = { ...picture, content: undefined as unknown as Uint8Array };
  await expect(createImageStore(folderPlace(dir)).write(broken, 'a.png')).rejects.toThrow(TypeError);
  expect(filesIn(dir)).toEqual(['x']);
});

const picture: Picture = { content: Buffer.from('the new one'), width: 1, height: 1, sha256: '' };

const pictures = {
  small: picture,
  large: { ...picture, content: Buffer.from('the new one'.padEnd(100_000)) },
};

function step(call: string): void {
  disk.calls.push(call);
  if (call !== disk.failAt) return;
  const syscall = call.replace('sync ', 'fsync ').split(' ')[0];
  throw Object.assign(new Error(`${disk.code}: made up`), { code: disk.code, syscall });
}

function shortName(path: string): string {
  return path.endsWith('.tmp') ? 'tmp' : basename(path);
}

function nameOf(file: number): string {
  return disk.open.get(file) ?? 'a file that is not open';
}

function open(fs: typeof Fs, path: string, flags: string): number {
  step(`open ${shortName(path)}`);
  const file = fs.openSync(path, flags);
  disk.open.set(file, shortName(path));
  disk.mostOpen = Math.max(disk.mostOpen, disk.open.size);
  return file;
}

/** A disk that becomes full writes a part of the bytes before the error. */
function write(fs: typeof Fs, file: number, bytes: Uint8Array): void {
  const call = `write ${nameOf(file)}`;
  if (disk.failAt === call) fs.writeFileSync(file, bytes.subarray(0, 3));
  step(call);
  fs.writeFileSync(file, bytes);
}

function sync(fs: typeof Fs, file: number): void {
  step(`sync ${nameOf(file)}`);
  fs.fsyncSync(file);
}

function close(fs: typeof Fs, file: number): void {
  const name = nameOf(file);
  fs.closeSync(file);
  disk.open.delete(file);
  if (name === disk.failAtClose)
    throw Object.assign(new Error(`${disk.code}: made up`), { code: disk.code, syscall: 'close' });
}

function rename(fs: typeof Fs, from: string, to: string): void {
  step(`rename ${shortName(from)} ${shortName(to)}`);
  fs.renameSync(from, to);
}

/** Calls back in a later turn of the event loop, as the file system does. */
function callBack<T>(done: (error: unknown, value?: T) => void, work: () => T): void {
  setImmediate(() => {
    try {
      done(null, work());
    } catch (error) {
      done(error);
    }
  });
}
