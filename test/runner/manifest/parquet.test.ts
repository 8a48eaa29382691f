/**
 * Promise: Parquet has the same rows as JSON Lines, for any row groups and compression. A value that JSON
 * cannot hold exactly makes its row bad.
 */
import * as fc from 'fast-check';
import { parquetWriteBuffer, type ColumnSource } from 'hyparquet-writer';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hashManifest } from '../../../src/runner/manifest/open-bytes.ts';
import { readRow } from '../../../src/runner/manifest/read-parquet.ts';
import { openManifest } from '../../../src/runner/manifest/read-manifest.ts';
import { complaint, readFileOf, readStream, shown, withFile } from './read-all.ts';
import { runs } from '../../fakes/tier.ts';

type Options = Omit<Parameters<typeof parquetWriteBuffer>[0], 'columnData'>;

function parquet(columnData: ColumnSource[], options: Options = {}): Uint8Array {
  return new Uint8Array(parquetWriteBuffer({ columnData, ...options }));
}

const optional = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.option(value, { nil: null, freq: 4 });

/**
 * True if JSON can hold this number exactly. A larger integer may have been rounded, although eight bytes
 * hold it.
 */
function isExact(value: number): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value);
}

const cells = {
  STRING: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'a', 'a', '\n', '夜🌙')),
  INT32: fc.integer(),
  INT64: fc.bigInt({ min: -(2n ** 53n) + 1n, max: 2n ** 53n - 1n }),
  DOUBLE: fc.double({ noNaN: true, noDefaultInfinity: true }).filter(isExact),
  BOOLEAN: fc.boolean(),
  JSON: fc
    .jsonValue({ maxDepth: 2 })
    .filter((value) => value !== null && typeof value !== 'number')
    .filter((value) => !JSON.stringify(value).includes('__proto__')),
} as const;

it('gives the same as JSON Lines of the same rows', async () => {
  const column = fc.constantFrom(...(Object.keys(cells) as (keyof typeof cells)[])).chain((type) =>
    fc.record({
      type: fc.constant(type),
      data: fc.array(optional(cells[type]), { minLength: 40, maxLength: 40 }),
    }),
  );
  const cases = fc.record({
    columns: fc.array(column, { minLength: 1, maxLength: 4 }),
    rows: fc.integer({ min: 1, max: 40 }),
    rowGroupSize: fc.constantFrom(1, 7, 100),
    codec: fc.constantFrom('SNAPPY' as const, 'UNCOMPRESSED' as const),
    pageSize: fc.constantFrom(20, 1_000_000),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ columns, rows, ...options }) => {
      const data = columns.map((each, index) => ({
        ...each,
        name: `c${index}`,
        data: each.data.slice(0, rows),
      }));
      const lines = Array.from({ length: rows }, (_, row) =>
        JSON.stringify(Object.fromEntries(data.map((each) => [each.name, plain(each.data[row])]))),
      );
      const expected = await readFileOf('x.jsonl', lines.join('\n'));
      const read = await readFileOf('x.parquet', parquet(data, options));
      expect(read.columns).toEqual(data.map(({ name }) => name));
      expect(normal(shown(read))).toEqual(normal(shown(expected)));
    }),
    { numRuns: runs(100, { ms: 25 }) },
  );
});

/**
 * Removes two differences: JSON has no -0, which `toEqual` distinguishes from 0, and a bad row of JSON Lines
 * does not name the column.
 */
function normal(rows: unknown[]): unknown {
  const unnamed = rows.map((row) =>
    typeof row === 'string' ? row.replace(/(the column "c\d" )?holds .*lose digits.*/, 'loses digits') : row,
  );
  return JSON.parse(JSON.stringify(unnamed));
}

function plain(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}

it('keeps the key __proto__ within a value, which the writer of these tests would lose', () => {
  const value: unknown = JSON.parse('{"a":{"__proto__":"b"}}');
  const row = readRow([{ name: 'scene', scale: undefined, isNested: false }], [value], 1);
  expect(JSON.stringify(row)).toContain('{"a":{"__proto__":"b"}}');
});

it('numbers the rows over all groups and slices', async () => {
  const count = 25_000;
  const data = Array.from({ length: count }, (_, index) => `scene ${index + 1}`);
  for (const rowGroupSize of [999, count]) {
    const { entries } = await readFileOf(
      'x.parquet',
      parquet([{ name: 'scene', data, type: 'STRING' }], { rowGroupSize }),
    );
    expect(entries).toHaveLength(count);
    // The rows are compared as JSON, because 50,000 calls of `expect` take seconds.
    const rows = entries.map((entry) => JSON.stringify(entry.kind === 'row' && [entry.line, entry.columns]));
    expect(rows).toEqual(data.map((scene, index) => JSON.stringify([index + 1, { scene }])));
    expect(entries.map(({ line }) => line)).toEqual(data.map((_, index) => index + 1));
  }
});

