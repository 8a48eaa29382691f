/** Workbooks as spreadsheet programs write them: XML parts in a zip file. */
import { crc32, deflateRawSync } from 'node:zlib';

/** Returns a zip file. `sizes`: false sizes that the file states for some parts, by name. */
export function zipOf(parts: Record<string, string>, sizes: Record<string, number> = {}): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(parts)) {
    const packed = deflateRawSync(text);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(text), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(sizes[name] ?? Buffer.byteLength(text), 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    bodies.push(Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed);
    directory.push(Buffer.from('PK\x01\x02\x14\0'), common, place, Buffer.from(name));
    offset += 30 + Buffer.byteLength(name) + packed.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  const count = Object.keys(parts).length;
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, ...directory, end]);
}

export interface FakeWorkbook {
  /** Content of `<sheetData>`. */
  rows: string;
  /** Content of `<sst>`. */
  strings?: string;
  /** Content of `<styleSheet>`. */
  styles?: string;
  /** Content of `<workbook>`. Available sheets are rId1 (with `rows`), rId2 (another) and rId3 (a chart). */
  book?: string;
}

const types = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';

function relations(...targets: [type: string, target: string][]): string {
  const all = targets.map(
    ([type, target], index) =>
      `<Relationship Id="rId${index + 1}" Type="${types}/${type}" Target="${target}"/>`,
  );
  return `<?xml version="1.0"?><Relationships xmlns="x">${all.join('')}</Relationships>`;
}

export function workbookParts({ rows, strings, styles, book }: FakeWorkbook): Record<string, string> {
  return {
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': relations(['officeDocument', 'xl/workbook.xml']),
    'xl/_rels/workbook.xml.rels': relations(
      ['worksheet', 'worksheets/sheet7.xml'],
      ['worksheet', '/xl/worksheets/sheet1.xml'],
      ['chartsheet', 'chartsheets/sheet1.xml'],
      ['sharedStrings', 'sharedStrings.xml'],
      ...(styles === undefined ? [] : [['styles', 'styles.xml'] satisfies [string, string]]),
    ),
    'xl/workbook.xml': `<workbook ${main} xmlns:r="${types}">${book ?? '<sheets><sheet name="Prompts" sheetId="4" r:id="rId1"/></sheets>'}</workbook>`,
    'xl/worksheets/sheet7.xml': `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n<worksheet ${main}><cols><col min="1" max="2"/></cols><sheetData>${rows}</sheetData></worksheet>`,
    'xl/worksheets/sheet1.xml': `<worksheet ${main}><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>other</t></is></c></row></sheetData></worksheet>`,
    // The name is in another case, as some programs write it.
    'xl/SharedStrings.xml': `<sst ${main}>${strings ?? ''}</sst>`,
    ...(styles !== undefined && { 'xl/styles.xml': `<styleSheet ${main}>${styles}</styleSheet>` }),
  };
}

export function workbook(fake: FakeWorkbook): Buffer {
  return zipOf(workbookParts(fake));
}

/** Returns a row with these texts in its cells. */
export function textRow(line: number, ...texts: string[]): string {
  const cells = texts.map((text, index) => {
    const ref = `${String.fromCodePoint(65 + index)}${line}`;
    return text === '' ? `<c r="${ref}" s="1"/>` : `<c r="${ref}" t="inlineStr"><is><t>${text}</t></is></c>`;
  });
  return `<row r="${line}">${cells.join('')}</row>`;
}
