/** In which order a picture reaches the disk, and what is left when any of these calls fails. */
import { createHash } from 'node:crypto';
import type * as Fs from 'node:fs/promises';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import type { CheckedPicture } from '../../src/core/picture.ts';
import { createImageStore } from '../../src/images/image-store.ts';
import { filesIn, temporaryFolder, troubleOf } from './store.ts';

const disk = vi.hoisted(() => ({ calls: [] as string[], failAt: '', code: '', open: 0, mostOpen: 0 }));

vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof Fs>();
  return {
    ...fs,
    open: async (path: string, flags: string) => {
      step(`open ${shortName(path)}`);
      disk.open += 1;
      disk.mostOpen = Math.max(disk.mostOpen, disk.open);
      const handle = await fs.open(path, flags);
      return {
        writeFile: async (bytes: Uint8Array) => {
          // A disk that fills up takes a part first.
          if (disk.failAt === `write ${shortName(path)}`) await handle.writeFile(bytes.subarray(0, 3));
          step(`write ${shortName(path)}`);
          await handle.writeFile(bytes);
        },
        sync: async () => {
          step(`sync ${shortName(path)}`);
          await handle.sync();
        },
        close: async () => {
          await handle.close();
          disk.open -= 1;
        },
      };
    },
    rename: async (from: string, to: string) => {
      step(`rename ${shortName(from)} ${shortName(to)}`);
      await fs.rename(from, to);
    },
  };
});

const writeSteps = ['open tmp', 'write tmp', 'sync tmp', 'rename tmp a.png', 'open sea', 'sync sea'];

beforeEach(() => Object.assign(disk, { calls: [], failAt: '', code: '', open: 0, mostOpen: 0 }));

test('the bytes are on the disk before the name is, and the name before it is said to be saved', async () => {
  const store = createImageStore(temporaryFolder());
  await store.write(picture, 'sea/first.png');
  disk.calls = [];
  await store.write(picture, 'sea/a.png');
  expect(disk.calls).toEqual(writeSteps);
});

test('a thousand pictures that come at once take few open files, and all are there', async () => {
  const dir = temporaryFolder();
  const store = createImageStore(dir);
  const names = Array.from({ length: 1_000 }, (_, i) => `${i}.png`);
  await Promise.all(names.map((name) => store.write(picture, name)));
  expect(filesIn(dir)).toEqual(names.toSorted());
  expect(disk.mostOpen).toBeLessThan(100);
});

test('a new folder is made to last before anything is put into it', async () => {
  const dir = temporaryFolder();
  await createImageStore(join(dir, 'images')).write(picture, 'sea/a.png');
  expect(disk.calls.slice(0, 4)).toEqual([
    'open images',
    'sync images',
    `open ${basename(dir)}`,
    `sync ${basename(dir)}`,
  ]);
  expect(disk.calls.slice(4)).toEqual(writeSteps);
});

test('a picture that moved to another folder is made to last in both', async () => {
  const store = createImageStore(temporaryFolder());
  await store.write(picture, 'sea/a.png');
  await store.write(picture, 'old/b.png');
  disk.calls = [];
  await store.move('sea/a.png', 'old/a.png');
  expect(disk.calls).toEqual(['rename a.png a.png', 'open old', 'sync old', 'open sea', 'sync sea']);
});

test('what a dead run has written is made to last before anybody relies on it', async () => {
  const dir = temporaryFolder();
  await createImageStore(dir).write(picture, 'sea/a.png');
  disk.calls = [];
  const { png, ...size } = picture;
  const sha256 = createHash('sha256').update(png).digest('hex');
  const recorded = { ...size, file: 'sea/a.png', bytes: png.length, sha256 };
  expect(await createImageStore(dir).has(recorded)).toBe(true);
  expect(disk.calls).toEqual([`open ${basename(dir)}`, `sync ${basename(dir)}`, 'open sea', 'sync sea']);
});

const codes = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'EIO', 'EWHATEVER'];

test.each(codes.flatMap((code) => writeSteps.map((at) => [code, at] as const)))(
  '%s at "%s" ends in trouble and leaves no half file',
  async (code, failAt) => {
    const dir = temporaryFolder();
    const store = createImageStore(dir);
    await store.write({ ...picture, png: Buffer.from('the old one') }, 'sea/a.png');
    Object.assign(disk, { failAt, code });
    const text = await troubleOf(store.write(picture, 'sea/a.png'));
    expect(text).toMatch(
      new RegExp(
        `^cannot write ${join(dir, 'sea', 'a.png')}: [a-z -]+ \\(${code}\\); .+ start the run again$`,
      ),
    );
    expect(filesIn(dir)).toEqual(['sea/a.png']);
    const hasNewName = writeSteps.indexOf(failAt) > writeSteps.indexOf('rename tmp a.png');
    expect(readFileSync(join(dir, 'sea/a.png'), 'utf8')).toBe(hasNewName ? 'the new one' : 'the old one');

    Object.assign(disk, { failAt: '' });
    await store.write(picture, 'sea/a.png');
    expect(readFileSync(join(dir, 'sea/a.png'), 'utf8')).toBe('the new one');
  },
);

test('a network folder that cannot make names last is no trouble', async () => {
  const dir = temporaryFolder();
  const store = createImageStore(dir);
  await store.write(picture, 'sea/first.png');
  Object.assign(disk, { failAt: 'sync sea', code: 'EINVAL' });
  await store.write(picture, 'sea/a.png');
  expect(filesIn(dir)).toEqual(['sea/a.png', 'sea/first.png']);
});

test('a bug is not mistaken for a disk', async () => {
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'x'), '');
  const broken = { ...picture, png: undefined as unknown as Uint8Array };
  await expect(createImageStore(dir).write(broken, 'a.png')).rejects.toThrow(TypeError);
  expect(filesIn(dir)).toEqual(['x']);
});

const picture: CheckedPicture = { png: Buffer.from('the new one'), width: 1, height: 1, sha256: '' };

function step(call: string): void {
  disk.calls.push(call);
  if (call !== disk.failAt) return;
  throw Object.assign(new Error(`${disk.code}: made up`), { code: disk.code, syscall: call.split(' ')[0] });
}

function shortName(path: string): string {
  return path.endsWith('.tmp') ? 'tmp' : basename(path);
}