it('reads lists and structs, dates to the last digit, decimals, and packed pages', async () => {
  const schema = [
    { name: 'root', num_children: 4 },
    { name: 'tags', repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'OPTIONAL', type: 'BYTE_ARRAY', converted_type: 'UTF8' },
    { name: 'size', repetition_type: 'OPTIONAL', num_children: 2 },
    { name: 'w', repetition_type: 'REQUIRED', type: 'INT64' },
    { name: 'note', repetition_type: 'OPTIONAL', type: 'BYTE_ARRAY', converted_type: 'UTF8' },
    { name: 'day', repetition_type: 'REQUIRED', type: 'INT32', converted_type: 'DATE' },
    {
      name: 'price',
      repetition_type: 'REQUIRED',
      type: 'INT32',
      converted_type: 'DECIMAL',
      scale: 2,
      precision: 9,
    },
  ] as Options['schema'];
  const columns: ColumnSource[] = [
    { name: 'tags', data: [['a', null], [], null] },
    { name: 'size', data: [{ w: 5n, note: 'x' }, { w: 6n, note: null }, null] },
    { name: 'day', data: [new Date('2026-11-21'), new Date('1969-07-20'), new Date('0001-01-01')] },
    { name: 'price', data: [0.07, 12.3, 4.35] },
  ];
  expect(shown(await readFileOf('x.parquet', parquet(columns, schema && { schema })))).toEqual([
    { tags: ['a', null], size: { w: 5, note: 'x' }, day: '2026-11-21', price: 0.07 },
    { tags: [], size: { w: 6, note: null }, day: '1969-07-20', price: 12.3 },
    { tags: null, size: null, day: '0001-01-01', price: 4.35 },
  ]);
});

it.each(['MILLIS', 'MICROS', 'NANOS'] as const)(
  'gives moments in UTC and loses nothing of %s',
  async (unit) => {
    const schema = [
      { name: 'root', num_children: 1 },
      {
        name: 'at',
        repetition_type: 'REQUIRED',
        type: 'INT64',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit },
      },
    ] as NonNullable<Options['schema']>;
    const data = [0n, 1n, -1n, 8_640_000_000_000_000_000n];
    const read = shown(await readFileOf('x.parquet', parquet([{ name: 'at', data }], { schema })));
    expect(read).toEqual(
      {
        MILLIS: [
          { at: '1970-01-01T00:00:00.000Z' },
          { at: '1970-01-01T00:00:00.001Z' },
          { at: '1969-12-31T23:59:59.999Z' },
          '4: the column "at" holds a date out of range',
        ],
        MICROS: [
          { at: '1970-01-01T00:00:00.000Z' },
          { at: '1970-01-01T00:00:00.000001Z' },
          { at: '1969-12-31T23:59:59.999999Z' },
          { at: '+275760-09-13T00:00:00.000Z' },
        ],
        NANOS: [
          { at: '1970-01-01T00:00:00.000Z' },
          { at: '1970-01-01T00:00:00.000000001Z' },
          { at: '1969-12-31T23:59:59.999999999Z' },
          { at: '2243-10-17T00:00:00.000Z' },
        ],
      }[unit],
    );
  },
);

it('names by its number every row with a value that cannot be sent exactly', async () => {
  const columns: ColumnSource[] = [
    { name: 'id', data: ['a', 'b', 'c', 'd', 'e'], type: 'STRING' },
    { name: 'n', data: [1n, 2n ** 53n, 3n, 4n, 5n], type: 'INT64' },
    { name: 'x', data: [1, 2, Number.NaN, Infinity, 5], type: 'DOUBLE' },
    { name: 'text', data: ['', '', '', '', 'x'.repeat(1024 * 1024)], type: 'STRING' },
  ];
  const { entries } = await readFileOf('x.parquet', parquet(columns));
  expect(entries.slice(1)).toEqual([
    {
      kind: 'bad',
      line: 2,
      id: 'b',
      problem: 'the column "n" holds 9007199254740992, which would lose digits; write the column as text',
    },
    { kind: 'bad', line: 3, id: 'c', problem: 'the column "x" holds NaN, which JSON cannot represent' },
    { kind: 'bad', line: 4, id: 'd', problem: 'the column "x" holds Infinity, which JSON cannot represent' },
    { kind: 'bad', line: 5, id: 'e', problem: 'is longer than 1 MiB' },
  ]);
});

