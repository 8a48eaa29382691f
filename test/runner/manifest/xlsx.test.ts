/**
 * Promise: an .xlsx list has the values that a spreadsheet program shows, whichever program wrote it.
 * Otherwise an error names the cell.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { hashManifest } from '../../../src/runner/manifest/open-bytes.ts';
import { openManifest } from '../../../src/runner/manifest/read-manifest.ts';
import { textRow, workbook, workbookParts, zipOf, type FakeWorkbook } from '../../fakes/workbook.ts';
import { plainReading } from '../../../src/runner/core/expansion.ts';
import { collect, complaint, readFileOf, readStream, shown, withFile } from './read-all.ts';

function read(rows: string, others: Omit<FakeWorkbook, 'rows'> = {}) {
  return readFileOf('x.xlsx', workbook({ rows, ...others }));
}

/** Returns the value of a single cell below the header `id, value`. */
async function valueOf(cell: string, others: Omit<FakeWorkbook, 'rows'> = {}): Promise<unknown> {
  const [row] = shown(await read(`${textRow(1, 'id', 'value')}<row r="2">${cell}</row>`, others));
  return typeof row === 'object' && row !== null && 'value' in row ? row.value : row;
}

describe('reads files written by', () => {
  it('Excel: shared strings in runs and with pronunciation, numbers, true and false, dates, formulas', async () => {
    const strings = [
      '<si><t>id</t></si><si><t>prompt</t></si><si><t>steps</t></si><si><t>hires</t></si><si><t>on</t></si>',
      '<si><r><rPr><b/></rPr><t>A red</t></r><r><t xml:space="preserve"> fox &amp; a 🦊</t></r></si>',
      '<si><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh><phoneticPr fontId="1"/></si>',
    ].join('');
    const header = [0, 1, 2, 3, 4]
      .map((at) => `<c r="${'ABCDE'[at]}1" s="2" t="s"><v>${at}</v></c>`)
      .join('');
    const styles =
      '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>';
    const rows = [
      `<row r="1" spans="1:5">${header}</row>`,
      '<row r="2"><c r="A2"><v>7</v></c><c r="B2" t="s"><v>5</v></c><c r="C2"><v>7.4999999999999997E-2</v></c>',
      '<c r="D2" t="b"><v>1</v></c><c r="E2" s="1"><v>46354</v></c></row>',
      '<row r="3"/>',
      '<row r="5"><c r="A5" t="str"><f>"a"&amp;B1</f><v>aprompt</v></c><c r="B5" t="s"><v>6</v></c><c r="D5" t="b"><v>0</v></c></row>',
    ].join('');
    const { columns, entries } = await read(rows, { strings, styles });
    expect(columns).toEqual(['id', 'prompt', 'steps', 'hires', 'on']);
    expect(entries).toEqual([
      {
        kind: 'row',
        line: 2,
        columns: { id: 7, prompt: 'A red fox & a 🦊', steps: 0.075, hires: true, on: '2026-11-28' },
      },
      {
        kind: 'row',
        line: 5,
        columns: { id: 'aprompt', prompt: '東京', steps: '', hires: false, on: '' },
      },
    ]);
  });

  it('other programs: prefixed names, no references, CDATA, rows up to the last of the sheet', async () => {
    const parts = workbookParts({ rows: '' });
    const sheet = `<x:worksheet xmlns:x="y"><x:sheetData>
      <x:row><x:c t="inlineStr"><x:is><x:t>id</x:t></x:is></x:c><x:c t="str"><x:v>prompt</x:v></x:c></x:row>
      <x:row><x:c t="n"><x:v> 1 </x:v></x:c><x:c t="inlineStr"><x:is><x:t><![CDATA[<cat>]]></x:t></x:is></x:c></x:row>
      <x:row r="1048576"><x:c r="XFD1048576" s="3"/></x:row></x:sheetData>
      <x:controls><x:row>5</x:row></x:controls></x:worksheet>`;
    const bytes = zipOf({ ...parts, 'xl/worksheets/sheet7.xml': sheet });
    expect(shown(await readFileOf('x.xlsx', bytes))).toEqual([{ id: 1, prompt: '<cat>' }]);
  });
});

