/** Promise: a .blend file may link libraries in its folder by any name, and none outside of it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { findFile, linkedLibraries } from '../../../src/renderers/blender/find-file.ts';

interface Form {
  pointerBytes: 4 | 8;
  isLittleEndian: boolean;
}

const usual: Form = { pointerBytes: 8, isLittleEndian: true };
const forms: Form[] = [
  usual,
  { pointerBytes: 4, isLittleEndian: true },
  { pointerBytes: 8, isLittleEndian: false },
];

/**
 * Returns a .blend file with these libraries: the name of each, and its path on the machine that saved the
 * file. `form` sets the byte layout.
 */
function blend(libraries: [name: string, savedAt: string][], form = usual): Buffer {
  const { pointerBytes, isLittleEndian } = form;
  const short = (value: number): Buffer => number(value, 2, isLittleEndian);
  const int = (value: number): Buffer => number(value, 4, isLittleEndian);
  const block = (code: string, data: Buffer): Buffer =>
    Buffer.concat([
      Buffer.from(code.padEnd(4, '\0')),
      int(data.length),
      Buffer.alloc(pointerBytes),
      int(0),
      int(1),
      data,
    ]);
  const field = (text: string, bytes: number): Buffer => Buffer.concat([Buffer.from(text)], bytes);
  const library = ([name, savedAt]: [string, string]): Buffer =>
    block(
      'LI',
      Buffer.concat([
        field('LIsomething.blend', 66),
        Buffer.alloc(2 * pointerBytes),
        field(name, 1024),
        field(savedAt, 1024),
      ]),
    );
  const texts = (section: string, all: string[]): Buffer =>
    padded([Buffer.from(section), int(all.length), ...all.map((text) => Buffer.from(`${text}\0`))]);
  const names = ['id', '*filedata', '(*run)()', 'name[1024]', 'filepath_abs[1024]', 'x'];
  const types = ['char', 'ID', 'FileData', 'Library', 'Point'];
  const fields = [
    [1, 0],
    [2, 1],
    [0, 2],
    [0, 3],
    [0, 4],
  ];
  const structures = [int(2), short(4), short(1), short(0), short(5)];
  structures.push(short(3), short(fields.length), ...fields.flat().map(short));
  const dna = Buffer.concat([
    Buffer.from('SDNA'),
    texts('NAME', names),
    texts('TYPE', types),
    padded([Buffer.from('TLEN'), ...[1, 66, 0, 2200, 1].map(short)]),
    Buffer.from('STRC'),
    ...structures,
  ]);
  const head = `BLENDER${pointerBytes === 8 ? '-' : '_'}${isLittleEndian ? 'v' : 'V'}304`;
  return Buffer.concat([
    Buffer.from(head),
    ...libraries.map(library),
    block('DNA1', dna),
    block('ENDB', Buffer.alloc(0)),
  ]);
}

it.each(forms)('names of libraries are read as Blender reads them, not as paths of the past (%j)', (form) => {
  const file = blend(
    [
      ['//parts/library.blend', '/home/somebody/library.blend'],
      ['//möbel/stühle.blend', '/home/somebody/möbel/stühle.blend'],
      ['/srv/böse.blend', '/srv/böse.blend'],
    ],
    form,
  );
  const names = ['./parts/library.blend', './möbel/stühle.blend', '/srv/böse.blend'];
  expect(linkedLibraries(file, 1e9)).toEqual(names);
});

it('a packed Blender file is unpacked, or refused before it fills the memory', () => {
  const file = blend([['//library.blend', '']]);
  for (const packed of [gzipSync(file), zstdOf(file)]) {
    expect(linkedLibraries(packed, file.length)).toEqual(['./library.blend']);
    expect(() => linkedLibraries(packed, file.length - 1)).toThrow('it cannot be unpacked');
  }
  const blocks = 10_000;
  expect(() =>
    linkedLibraries(Buffer.concat([zstdHead, ...Array.from({ length: blocks }, () => zeros)]), 1e6),
  ).toThrow('it cannot be unpacked');
});

/** Begins a zstd frame with a window of 128 KiB, without a size or checksum (RFC 8878). */
const zstdHead = Buffer.from('28b52ffd0038', 'hex');

/** A zstd block of 128 KiB of zeros. More follow. */
const zeros = Buffer.concat([zstdBlock(128 * 1024, 1, false), Buffer.alloc(1)]);

/** Returns a zstd frame of uncompressed blocks. */
function zstdOf(bytes: Buffer): Buffer {
  return Buffer.concat([zstdHead, zstdBlock(bytes.length, 0, true), bytes]);
}

/** Returns the head of a zstd block. `kind`: 0 uncompressed, 1 one repeated byte. */
function zstdBlock(length: number, kind: 0 | 1, isLast: boolean): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(length * 8 + kind * 2 + (isLast ? 1 : 0));
  return head.subarray(0, 3);
}

it('a Blender file is accepted only if its libraries are in its folder', () => {
  const assets = realpathSync(mkdtempSync(join(tmpdir(), 'nightrender-')));
  onTestFinished(() => rmSync(assets, { recursive: true }));
  mkdirSync(join(assets, 'rooms'));
  const find = (name: string): unknown => {
    writeFileSync(join(assets, 'rooms/room.blend'), blend([[name, '/home/somebody/library.blend']]));
    return findFile({ kind: 'blend', path: 'rooms/room.blend' }, { assets, scripts: null }, assets);
  };
  for (const name of [
    '//library.blend',
    '//../möbel/stühle.blend',
    '//..\\parts\\library.blend',
    `${assets}/ä.blend`,
  ])
    expect(find(name)).toEqual({ path: join(assets, 'rooms/room.blend'), root: assets });
  for (const name of ['//../../ö.blend', '/ö/x.blend', '//..\\..\\ö.blend', '/etc/passwd'])
    expect(() => find(name)).toThrow(/leads out of the folder/);
});

it('a Blender file is refused if the description of its libraries is cut or damaged', () => {
  const whole = blend([['//library.blend', '']]);
  for (let length = 1200; length < whole.length - 24; length += 7)
    expect(() => linkedLibraries(whole.subarray(0, length), 1e9)).toThrow(/The file/);
});

function number(value: number, bytes: 2 | 4, isLittleEndian: boolean): Buffer {
  const buffer = Buffer.alloc(bytes);
  if (isLittleEndian) buffer.writeUIntLE(value, 0, bytes);
  else buffer.writeUIntBE(value, 0, bytes);
  return buffer;
}

function padded(parts: Buffer[]): Buffer {
  const whole = Buffer.concat(parts);
  return Buffer.concat([whole], Math.ceil(whole.length / 4) * 4);
}