describe('a file is refused as a whole if', () => {
  const good = parquet([{ name: 'scene', data: ['a', 'b'], type: 'STRING' }]);
  const ends = (bytes: Uint8Array, letters: string): Buffer =>
    Buffer.concat([bytes.subarray(0, -4), Buffer.from(letters)]);

  it.each<[string, string | Uint8Array, string]>([
    ['it is empty', '', 'is empty'],
    [
      'it is something else',
      'scene\na hill, and a sea',
      'is not a Parquet file (it does not begin with PAR1; a compressed file must be decompressed first)',
    ],
    [
      'it is packed as a whole',
      gzipSync(good),
      'is not a Parquet file (it does not begin with PAR1; a compressed file must be decompressed first)',
    ],
    [
      'it is cut',
      good.subarray(0, -1),
      'is a Parquet file that is damaged or truncated (it does not end with PAR1)',
    ],
    [
      'only its first letters are there',
      'PAR1',
      'is a Parquet file that is damaged or truncated (it does not end with PAR1)',
    ],
    ['it is encrypted', ends(good, 'PARE'), 'is an encrypted Parquet file, which is not supported'],
    [
      'its table of contents is cut',
      Buffer.concat([good.subarray(0, 60), good.subarray(-8)]),
      'is a Parquet file that is damaged or truncated (',
    ],
  ])('%s', async (_name, bytes, problem) => {
    expect(await complaint(readFileOf('x.parquet', bytes))).toContain(`x.parquet: ${problem}`);
  });

  it('a page is damaged', async () => {
    const data = Array.from({ length: 5000 }, (_, index) => `scene ${index * 7919}`);
    const bytes = parquet([{ name: 'scene', data, type: 'STRING' }]);
    bytes.fill(0xff, 10, 200);
    expect(await complaint(readFileOf('x.parquet', bytes))).toContain(
      'x.parquet: is a Parquet file that is damaged or truncated (',
    );
  });

  it.each<[string, ColumnSource[], Options['schema'] | undefined, string]>([
    [
      'bytes',
      [{ name: 'photo', data: [Uint8Array.of(1)], type: 'BYTE_ARRAY' }],
      undefined,
      'the column "photo" holds bytes, and only text can be sent; write it as text or leave it out of the file',
    ],
    [
      'two columns of one name',
      [
        { name: 'a', data: ['x'], type: 'STRING' },
        { name: 'a', data: ['y'], type: 'STRING' },
      ],
      undefined,
      'two columns are called "a"',
    ],
    [
      'a column that nothing can be kept under',
      [{ name: '__proto__', data: ['x'], type: 'STRING' }],
      undefined,
      'the column "__proto__" has a reserved name',
    ],
    [
      'a time of day',
      [{ name: 'at', data: [5] }],
      [
        { name: 'root', num_children: 1 },
        { name: 'at', repetition_type: 'REQUIRED', type: 'INT32', converted_type: 'TIME_MILLIS' },
      ],
      'the column "at" is of the type TIME_MILLIS, which is not supported',
    ],
    [
      'decimals of many digits',
      [{ name: 'p', data: [5n] }],
      [
        { name: 'root', num_children: 1 },
        {
          name: 'p',
          repetition_type: 'REQUIRED',
          type: 'INT64',
          converted_type: 'DECIMAL',
          scale: 2,
          precision: 18,
        },
      ],
      'the column "p" holds decimals that would lose digits',
    ],
  ])('it holds %s', async (_name, columns, schema, problem) => {
    expect(await complaint(readFileOf('x.parquet', parquet(columns, schema && { schema })))).toContain(
      `x.parquet: ${problem}`,
    );
  });

  it('its compression is unknown', async () => {
    const bytes = parquet([{ name: 'scene', data: ['a'], type: 'STRING' }], {
      codec: 'LZO',
      compressors: { LZO: (input) => input },
    });
    expect(await complaint(readFileOf('x.parquet', bytes))).toBe(
      'x.parquet: it is compressed with LZO, which is not supported; write it with zstd or snappy',
    );
  });

  it('it comes from standard input', async () => {
    expect(await complaint(readStream(good))).toContain(
      'standard input: is Parquet, which cannot be read from a stream',
    );
  });

  it.skipIf(process.platform === 'win32')('it is a pipe', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'manifest-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    execFileSync('mkfifo', [join(folder, 'x.parquet')]);
    expect(await complaint(openManifest(join(folder, 'x.parquet')))).toBe(
      'x.parquet: is not a regular file; Parquet cannot be read from a pipe',
    );
  });

  it('it is changed while it is read', async () => {
    const reading = withFile('x.parquet', good, async (path) => {
      const { batches } = await openManifest(path);
      for await (const _ of batches) await appendFile(path, 'x');
    });
    expect(await complaint(reading)).toBe('x.parquet: changed while it was read; start again');
  });
});

it('passes its bytes on in order, as any other file, so that the same list is recognized', async () => {
  const bytes = parquet([{ name: 'scene', data: ['a'], type: 'STRING' }]);
  await withFile('x.parquet', bytes, async (path) => {
    const hash = createHash('sha256');
    const { batches } = await openManifest(path, { onBytes: (chunk) => void hash.update(chunk) });
    for await (const _ of batches);
    expect(hash.digest('hex')).toBe(await hashManifest(path, new AbortController().signal));
  });
});

it('a read can be aborted between two slices', async () => {
  const bytes = parquet([
    { name: 'n', data: Array.from({ length: 30_000 }, (_, index) => index), type: 'INT32' },
  ]);
  await withFile('x.parquet', bytes, async (path) => {
    const stopped = new AbortController();
    const { batches } = await openManifest(path, { signal: stopped.signal });
    const reading = (async () => {
      for await (const _ of batches) stopped.abort();
    })();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
  });
});
