/** Tells the format of a manifest: that of a file by its ending, that of standard input by its first line. */

export type Format = 'csv' | 'tsv' | 'json-lines' | 'text';

const formats: Record<string, Format> = {
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.jsonl': 'json-lines',
  '.ndjson': 'json-lines',
  '.txt': 'text',
};

export const knownEndings = Object.keys(formats);

/** The format by the file's ending in any case, `.gz` set aside; undefined for an unknown ending. */
export function formatOfEnding(path: string): Format | undefined {
  const name = path.toLowerCase().replace(/\.gz$/, '');
  const ending = knownEndings.find((known) => name.endsWith(known));
  return ending === undefined ? undefined : formats[ending];
}

/**
 * The format by the first line that is not blank: `{` opens JSON Lines, a tab makes it TSV, a header with a
 * column `id`, `scene` or `prompt` (any case) makes it CSV, and all else is plain text. Commas alone tell
 * nothing: prompts are full of them.
 */
export function formatOfFirstLine(line: string): Format {
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
