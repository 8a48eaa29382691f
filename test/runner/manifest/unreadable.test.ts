/** Promise: if a whole manifest cannot be read, the error is one sentence that names the file. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openManifest } from '../../../src/runner/manifest/read-manifest.ts';
import { asAnotherUser, canBecome } from '../../fakes/another-user.ts';
import { complaint, readFileOf, readStream, withFile } from './read-all.ts';

describe('a list is refused if its file', () => {
  it('is missing, in a missing folder, or below a file', async () => {
    expect(await complaint(openManifest('no/such.csv'))).toBe('no/such.csv: does not exist');
    const below = withFile('x.csv', 'a', (path) => openManifest(join(path, 'y.csv')));
    expect(await complaint(below)).toContain('does not exist');
  });

  it('is a folder', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'manifest-'));
    expect(await complaint(openManifest(folder))).toContain(
      'is a folder without .txt and .parquet files; for the lists in it,',
    );
    await rm(folder, { recursive: true });
  });

  it.skipIf(!canBecome)('may not be read (skipped if root can become nobody else)', async () => {
    const reading = withFile('x.csv', 'id\na', async (path) => {
      await chmod(path, 0);
      asAnotherUser(dirname(path));
      return openManifest(path);
    });
    expect(await complaint(reading)).toBe('x.csv: cannot be read: permission denied');
  });

  it.each(['x.csv', 'x.tsv', 'x.jsonl', 'x.txt', 'x.csv.gz'])('%s is empty', async (name) => {
    expect(await complaint(readFileOf(name, ''))).toBe(`${name}: is empty`);
    expect(await complaint(readFileOf(name, '\uFEFF\r\n \n'))).toBe(`${name}: is empty`);
    expect(await complaint(readFileOf(name, gzipSync('')))).toBe(`${name}: is empty`);
  });

  it('has an unknown ending', async () => {
    for (const ending of ['.xls', '.xlsb', '.ods', '.numbers'])
      expect(await complaint(readFileOf(`x${ending}`, 'x'))).toBe(
        `x${ending}: is a spreadsheet (${ending}); save it as .xlsx or CSV (UTF-8)`,
      );
    expect(await complaint(readFileOf('x.dat', 'x'))).toBe(
      'x.dat: unknown format: the extension .dat is unknown; supported are .csv, .tsv, .jsonl, .ndjson, .txt, .json, .xlsx, each also with .gz or .zst, and .parquet',
    );
    expect(await complaint(readFileOf('x', 'x'))).toContain('it has no extension');
  });

  it('is damaged gzip, wherever the damage is', async () => {
    const lines = Array.from({ length: 100_000 }, (_, index) => `scene ${index * 7919}\n`).join('');
    const whole = gzipSync(lines);
    const damaged = Buffer.from(whole);
    damaged.fill(0xff, whole.length >> 1, (whole.length >> 1) + 64);
    for (const bytes of [whole.subarray(0, 5), whole.subarray(0, -1), whole.subarray(0, -9), damaged]) {
      expect(await complaint(readFileOf('x.txt.gz', bytes))).toMatch(
        /^x.txt.gz: is a gzip file that is damaged or truncated/,
      );
    }
  });

  it('is standard input, empty or with a bad header', async () => {
    expect(await complaint(readStream())).toBe('standard input: is empty');
    expect(await complaint(readStream('id,id'))).toContain('standard input:1: ');
  });
});

describe('the header of a list is refused:', () => {
  it.each([
    [
      '\nid,scene, id ,scene\n',
      '2: the header: columns 1 and 3 have the same name, "id"; columns 2 and 4 have the same name, "scene"',
    ],
    ['id,,scene,\n', '1: the header: no name for column 2'],
    ['id,__proto__\n', '1: the header: a column cannot be called __proto__'],
    ['id,"scene\na,b\n', '1: the header has a quote that is never closed (the quote opens at line 1)'],
    ['id,sc\0ene\na,b\n', '1: the header contains a NUL character'],
  ])('%j', async (text, problem) => {
    expect(await complaint(readFileOf('x.csv', text))).toBe(`x.csv:${problem}`);
  });

  it('bytes that are not UTF-8', async () => {
    const bytes = Buffer.from('id,caf\xe9\n', 'latin1');
    expect(await complaint(readFileOf('x.csv', bytes))).toBe(
      'x.csv:1: the header is not valid UTF-8; as Windows-1252 it reads "café": if that is right, add encoding: windows-1252 to pipeline.yaml',
    );
  });

  it('but not a repeated name in another case, which is another column', async () => {
    expect((await readFileOf('x.csv', 'seed,Seed\n1,2\n')).columns).toEqual(['seed', 'Seed']);
  });
});
