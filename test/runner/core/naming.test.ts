/** Promise: file names are valid on every file system, whatever the manifest contains. */
import { posix, win32 } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  attemptFile,
  maxNameBytes,
  nameKey,
  namedFile,
  portablePath,
  portableSegment,
  readAttemptFile,
  withSuffix,
} from '../../../src/runner/core/naming.ts';
import { fileKinds } from '../../../src/runner/core/picture.ts';
import { runs } from '../../fakes/tier.ts';

describe('portablePath', () => {
  test.each([
    ['lighthouse.png', 'lighthouse.png'],
    ['lighthouse', 'lighthouse.png'],
    ['lighthouse.PNG', 'lighthouse.png'],
    ['lighthouse.png.png', 'lighthouse.png'],
    ['lighthouse.Png .png', 'lighthouse.png'],
    ['lighthouse.jpg', 'lighthouse.jpg.png'],
    ['v1.2', 'v1.2.png'],
    ['sea/day 1/a.png', 'sea/day 1/a.png'],
    ['a<b>c:d"e|f?g*h\\i.png', 'a-b-c-d-e-f-g-h-i.png'],
    ['line\nbreak\ttab\u0000nul\u007F.png', 'linebreaktabnul.png'],
    [' spaced . .png', 'spaced.png'],
    ['.hidden/.a.png', 'hidden/a.png'],
    ['../../etc/passwd', 'unnamed/unnamed/etc/passwd.png'],
    ['/etc/passwd', 'unnamed/etc/passwd.png'],
    ['a/./b/../c', 'a/unnamed/b/unnamed/c.png'],
    ['..\\..\\x', '-..-x.png'],
    ['C:\\x', 'C--x.png'],
    ['', 'unnamed.png'],
    ['.png', 'unnamed.png'],
    [' . ', 'unnamed.png'],
    ['sea//a.png', 'sea/unnamed/a.png'],
    ['sea/', 'sea/unnamed.png'],
    ['CON', '_CON.png'],
    ['con.png', '_con.png'],
    ['nul.txt', '_nul.txt.png'],
    ['AUX/LPT1 .x/COM².png', '_AUX/_LPT1 .x/_COM².png'],
    ['CONSOLE/COM10.png', 'CONSOLE/COM10.png'],
    ['Z\u0065\u0301ro.png', 'Zéro.png'],
    ['日本の海.png', '日本の海.png'],
    ['👩‍🚀.png', '👩‍🚀.png'],
    ['half \uD83D surrogate.png', 'half  surrogate.png'],
    ['txt\u202Egnp.exe', 'txtgnp.exe.png'],
    ['1/2/3/4/5/6/7/8/9/10/11/12', '1/2/3/4/5/6/7/8/9/10-11-12.png'],
  ])('makes %j into %j', (rendered, portable) => {
    expect(portablePath(rendered)).toBe(portable);
  });

  test('cuts a long name at 200 bytes and keeps the ending', () => {
    expect(portablePath(`${'x'.repeat(500)}.png`)).toBe(`${'x'.repeat(196)}.png`);
    expect(portablePath(`${'x'.repeat(196)}.png`)).toBe(`${'x'.repeat(196)}.png`);
    expect(portablePath('海'.repeat(100))).toBe(`${'海'.repeat(65)}.png`);
  });

  test('cuts between characters, as people count them', () => {
    const astronaut = '👩🏽‍🚀';
    expect(portablePath(`${'x'.repeat(190)}${astronaut}.png`)).toBe(`${'x'.repeat(190)}.png`);
    expect(portablePath(`${'x'.repeat(195)}q\u0323`)).toBe(`${'x'.repeat(195)}.png`);
    expect(portablePath(`x${'\u0323'.repeat(500)}`)).toBe(`x${'\u0323'.repeat(97)}.png`);
  });

  test('shortens the longest part', () => {
    const long = 'a long prompt that never ends '.repeat(20);
    expect(portablePath(`landscapes/${long}/0017.png`)).toMatch(
      /^landscapes\/a long prompt .*[^ ]\/0017\.png$/,
    );
    expect(
      portablePath(`${long}/${long}.png`)
        .split('/')
        .map((part) => part.length),
    ).toEqual([99, 99]);
  });

  test('is portable, short and inside the folder for any text', () => {
    fc.assert(
      fc.property(anyName, (rendered) => {
        const path = portablePath(rendered);
        expectPortable(path);
        expect(path.split('/').length).toBeLessThanOrEqual(rendered.split('/').length);
      }),
      { numRuns: runs(3000, { ms: 0.4 }) },
    );
  });

  test('leads to no place but below the folder, on any system, for any text', () => {
    fc.assert(
      fc.property(anyName, (rendered) => {
        for (const [system, folder] of [
          [posix, '/renders/images'],
          [win32, 'C:\\renders\\images'],
        ] as const) {
          const place = system.resolve(folder, portablePath(rendered));
          expect(place.startsWith(folder + system.sep)).toBe(true);
          expect(system.relative(folder, place).split(system.sep)).toHaveLength(
            portablePath(rendered).split('/').length,
          );
        }
      }),
      { numRuns: runs(1000, { ms: 0.4 }) },
    );
  });

  test('leaves a portable name as it is', () => {
    fc.assert(
      fc.property(anyName, (rendered) => {
        const path = portablePath(rendered);
        expect(portablePath(path)).toBe(path);
      }),
      { numRuns: runs(3000, { ms: 0.4 }) },
    );
  });
});

