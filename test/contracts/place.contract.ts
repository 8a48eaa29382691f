/** Contract of a `Place`: the behaviour of a place for pictures that the program relies on. */
import { hash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { digestIn, type Place, readBytes, sourceIn } from '../../src/runner/images/place.ts';

export interface PlaceUnderTest {
  place: Place;
  /** Makes the next `put` fail after a part of the file was written. */
  cutNextPut(): void;
  /** Resolves to the names of all files, including those that `list` leaves out. */
  everything(): Promise<string[]>;
}

export function placeContract(name: string, open: () => Promise<PlaceUnderTest>): void {
  describe(name, () => contract(open));
}

function contract(open: () => Promise<PlaceUnderTest>): void {
  const prepared = async (files: Record<string, string> = {}): Promise<PlaceUnderTest> => {
    const opened = await open();
    await opened.place.probe(() => opened.place.prepare());
    for (const [name, text] of Object.entries(files)) await opened.place.put(name, Buffer.from(text));
    return opened;
  };

  it('has a file that was put, under its name, with its facts', async () => {
    const { place } = await prepared();
    const content = Buffer.from('a picture');
    expect(await place.put('sea/deep/a.png', content, { sha256: hash('sha256', content) })).toBe(true);
    expect(await place.read('sea/deep/a.png')).toEqual(content);
    const facts = await place.facts('sea/deep/a.png');
    expect(facts).toMatchObject({ kind: 'file', bytes: content.length });
    // A place without checksums cannot tell.
    expect([true, undefined]).toContain(facts?.isOf(hash('sha256', content)));
    expect([false, undefined]).toContain(facts?.isOf(hash('sha256', 'another')));
  });

  it('has no file that was not put', async () => {
    const { place } = await prepared({ 'a.png': 'a' });
    for (const name of ['b.png', 'sea/a.png', 'a.png/b.png', 'a']) {
      expect(await place.read(name), name).toBeUndefined();
      expect(await place.facts(name), name).toBeUndefined();
      await place.remove(name);
      await place.move(name, 'new.png');
      expect(await place.fetch(name, join(folder(), 'x'), false), name).toBe(false);
    }
    expect(await namesIn(place)).toEqual(['a.png']);
  });

  it('replaces a file by another file, even of the same length', async () => {
    const { place } = await prepared({ 'a.png': 'first' });
    for (const text of ['other', 'a longer one', '']) {
      await place.put('a.png', Buffer.from(text));
      expect(String(await place.read('a.png'))).toBe(text);
    }
    expect(await namesIn(place)).toEqual(['a.png']);
  });

  it('puts a file of this machine, which stays', async () => {
    const { place } = await prepared();
    const path = join(folder(), 'here');
    const content = Buffer.alloc(200_000, 'picture');
    writeFileSync(path, content);
    await place.put('a.png', { path });
    expect((await place.read('a.png'))?.equals(content)).toBe(true);
    expect(readFileSync(path).equals(content)).toBe(true);
  });

  it('moves a file of this machine into its place, whatever its size, even over another file', async () => {
    const { place } = await prepared({ 'a.mp4': 'before' });
    for (const length of [0, 5, readBytes + 1]) {
      const path = join(folder(), 'here');
      const content = Buffer.alloc(length, randomBytes(1_021));
      writeFileSync(path, content);
      const sha256 = hash('sha256', content);
      expect(await place.put('a.mp4', { path, isMoved: true }, { sha256 })).toBe(true);
      expect(existsSync(path)).toBe(false);
      expect((await place.read('a.mp4'))?.equals(content)).toBe(true);
      expect(await digestIn(place, 'a.mp4')).toBe(sha256);
      const facts = await place.facts('a.mp4');
      expect(facts).toMatchObject({ kind: 'file', bytes: length });
      expect([true, undefined]).toContain(facts?.isOf(sha256));
    }
    expect(await namesIn(place)).toEqual(['a.mp4']);
  });

  it('leaves the file of this machine if its place is taken', async () => {
    const { place } = await prepared({ 'a.mp4': 'before' });
    const path = join(folder(), 'here');
    writeFileSync(path, 'another');
    expect(await place.put('a.mp4', { path, isMoved: true }, { isFirst: true })).toBe(false);
    expect([readFileSync(path, 'utf8'), String(await place.read('a.mp4'))]).toEqual(['another', 'before']);
    expect(await place.put('b.mp4', { path, isMoved: true }, { isFirst: true })).toBe(true);
    expect([existsSync(path), String(await place.read('b.mp4'))]).toEqual([false, 'another']);
  });

  it('reads parts of a file', async () => {
    const { place } = await prepared({ 'a.mp4': '0123456789', 'empty.mp4': '' });
    const part = async (file: string, at: number, length: number) =>
      (await place.read(file, { at, length }))?.toString();
    expect(await part('a.mp4', 0, 4)).toBe('0123');
    expect(await part('a.mp4', 4, 3)).toBe('456');
    expect(await part('a.mp4', 8, 100)).toBe('89');
    expect(await part('a.mp4', 10, 5)).toBe('');
    expect(await part('a.mp4', 1_000, 5)).toBe('');
    expect(await part('empty.mp4', 0, 5)).toBe('');
    expect(await part('gone.mp4', 0, 5)).toBeUndefined();
    expect([await digestIn(place, 'gone.mp4'), await digestIn(place, 'empty.mp4')]).toEqual([
      undefined,
      hash('sha256', ''),
    ]);
  });

  it('copies, renames and downloads a file that is too large for memory, unchanged', async () => {
    const { place } = await prepared();
    const content = Buffer.alloc(readBytes + 3, randomBytes(1_021));
    const isSame = async (file: string) => (await place.read(file))?.equals(content);
    await place.put('a.mp4', content);
    await place.put('b.mp4', sourceIn(place, 'a.mp4', content.length), { sha256: hash('sha256', content) });
    expect(await isSame('b.mp4')).toBe(true);
    await place.move('a.mp4', 'c.mp4');
    await place.move('c.mp4', 'b.mp4');
    expect([await isSame('b.mp4'), await namesIn(place)]).toEqual([true, ['b.mp4']]);
    const to = join(folder(), 'copy');
    expect(await place.fetch('b.mp4', to, false)).toBe(true);
    expect(readFileSync(to).equals(content)).toBe(true);
    // This file has the same length and the same beginning.
    await place.put('d.mp4', Buffer.concat([content.subarray(0, -1), Buffer.from('x')]));
    await expect(place.move('d.mp4', 'b.mp4')).rejects.toThrow(/cannot rename/);
  });

  it('has no file if the source of a copy ends too early', async () => {
    const { place, everything } = await prepared();
    for (const [length, bytes] of [
      [10, 9],
      [3 * readBytes, readBytes + 7],
    ] as const) {
      const content = Buffer.alloc(bytes, 'x');
      const read = async (at: number, some: number) => content.subarray(at, at + some);
      await expect(place.put('a.mp4', { length, read })).rejects.toThrow(/changed/);
    }
    expect(await everything()).toEqual([]);
  });

  it.each(['a b.png', 'ä é.png', '夜/港.png', '👩‍🚀.png', 'a&b=c+d%20e.png', "it's #1?.png", '[x](y)!~*.png'])(
    'takes the name %j',
    async (name) => {
      const { place } = await prepared({ [name]: name });
      expect(String(await place.read(name))).toBe(name);
      expect(await namesIn(place)).toEqual([name]);
      await place.move(name, `to/${name}`);
      expect(await namesIn(place)).toEqual([`to/${name}`]);
      await place.remove(`to/${name}`);
      expect(await namesIn(place)).toEqual([]);
    },
  );

  it('lists files with their sizes, all or those of a folder', async () => {
    const files = { 'a.png': '1', 'sea.png': '12', 'sea/b.png': '123', 'sea/deep/c.png': '1234' };
    const { place } = await prepared(files);
    expect(await listed(place)).toEqual(Object.entries(files).map(([name, { length }]) => [name, length]));
    expect(await listed(place, 'sea/')).toEqual([
      ['sea/b.png', 3],
      ['sea/deep/c.png', 4],
    ]);
    expect(await listed(place, 'none/')).toEqual([]);
  });

  it('moves a file, also for the second time', async () => {
    const { place } = await prepared({ 'a.png': 'a' });
    await place.move('a.png', 'old/a.png');
    await place.move('a.png', 'old/a.png');
    await place.move('old/a.png', 'old/a.png');
    expect(await namesIn(place)).toEqual(['old/a.png']);
    expect(String(await place.read('old/a.png'))).toBe('a');
  });

  it('moves a file over an equal one, and over another only if it is told to', async () => {
    const { place } = await prepared({ 'a.png': 'same', 'b.png': 'same', 'c.png': 'another' });
    await place.move('a.png', 'b.png');
    await expect(place.move('b.png', 'c.png')).rejects.toThrow(/cannot rename .*b\.png to .*c\.png: another/);
    expect(await namesIn(place)).toEqual(['b.png', 'c.png']);
    await place.move('b.png', 'c.png', true);
    expect(await namesIn(place)).toEqual(['c.png']);
    expect(String(await place.read('c.png'))).toBe('same');
  });

  it('leaves the first file if that is requested, also for several at once', async () => {
    const { place } = await prepared();
    const texts = ['one', 'two', 'three', 'four'];
    const came = await Promise.all(
      texts.map((text) => place.put('a.json', Buffer.from(text), { isFirst: true })),
    );
    expect(came.filter(Boolean)).toHaveLength(1);
    const first = texts[came.indexOf(true)];
    expect(await place.put('a.json', Buffer.from('late'), { isFirst: true })).toBe(false);
    expect(String(await place.read('a.json'))).toBe(first);
    expect(await namesIn(place)).toEqual(['a.json']);
  });

  it('keeps the former file if a put is interrupted, and has nothing half-written after the next start', async () => {
    const { place, cutNextPut, everything } = await prepared({ 'a.png': 'before' });
    for (const [name, was] of [
      ['a.png', 'before'],
      ['b.png', undefined],
    ] as const) {
      cutNextPut();
      await expect(place.put(name, Buffer.from('a new picture'))).rejects.toThrow();
      expect((await place.read(name))?.toString()).toBe(was);
    }
    expect(await namesIn(place)).toEqual(['a.png']);
    await place.probe(() => place.prepare());
    expect(await everything()).toEqual(['a.png']);
  });

  it('keeps an existing file, removes a file, and accepts that a file is already gone', async () => {
    const { place } = await prepared({ 'sea/a.png': 'a', 'sea/b.png': 'b' });
    await place.makeLast('sea/a.png');
    await place.remove('sea/b.png');
    await place.remove('sea/b.png');
    expect(await namesIn(place)).toEqual(['sea/a.png']);
  });

  it.each([true, false])('brings a file to this machine, and leaves it (linked: %j)', async (isLinked) => {
    const { place } = await prepared({ 'a.png': 'a picture' });
    const to = join(folder(), 'copy');
    expect(await place.fetch('a.png', to, isLinked)).toBe(true);
    expect(readFileSync(to, 'utf8')).toBe('a picture');
    await place.remove('a.png');
    expect(readFileSync(to, 'utf8')).toBe('a picture');
  });

  it('takes many files at once', async () => {
    const { place } = await prepared();
    const names = Array.from({ length: 100 }, (_, i) => `${i % 7}/${i}.png`);
    await Promise.all(names.map((name) => place.put(name, Buffer.from(name))));
    expect(await namesIn(place)).toEqual(names.toSorted());
    for (const name of names) expect(String(await place.read(name))).toBe(name);
  });
}

async function listed(place: Place, below?: string): Promise<[string, number][]> {
  const files: [string, number][] = [];
  for await (const { name, bytes } of place.list(below)) files.push([name, bytes]);
  return files.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

async function namesIn(place: Place): Promise<string[]> {
  return (await listed(place)).map(([name]) => name);
}

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-place-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
