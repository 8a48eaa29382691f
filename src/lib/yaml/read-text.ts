/** The text of a configuration file. */
import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { ConfigError } from './problem.ts';

/** A manifest given in the place of a pipeline.yaml is told so, instead of being parsed for minutes. */
const maxBytes = 1_000_000;

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'this file may not be read',
};

/** Without a byte-order mark. `shown` is the path for messages, `expected` what the file should be. Throws `ConfigError`. */
export function readText(file: string, shown: string, expected = 'pipeline.yaml'): string {
  const bytes = readBytes(file, shown, expected);
  if (isUtf8(bytes)) return bytes.toString('utf8').replace(/^\uFEFF/, '');
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw problem(shown, 'this file is written in UTF-16; expected UTF-8');
  }
  throw problem(
    `${shown}:${placeOfBadByte(bytes)}`,
    'this character is not valid UTF-8; save the file as UTF-8',
  );
}

function readBytes(file: string, shown: string, expected: string): Buffer {
  try {
    assertSize(shown, statSync(file).size, expected);
    const bytes = readFileSync(file);
    assertSize(shown, bytes.length, expected);
    return bytes;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'EISDIR') throw problem(shown, `this is a folder; expected a ${expected}`);
    throw problem(shown, reasons[code] ?? `this file cannot be read (${code})`);
  }
}

function assertSize(shown: string, size: number, expected: string): void {
  if (size > maxBytes)
    throw problem(shown, `this file has ${size} bytes; expected a ${expected}, of at most ${maxBytes}`);
}

/** Line and column of the first byte that is not UTF-8. */
function placeOfBadByte(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  let at = text.indexOf('\u{FFFD}');
  // The replacement character may also stand in the file itself.
  while (
    Buffer.from(text.slice(0, at + 1)).equals(bytes.subarray(0, Buffer.byteLength(text.slice(0, at + 1))))
  )
    at = text.indexOf('\u{FFFD}', at + 1);
  const lines = text
    .slice(0, at)
    .replace(/^\uFEFF/, '')
    .split('\n');
  return `${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
}

function problem(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}