describe('portableSegment', () => {
  test.each([
    ['a lighthouse / at dusk', 'a lighthouse - at dusk'],
    ['../../etc', '..-..-etc'],
    ['a\\b:c', 'a-b-c'],
    ['two\r\nlines', 'twolines'],
    ['e\u0301', 'é'],
  ])('makes %j into %j', (value, segment) => {
    expect(portableSegment(value)).toBe(segment);
  });

  test('never makes a folder, for any value', () => {
    fc.assert(
      fc.property(anyName, (value) => {
        const path = portablePath(`${portableSegment(value)}.png`);
        expectPortable(path);
        expect(path).not.toContain('/');
        expect(bytesOf(portableSegment(value))).toBeLessThanOrEqual(maxNameBytes);
      }),
    );
  });
});

describe('withSuffix', () => {
  test.each([
    ['a.png', '-2', 'a-2.png'],
    ['sea/a.png', '.replaced-3fa9c1d2', 'sea/a.replaced-3fa9c1d2.png'],
    ['v1.2.png', '-3', 'v1.2-3.png'],
  ])('puts into %j the suffix %j: %j', (path, suffix, expected) => {
    expect(withSuffix(path, suffix)).toBe(expected);
  });

  test('keeps the suffix and the ending of the longest name', () => {
    const longest = portablePath('x'.repeat(300));
    expect(withSuffix(longest, '.replaced-3fa9c1d2')).toMatch(/^x{100,}\.replaced-3fa9c1d2\.png$/);
    expect(withSuffix(withSuffix(longest, '-2'), '-3')).toMatch(/^x{100,}.*-3\.png$/);
  });

  test('gives distinct names if the part that is cut off looks like a suffix', () => {
    const path = `${'x'.repeat(192)}-1yy.png`;
    expect(withSuffix(path, '-2')).not.toBe(withSuffix(path, '-1-2'));
  });

  test('gives portable names, distinct for distinct suffixes', () => {
    const suffix = fc.oneof(
      fc.integer({ min: 2, max: 99_999 }).map((n) => `-${n}`),
      fc.stringMatching(/^[-.][a-z0-9-]{0,30}[a-z0-9]$/),
    );
    fc.assert(
      fc.property(anyName, suffix, suffix, (rendered, one, other) => {
        const path = portablePath(rendered);
        expectPortable(withSuffix(path, one));
        fc.pre(one !== other);
        expect(withSuffix(path, one)).not.toBe(withSuffix(path, other));
      }),
      { numRuns: runs(2000, { ms: 0.4 }) },
    );
  });

  test.each(['', '2', '/2', '-a/b', '-é', `-${'x'.repeat(40)}`])('refuses %j as a bug of ours', (suffix) => {
    expect(() => withSuffix('a.png', suffix)).toThrow('not a suffix');
  });
});