it('says which cells are merged over rows, and leaves comments out', async () => {
  const bytes = workbookParts({
    rows: `${textRow(1, 'id', 'prompt')}${textRow(2, '# note')}${textRow(3, 'a', 'an owl')}`,
  });
  const [part = '', sheet = ''] =
    Object.entries(bytes).find(([name]) => name.includes('worksheets/sheet')) ?? [];
  const merged = sheet.replace(
    '</sheetData>',
    '</sheetData><mergeCells><mergeCell ref="A2:C2"/><mergeCell ref="A2:A3"/></mergeCells>',
  );
  const reading = { ...plainReading, comments: '#' };
  await withFile('x.xlsx', zipOf({ ...bytes, [part]: merged }), async (path) => {
    const manifest = await openManifest(path, { reading });
    expect(shown(await collect(manifest))).toEqual([{ id: 'a', prompt: 'an owl' }]);
    expect(manifest.notes).toEqual([
      expect.stringContaining('merged cells, such as A2:A3, have a value in their first row only'),
    ]);
  });
});

describe('takes the first sheet of the workbook that', () => {
  const sheet = (id: number, state = ''): string =>
    `<sheet name="S${id}" sheetId="${id}" ${state} r:id="rId${id}"/>`;
  const columnsOf = async (sheets: string) =>
    (await read(textRow(1, 'prompt'), { book: `<sheets>${sheets}</sheets>` }).catch(String)) as unknown;

  it('has cells and is not hidden, whatever its file is called', async () => {
    expect(await columnsOf(sheet(3) + sheet(1) + sheet(2))).toMatchObject({ columns: ['prompt'] });
    expect(await columnsOf(sheet(1, 'state="hidden"') + sheet(2))).toMatchObject({ columns: ['other'] });
    expect(await columnsOf(sheet(1, 'state="veryHidden"'))).toMatchObject({ columns: ['prompt'] });
    expect(await columnsOf(sheet(3))).toContain('is a zip file without a sheet of a workbook');
  });

  it('and says so if there are several', async () => {
    const bytes = workbook({ rows: textRow(1, 'prompt'), book: `<sheets>${sheet(1)}${sheet(2)}</sheets>` });
    await withFile('x.xlsx', bytes, async (path) => {
      expect((await openManifest(path)).notes).toEqual(['the sheet "S1" is read, one of 2']);
    });
  });
});

describe('a number', () => {
  it.each([
    ['0.30000000000000004', 0.3],
    ['-1.5', -1.5],
    ['1E-3', 0.001],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['9007199254740993', '2: has a number in B2 that would lose digits; write it as text'],
  ])('%s', async (text, value) => {
    expect(await valueOf(`<c r="B2"><v>${text}</v></c>`)).toEqual(value);
  });

  it.each([
    ['14', '46354', '2026-11-28'],
    ['22', '46354.416666666664', '2026-11-28T10:00:00'],
    ['22', '46354.000011574', '2026-11-28T00:00:01'],
    ['20', '0.4375', '10:30:00'],
    ['46', '1.5', '36:00:00'],
    ['47', '0.00001', '00:00:00.864'],
    ['dd/mm/yyyy', '46354', '2026-11-28'],
    ['[$-407]d. mmmm yyyy;@', '46354', '2026-11-28'],
    ['"am "0.0\\d', '46354', 46354],
    ['[Red]#,##0.00 _€;"days"', '46354', 46354],
    ['General', '46354', 46354],
    ['0', '46354', 46354],
    ['14', '-1', -1],
    ['14', '2958466', 2958466],
  ])('in the format %s: %s', async (format, text, value) => {
    const isOwn = !/^\d+$/.test(format);
    const own = `<numFmts><numFmt numFmtId="164" formatCode="${format.replaceAll('"', '&quot;')}"/></numFmts>`;
    const styles = `${isOwn ? own : ''}<cellXfs><xf numFmtId="0"/><xf numFmtId="${isOwn ? 164 : format}"/></cellXfs><dxfs><dxf><numFmt numFmtId="164" formatCode="0"/></dxf></dxfs>`;
    expect(await valueOf(`<c r="B2" s="1"><v>${text}</v></c>`, { styles })).toEqual(value);
  });

  it('counts days from 1904 in a workbook that says so', async () => {
    const styles = '<cellXfs><xf numFmtId="14"/></cellXfs>';
    const book = '<workbookPr date1904="1"/><sheets><sheet name="S" r:id="rId1"/></sheets>';
    expect(await valueOf('<c r="B2" s="0"><v>44892</v></c>', { styles, book })).toBe('2026-11-28');
  });
});

