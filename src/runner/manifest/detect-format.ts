/** Tells the format of a manifest: that of a file by its ending, that of standard input by its first line. */

export type TextFormat = 'csv' | 'tsv' | 'json-lines' | 'text';
export type Format = TextFormat | 'json' | 'parquet';

const formats: Record<string, Format> = {
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.jsonl': 'json-lines',
  '.ndjson': 'json-lines',
  '.txt': 'text',
  '.json': 'json',
  '.parquet': 'parquet',
};

const endings = Object.keys(formats);

/** For people. */
export const knownEndings = `${endings.filter((ending) => ending !== '.parquet').join(', ')}, each also with .gz or .zst, and .parquet`;

/** The format by the file's ending in any case, `.gz` and `.zst` set aside; undefined for an unknown ending. */
export function formatOfEnding(path: string): Format | undefined {
  const name = path.toLowerCase().replace(/\.(gz|zst)$/, '');
  const ending = endings.find((known) => name.endsWith(known));
  return ending === undefined ? undefined : formats[ending];
}

/** As much of standard input as tells whether it is an array. */
export const arrayStartBytes = 4096;

/**
 * Whether the bytes, at least `arrayStartBytes` of them or all that there are, begin a JSON array of objects. Prompts
 * begin with brackets, too.
 */
export function beginsArray(start: Buffer): boolean {
  return /^\s*\[\s*($|[{\]])/.test(start.toString('latin1'));
}

/**
 * The format by the first line that is not blank: `{` opens JSON Lines, a tab makes it TSV, a header with a
 * column `id`, `scene` or `prompt` (any case) makes it CSV, and all else is plain text. Commas alone tell
 * nothing: prompts are full of them.
 */
export function formatOfFirstLine(line: string): TextFormat {
  const text = line.trim();
  if (text.startsWith('{')) return 'json-lines';
  if (line.includes('\t')) return 'tsv';
  return isHeader(text) ? 'csv' : 'text';
}

function isHeader(text: string): boolean {
  const names = text.split(',').map((name) =>
    name
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .toLowerCase(),
  );
  return names.some((name) => ['id', 'scene', 'prompt'].includes(name));
}