describe('namedFile', () => {
  test('puts the label before the ending, which later suffixes keep', () => {
    const depth = { label: 'depth', kind: 'exr' } as const;
    expect(namedFile('sea/a.png', depth)).toBe('sea/a-depth.exr');
    expect(withSuffix('sea/a-depth.exr', '-2')).toBe('sea/a-depth-2.exr');
    expect(namedFile('v1.exr.png', { label: 'a', kind: 'json' })).toBe('v1.exr-a.json');
    expect(readAttemptFile(attemptFile('sea/a-depth.exr', 7, 'ab'.repeat(32)))).toEqual({
      name: 'sea/a-depth.exr',
      attempt: 7,
    });
    expect(readAttemptFile('sea/a-depth.exr')).toBeUndefined();
  });

  test('gives portable names, distinct for distinct labels, whatever suffixes follow', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,23}$/);
    const kind = fc.constantFrom(...fileKinds);
    fc.assert(
      fc.property(anyName, label, label, kind, (rendered, one, other, of) => {
        const path = portablePath(rendered);
        const name = withSuffix(
          withSuffix(namedFile(path, { label: one, kind: of }), '-abcdef'),
          '.replaced',
        );
        expect(name.endsWith(`-${one}-abcdef.replaced.${of}`)).toBe(true);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(maxNameBytes);
        fc.pre(one !== other);
        expect(namedFile(path, { label: one, kind: of })).not.toBe(
          namedFile(path, { label: other, kind: of }),
        );
      }),
      { numRuns: runs(1000, { ms: 0.4 }) },
    );
  });
});

describe('nameKey', () => {
  test.each([
    ['Sea/A.png', 'sea/a.PNG'],
    ['Zéro.png', 'Ze\u0301ro.png'],
    ['ΌΔΟΣ.png', 'όδος.png'],
    ['ΌΔΟΣ.png', 'όδοσ.png'],
    ['STRASSE.png', 'straße.png'],
    ['ﬁn.png', 'FIN.png'],
    ['K.png', 'k.png'],
  ])('takes %j and %j for one file', (one, other) => {
    expect(nameKey(one)).toBe(nameKey(other));
  });

  test.each([
    ['a.png', 'b.png'],
    ['a.png', 'á.png'],
    ['sea/a.png', 'sea-a.png'],
  ])('distinguishes %j from %j', (one, other) => {
    expect(nameKey(one)).not.toBe(nameKey(other));
  });

  test('does not depend on case or on how accents are composed, for any name', () => {
    fc.assert(
      fc.property(anyName, (rendered) => {
        // This character is removed. In capitals it becomes a separate letter and changes the order of
        // accents, which no file system does.
        const path = portablePath(rendered.normalize('NFD').replaceAll('\u0345', ''));
        const key = nameKey(path);
        for (const twin of [path.normalize('NFD'), path.toUpperCase(), path.toLowerCase(), key])
          expect(nameKey(twin)).toBe(key);
      }),
      { numRuns: runs(3000, { ms: 0.4 }) },
    );
  });
});

const piece = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 80 }),
  fc.constantFrom(
    '/',
    '/',
    '.',
    ' ',
    '.png',
    '.PNG',
    'CON',
    'nul',
    'Com1',
    '..',
    '\uD83D',
    '\u0301',
    '\u0345',
  ),
  fc.constantFrom(
    '\u200D',
    '\u200C',
    'İ',
    'ß',
    'Σ',
    'ŉ',
    '<',
    '\\',
    '\u0338',
    '\uFFFE',
    '\u00A0',
    '한',
    '\u1100',
  ),
  fc
    .tuple(fc.constantFrom('x', '海', '👩‍🚀', ' ', '.', '/a', '.png', '\u0323'), fc.nat(120))
    .map(([s, n]) => s.repeat(n)),
);
const anyName = fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join(''));

function expectPortable(path: string): void {
  expect(bytesOf(path)).toBeLessThanOrEqual(maxNameBytes);
  expect(path).toMatch(/[^/]\.png$/);
  expect(path).not.toMatch(/\.png\.png$/i);
  expect(path.normalize('NFC')).toBe(path);
  expect(Buffer.from(path).toString()).toBe(path);
  for (const part of path.split('/')) {
    expect(part).not.toMatch(/^$|^[.\s]|[.\s]$|[<>:"\\|?*\p{Cc}]/u);
    expect(part).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)\s*(\.|$)/i);
  }
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