it.each([
  ['<c r="B2" t="e"><v>#REF!</v></c>', '2: has the error #REF! in B2'],
  [
    '<c r="B2"><f>A1</f><v></v></c>',
    '2: has a formula without a stored value in B2; open the file in a spreadsheet program and save it',
  ],
  ['<c r="B2" t="str"><f>A1</f></c>', expect.stringContaining('formula without a stored value in B2')],
  ['<c r="A2"><v>1</v></c><c r="B2" t="str"><f>A1</f><v></v></c>', ''],
  ['<c r="A2"><v>1</v></c><c r="AB2"><v>1</v></c>', '2: has a value in AB2, which is beyond the header'],
  ['<c r="A2"><v>1</v></c><c r="AB2" t="inlineStr"><is><t> \n</t></is></c>', ''],
  ['<c r="B2" t="inlineStr"><is><t>a_x000D_b_x005F_x000D_</t></is></c>', 'a\rb_x000D_'],
  ['<c r="B2" t="d"><v>2026-11-28T10:00:00</v></c>', '2026-11-28T10:00:00'],
])('the cell %s', async (cell, value) => {
  expect(await valueOf(cell)).toEqual(value);
});

it.each([1, 2000])('a row of more than 1 MiB, in %d runs, is bad', async (runs) => {
  const run = `<r><t>${'x'.repeat(Math.ceil((1024 * 1024) / runs) + 1)}</t></r>`;
  const cell = `<c r="B2" t="inlineStr"><is>${run.repeat(runs)}</is></c>`;
  expect(await valueOf(cell)).toBe('2: is longer than 1 MiB');
});

describe('the header of a workbook', () => {
  it('is the first row with cells, without empty names at its end', async () => {
    const { columns, entries } = await read(
      `<row r="1"/>${textRow(3, ' id ', 'prompt', '', '')}${textRow(4, 'a', 'b')}`,
    );
    expect([columns, entries]).toEqual([
      ['id', 'prompt'],
      [{ kind: 'row', columns: { id: 'a', prompt: 'b' }, line: 4 }],
    ]);
  });

  it('is refused for the same problems as other headers', async () => {
    expect(await complaint(read(textRow(2, 'id', '', 'id')))).toBe(
      'x.xlsx:2: the header: no name for column 2; columns 1 and 3 have the same name, "id"',
    );
    expect(await complaint(read('<row r="1"><c r="A1" t="e"><v>#N/A</v></c></row>'))).toBe(
      'x.xlsx:1: the header has the error #N/A in A1',
    );
  });

  it('is a row if pipeline.yaml names the columns', async () => {
    await withFile('x.xlsx', workbook({ rows: textRow(1, 'a', 'b') }), async (path) => {
      const reading = { header: ['id', 'prompt'], trimsLines: true, readsSpreadsheets: true, findsIds: true };
      const { columns, batches } = await openManifest(path, { reading });
      expect(columns).toEqual(['id', 'prompt']);
      for await (const rows of batches)
        expect(rows).toMatchObject([{ columns: { id: 'a', prompt: 'b' }, line: 1 }]);
    });
  });
});

