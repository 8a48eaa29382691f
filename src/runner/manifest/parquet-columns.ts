/** What the columns of a Parquet file hold, and whether JSON can carry it. */
import type { SchemaElement, SchemaTree } from 'hyparquet';

export interface ParquetColumn {
  name: string;
  /** Digits after the point, where the values are decimals. */
  scale: number | undefined;
  /** Lists and structs: a reading of a few rows unpacks the whole row group. */
  isNested: boolean;
}

/** The columns of the schema, and what is wrong with them in words that follow "the column …". */
export function readColumns(root: SchemaTree): { columns: ParquetColumn[]; problems: string[] } {
  const names = root.children.map(({ element }) => element.name);
  const problems = [
    ...names.flatMap((name, index) => (name === '' ? [`column ${index + 1} has no name`] : [])),
    ...new Set(names.filter((name, index) => names.indexOf(name) !== index).map(twice)),
    ...root.children.flatMap((tree) => problemsOf(tree)),
  ];
  const columns = root.children.map(({ element, children }) => ({
    name: element.name,
    scale: element.converted_type === 'DECIMAL' ? (element.scale ?? 0) : undefined,
    isNested: children.length > 0 || element.repetition_type === 'REPEATED',
  }));
  return { columns, problems };
}

function twice(name: string): string {
  return `two columns are called ${JSON.stringify(name)}`;
}

function problemsOf(tree: SchemaTree): string[] {
  const { element, children, path } = tree;
  const problem =
    element.name === '__proto__' ? 'has a name that no value can be kept under' : whyUnfit(tree);
  if (problem !== undefined) return [`the column ${JSON.stringify(path.join('.'))} ${problem}`];
  return children.flatMap((child) => problemsOf(child));
}

function whyUnfit({ element, children, path }: SchemaTree): string | undefined {
  const annotation = annotationOf(element);
  if (children.length > 0) {
    const isPlain = annotation === undefined || annotation === 'LIST';
    return isPlain ? undefined : `is of the type ${annotation}, which is not read; ${advice}`;
  }
  const known = (element.type && kinds[element.type]) ?? [];
  if (!known.includes(annotation)) {
    const isBytes = annotation === undefined && element.type?.endsWith('BYTE_ARRAY') === true;
    return isBytes
      ? `holds bytes, and only text can be sent; ${advice}`
      : `is of the type ${annotation ?? element.type}, which is not read; ${advice}`;
  }
  if (annotation !== 'DECIMAL' || (path.length === 1 && (element.precision ?? 99) <= maxDigits))
    return undefined;
  return `holds decimals that cannot be kept exactly; write them as text or leave the column out of the file`;
}

const advice = 'write it as text or leave it out of the file';

/** Decimals of more digits are no longer told apart as numbers. */
const maxDigits = 15;

/** What may be read of each physical type, by what says how it is meant. */
const kinds: Record<string, (string | undefined)[]> = {
  BOOLEAN: [undefined, 'NULL'],
  INT32: [undefined, 'NULL', 'INTEGER', 'DATE', 'DECIMAL'],
  INT64: [undefined, 'NULL', 'INTEGER', 'TIMESTAMP', 'DECIMAL'],
  INT96: [undefined],
  FLOAT: [undefined, 'NULL'],
  DOUBLE: [undefined, 'NULL'],
  BYTE_ARRAY: ['STRING', 'ENUM', 'JSON', 'NULL', 'DECIMAL'],
  FIXED_LEN_BYTE_ARRAY: ['UUID', 'FLOAT16', 'DECIMAL'],
};

/** The older way of saying it counts where both are there: readers agree on it. */
function annotationOf({
  converted_type: converted,
  logical_type: logical,
}: SchemaElement): string | undefined {
  if (converted === undefined) {
    // Of these the reader knows only the older way, and would give what they are made of.
    const isMisread = ['DECIMAL', 'DATE', 'JSON'].includes(logical?.type ?? '');
    return isMisread ? `${logical?.type} without a converted type` : logical?.type;
  }
  if (/^U?INT_\d+$/.test(converted)) return 'INTEGER';
  if (converted.startsWith('TIMESTAMP_')) return 'TIMESTAMP';
  return converted === 'UTF8' ? 'STRING' : converted;
}
