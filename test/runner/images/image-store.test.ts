/**
 * Promise: the folder of pictures has complete files under their final names or no files, nothing is written
 * outside of it, and every disk error has a message.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Picture, SavedPicture } from '../../../src/runner/core/picture.ts';
import type { RecordedPicture } from '../../../src/runner/core/scene-record.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import { temporaryName } from '../../../src/lib/files/temporary-files.ts';
import { asAnotherUser, canBecome } from '../../fakes/another-user.ts';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { filesIn, temporaryFolder, troubleOf } from './store.ts';

describe('write', () => {
  test('keeps an existing file of the name as .former, with its sidecars', async () => {
    const { dir, store } = folder({
      'a.png': 'one that was paid for',
      'a.json': 'its origin',
      'a.webp': 'copy',
    });
    await store.write(picture('new'), 'a.png');
    await store.write(picture('newer'), 'a.png');
    expect(read(dir, 'a.png')).toBe('newer');
    expect(read(dir, 'a.png.former')).toBe('one that was paid for');
    expect(read(dir, 'a.json.former')).toBe('its origin');
    expect(read(dir, 'a.png.former-2')).toBe('new');
    expect(filesIn(dir)).toEqual(
      ['a.png', 'a.png.former', 'a.json.former', 'a.webp.former', 'a.png.former-2'].toSorted(),
    );
  });

  test('keeps a file that stands in the place of a sidecar, although the picture is gone', async () => {
    const { dir, store } = folder({ 'a.json': 'a file of somebody else' });
    await store.write({ ...picture('a'), beside: [{ ending: '.json', bytes: Buffer.from('{}') }] }, 'a.png');
    expect(filesIn(dir)).toEqual(['a.json', 'a.json.former', 'a.png']);
    expect(read(dir, 'a.json.former')).toBe('a file of somebody else');
  });

  test('leaves no second copy if the same picture is written again, as after a power cut', async () => {
    const { dir, store } = folder({ 'a.png': 'a' });
    await store.write(picture('a'), 'a.png');
    expect(filesIn(dir)).toEqual(['a.png']);
  });

  test('the last of two pictures with one name wins, and the file is one of them, complete', async () => {
    const { dir, store } = folder();
    const texts = Array.from({ length: 20 }, (_, i) => String(i).repeat(100_000));
    await Promise.all(texts.map((text) => store.write(picture(text), 'a.png')));
    expect(texts).toContain(read(dir, 'a.png'));
    expect(filesIn(dir)).toEqual(['a.png']);
  });

  test.each(['../a.png', 'x/../../a.png', '/tmp/a.png', '.', '', 'x/..', '..'])(
    'refuses the name %j as a bug of ours',
    async (name) => {
      const { dir, store } = folder({ 'inside/b.png': 'b' }, 'inside');
      await expect(store.write(picture('a'), name)).rejects.toThrow('leads out of the images folder');
      await expect(store.move('b.png', name)).rejects.toThrow('leads out of the images folder');
      await expect(store.move(name, 'b.png')).rejects.toThrow('leads out of the images folder');
      expect(filesIn(dir)).toEqual(['inside/b.png']);
    },
  );
});

describe('a disk that rejects the picture is reported with a message, and no file is left', () => {
  test('a file in the place of a folder', async () => {
    const { dir, store } = folder({ sea: 'a file' });
    const text = await troubleOf(store.write(picture('a'), 'sea/a.png'));
    expect(text).toContain(join(dir, 'sea', 'a.png'));
    expect(text).toMatch(/a file stands where a folder is needed .*move that file or folder away/);
    expect(await troubleOf(store.write(picture('a'), 'sea/deep/er/a.png'))).toMatch(/a file stands/);
    expect(filesIn(dir)).toEqual(['sea']);
  });

  test('a file in the place of the whole output folder', async () => {
    const { dir } = folder({ images: 'a file' });
    const store = createImageStore(folderPlace(join(dir, 'images')));
    expect(await troubleOf(store.prepare())).toMatch(/a file stands where a folder is needed/);
    expect(await troubleOf(store.write(picture('a'), 'a.png'))).toMatch(
      /a file stands where a folder is needed/,
    );
    expect(filesIn(dir)).toEqual(['images']);
  });

  test('a folder in the place of the picture', async () => {
    const { dir, store } = folder({ 'a.png/x.txt': 'x' });
    const text = await troubleOf(store.write(picture('a'), 'a.png'));
    expect(text).toMatch(/a folder stands where the file belongs/);
    expect(filesIn(dir)).toEqual(['a.png/x.txt']);
  });

  test('a name that is too long for it', async () => {
    const { dir, store } = folder();
    const text = await troubleOf(store.write(picture('a'), `${'x'.repeat(300)}.png`));
    expect(text).toMatch(/too long for this file system \(ENAMETOOLONG\); choose a shorter/);
    expect(filesIn(dir)).toEqual([]);
  });

  test.skipIf(!canBecome)(
    'a folder without write permission (skipped if root can become nobody else)',
    async () => {
      const { dir, store } = folder();
      chmodSync(dir, 0o555);
      asAnotherUser(dir);
      onTestFinished(() => chmodSync(dir, 0o755));
      expect(await troubleOf(store.write(picture('a'), 'a.png'))).toMatch(
        /permission is denied .*write access/,
      );
      expect(filesIn(dir)).toEqual([]);
    },
  );

  test('a disk that is really full (skipped if this user may not mount one)', async ({ skip }) => {
    const { dir } = folder();
    skip(!mountSmall(dir));
    const store = createImageStore(folderPlace(dir));
    await store.write(picture('small'), 'small.png');
    const text = await troubleOf(store.write(picture('x'.repeat(200_000)), 'large.png'));
    expect(text).toMatch(
      /large\.png: the disk is full \(ENOSPC\); free some space, then give the same command again/,
    );
    expect(filesIn(dir)).toEqual(['small.png']);
    await store.write(picture('fits'), 'large.png');
    expect(read(dir, 'large.png')).toBe('fits');
  });

  test('a disk that is read-only (skipped if this user may not mount one)', async ({ skip }) => {
    const { dir } = folder();
    skip(!mountSmall(dir));
    command('mount', '-o', 'remount,ro', dir);
    const text = await troubleOf(createImageStore(folderPlace(dir)).write(picture('a'), 'a.png'));
    expect(text).toMatch(
      /the file system is read-only \(EROFS\); make it writable, or choose another output\.dir/,
    );
  });
});

describe('move', () => {
  test('takes along the files beside the picture, in place of those that an earlier one left', async () => {
    const files = new Map(['a.png', 'a.json', 'a.webp', 'b.json'].map((name) => [name, Buffer.from(name)]));
    await createImageStore(memoryPlace(files)).move('a.png', 'b.png');
    expect(Object.fromEntries([...files].map(([name, bytes]) => [name, String(bytes)]))).toEqual({
      'b.png': 'a.png',
      'b.json': 'a.json',
      'b.webp': 'a.webp',
    });
  });

  test('reports a file in the place of the folder', async () => {
    const { dir, store } = folder({ 'a.png': 'a', old: 'a file' });
    expect(await troubleOf(store.move('a.png', 'old/a.png'))).toMatch(
      /a file stands where a folder is needed/,
    );
    expect(read(dir, 'a.png')).toBe('a');
  });
});

describe('a file that a crashed run has written', () => {
  const saved = (file: string, text: string): SavedPicture => {
    const sha256 = createHash('sha256').update(text).digest('hex');
    return { file, width: 1, height: 1, bytes: Buffer.byteLength(text), sha256 };
  };

  test('is known by its bytes', async () => {
    const { store } = folder({ 'sea/a.png': 'the sea' });
    expect(await store.has(saved('sea/a.png', 'the sea'))).toBe(true);
    expect(await store.has(saved('sea/a.png', 'the sun'))).toBe(false);
    expect(await store.has(saved('sea/a.png', 'the whole sea'))).toBe(false);
    expect(await store.has(saved('sea', 'the sea'))).toBe(false);
    expect(await store.has(saved('sea/b.png', 'the sea'))).toBe(false);
    expect(await store.has(saved('sea/a.png/b.png', 'the sea'))).toBe(false);
  });
});

describe('prepare', () => {
  test('makes the folder', async () => {
    const dir = temporaryFolder();
    await createImageStore(folderPlace(join(dir, 'renders', 'images'))).prepare();
    expect(existsSync(join(dir, 'renders', 'images'))).toBe(true);
  });

  test('removes half-written files of crashed runs, in every folder, and nothing else', async () => {
    const { dir, store } = folder({
      '.nightrender-1-abc123-7.tmp': 'half',
      'sea/deep/.nightrender-4242-abc123-1.tmp': '',
      '.nightrender-notes.tmp': 'somebody else',
      '.hidden.tmp': 'somebody else',
      'sea/a.png': 'a',
      'b.tmp': 'somebody else',
    });
    await store.prepare();
    expect(filesIn(dir)).toEqual(['.hidden.tmp', '.nightrender-notes.tmp', 'b.tmp', 'sea/a.png']);
  });

  test('leaves files behind links alone, and files that are being written', async () => {
    const elsewhere = temporaryFolder();
    writeFileSync(join(elsewhere, '.nightrender-1-abc123-7.tmp'), 'not ours');
    const { dir, store } = folder();
    symlinkSync(elsewhere, join(dir, 'link'));
    const ofThisRun = temporaryName();
    writeFileSync(join(dir, ofThisRun), 'being written');
    const texts = Array.from({ length: 50 }, (_, i) => String(i).repeat(50_000));
    const writes = texts.map((text, i) => store.write(picture(text), `${i}.png`));
    await Promise.all([store.prepare(), ...writes, store.prepare()]);
    texts.forEach((text, i) => expect(read(dir, `${i}.png`)).toBe(text));
    expect(read(dir, ofThisRun)).toBe('being written');
    expect(existsSync(join(elsewhere, '.nightrender-1-abc123-7.tmp'))).toBe(true);
  });
});

describe('findMissing', () => {
  const recorded = (file: string, bytes: number, moveTo: string | null = null): RecordedPicture => {
    const scene = { attempt: 1, number: 1, label: null, sceneId: file, sceneState: 'saved' } as const;
    return { ...scene, file, moveTo, width: 1, height: 1, bytes, sha256: '' };
  };
  const going = new AbortController().signal;

  test('counts pictures that are gone or have another size, except one that is being renamed', async () => {
    const { store } = folder({ 'a.png': '1', 'b.png': '12', 'sea/new.png': '1', x: 'a file' });
    const all = [
      recorded('a.png', 1),
      recorded('old.png', 1, 'sea/new.png'),
      recorded('x/c.png', 1),
      recorded('b.png', 1),
      recorded('gone.png', 1),
    ];
    expect(await store.findMissing(all, going)).toEqual({ checked: 5, missing: 3, example: 'x/c.png' });
  });

  test('is cut if the run has to end', async () => {
    const { store } = folder({ 'a.png': '1' });
    const many = Array.from({ length: 1_000 }, () => recorded('a.png', 1));
    expect(await store.findMissing(many, AbortSignal.abort())).toBe(undefined);
    expect(await store.findMissing(many, going)).toMatchObject({ checked: 1_000, missing: 0 });
  });
});

function folder(files: Record<string, string> = {}, below = '') {
  const dir = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(dir, name, '..'), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return { dir, store: createImageStore(folderPlace(join(dir, below))) };
}

/** Returns content in place of a picture. The store does not check pictures again when it writes them. */
function picture(text: string): Picture {
  return { content: Buffer.from(text), width: 1, height: 1, sha256: '' };
}

function read(dir: string, name: string): string {
  return readFileSync(join(dir, name), 'utf8');
}

/**
 * Mounts a file system of 64 KB on the folder until the end of the test. Returns false if this user may not
 * mount one.
 */
function mountSmall(dir: string): boolean {
  try {
    command('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', dir);
  } catch {
    return false;
  }
  onTestFinished(() => command('umount', dir));
  return true;
}

function command(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: 'ignore' });
}