it('reads a workbook from standard input, packed, or under the name of another format', async () => {
  const bytes = workbook({ rows: textRow(1, 'prompt') + textRow(2, 'a cat') });
  for (const reading of [
    readStream(bytes),
    readFileOf('x.xlsx.gz', gzipSync(bytes)),
    readFileOf('x.csv', bytes),
  ])
    expect(shown(await reading)).toEqual([{ prompt: 'a cat' }]);
});

it('reads sheets of any length in pieces, and passes its bytes on as any other file', async () => {
  const count = 20_000;
  const rows = Array.from({ length: count }, (_, index) => textRow(index + 2, `scene ${index * 7919}`)).join(
    '',
  );
  await withFile('x.xlsx', workbook({ rows: textRow(1, 'prompt') + rows }), async (path) => {
    const hash = createHash('sha256');
    const { batches } = await openManifest(path, { onBytes: (chunk) => void hash.update(chunk) });
    let found = 0;
    for await (const batch of batches) {
      expect(batch.length).toBeLessThanOrEqual(1000);
      found += batch.length;
    }
    expect([found, hash.digest('hex')]).toEqual([
      count,
      await hashManifest(path, new AbortController().signal),
    ]);
  });
});

describe('refuses as a whole', () => {
  const parts = workbookParts({ rows: textRow(1, 'prompt') + textRow(2, 'a cat') });
  const sheet = 'xl/worksheets/sheet7.xml';
  const whole = zipOf(parts);
  const flipped = Buffer.from(whole);
  const middle = whole.indexOf(sheet) + sheet.length + 60;
  flipped.writeUInt8(flipped.readUInt8(middle) ^ 1, middle);

  it.each([
    ['nothing', Buffer.alloc(0), 'is empty'],
    [
      'no cells',
      workbook({ rows: '<row r="1"><c r="A1" s="1"/></row>' }),
      'the first that is not hidden; move the list there',
    ],
    [
      'a password, or .xls',
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      'is protected by a password, or is an old .xls file; save it as .xlsx without a password',
    ],
    ['text', Buffer.from('id,prompt\n'), 'is not a workbook, despite its name'],
    ['what is cut', whole.subarray(0, -30), 'is a .xlsx file that is damaged or truncated ('],
    ['what is damaged', flipped, 'is a .xlsx file that is damaged or truncated ('],
    ['another zip file', zipOf({ 'a.txt': 'a' }), 'is a zip file without a sheet of a workbook'],
    [
      'XML that ends early',
      zipOf({ ...parts, [sheet]: '<worksheet><sheetData><row>' }),
      'damaged or truncated (',
    ],
    ['rows out of order', workbook({ rows: textRow(3, 'a') + textRow(2, 'b') }), 'row 2 after row 3'],
    [
      'a string that is not there',
      workbook({ rows: '<row><c t="s"><v>9</v></c></row>' }),
      'value 9 after row 0',
    ],
    [
      'a part that is larger than it says',
      zipOf(parts, { [sheet]: 10 }),
      'damaged or truncated (too many bytes',
    ],
    [
      'a zip bomb',
      zipOf(parts, { [sheet]: 7e7 }),
      `unpacks to 70000000 bytes in ${sheet}; save the list as CSV`,
    ],
    ['a bomb of elements', workbook({ rows: '<a>'.repeat(1000) }), '100 levels'],
    ['a bomb of text', workbook({ rows: ' '.repeat(5_000_000) }), 'a text of more than 4 MiB'],
  ])('%s', async (_, bytes, problem) => {
    expect(await complaint(readFileOf('x.xlsx', bytes))).toContain(`x.xlsx: `);
    expect(await complaint(readFileOf('x.xlsx', bytes))).toContain(problem);
  });

  it('more than 64 MB', async () => {
    const bytes = Buffer.alloc(64_000_001);
    whole.copy(bytes);
    expect(await complaint(readFileOf('x.xlsx', bytes))).toBe(
      'x.xlsx: is larger than 64 MB; save the list as CSV (UTF-8)',
    );
  });
});
