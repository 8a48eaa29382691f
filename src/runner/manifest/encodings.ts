/** Decodes texts that are not in UTF-8, and explains how other bytes could be read. */
import type { ListReading } from '../core/list-reading.ts';

const utf8Mark = Buffer.from([0xef, 0xbb, 0xbf]);
const utf16Marks = { 'utf-16le': Buffer.from([0xff, 0xfe]), 'utf-16be': Buffer.from([0xfe, 0xff]) };

/** Number of first bytes that `asUtf8` needs to see before the others. */
export const headBytes = 4;

/** Thrown if a text cannot be decoded. The message follows the name of the text. */
export class EncodingProblem extends Error {}

/** Decodes a text that begins with `head`, without its byte order mark. Throws `EncodingProblem`. */
export async function* asUtf8(
  head: Buffer,
  bytes: AsyncIterable<Buffer>,
  encoding: ListReading['encoding'],
): AsyncGenerator<Buffer> {
  const begins = (mark: Buffer): boolean => head.subarray(0, mark.length).equals(mark);
  if (begins(utf8Mark)) yield* withoutStart(bytes, utf8Mark.length);
  else if (begins(utf16Marks['utf-16le'])) yield* fromUtf16(bytes, 'utf-16le');
  else if (begins(utf16Marks['utf-16be'])) yield* fromUtf16(bytes, 'utf-16be');
  else if (/^(?:\0[^\0]){2}|^(?:[^\0]\0){2}/.test(head.toString('latin1')))
    throw new EncodingProblem('is in UTF-16 without a byte order mark; save it as UTF-8');
  else if (encoding === undefined) yield* bytes;
  else yield* fromNoUtf8(bytes);
}

/** Refuses valid UTF-8 with characters beyond ASCII, because reading it as Windows-1252 would garble its prompts. */
async function* fromNoUtf8(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let [isUtf8, example] = [true, ''];
  const look = (piece: Buffer | undefined): void => {
    try {
      const text = decoder.decode(piece, { stream: piece !== undefined });
      example ||= wordsOf(text)[0] ?? '';
    } catch {
      isUtf8 = false;
    }
  };
  for await (const chunk of bytes) {
    if (isUtf8) look(chunk);
    yield Buffer.from(fromWindows1252(chunk));
  }
  if (isUtf8) look(undefined);
  if (isUtf8 && example !== '')
    throw new EncodingProblem(
      `is in UTF-8, and not in Windows-1252, which would read ${example} as "${fromWindows1252(Buffer.from(example.slice(1, -1)))}"; save it in Windows-1252 as well, or leave out encoding`,
    );
}

async function* withoutStart(bytes: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  let skipped = count;
  for await (const chunk of bytes) {
    yield chunk.subarray(skipped);
    skipped = 0;
  }
}

async function* fromUtf16(
  bytes: AsyncIterable<Buffer>,
  encoding: 'utf-16le' | 'utf-16be',
): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  try {
    for await (const chunk of bytes) yield Buffer.from(decoder.decode(chunk, { stream: true }));
    yield Buffer.from(decoder.decode());
  } catch (error) {
    const isDamage = error instanceof TypeError && 'code' in error;
    throw isDamage ? new EncodingProblem('is in UTF-16 and damaged or truncated; save it as UTF-8') : error;
  }
}

/** Explains why a line or an element is not UTF-8, in words that follow its place. */
export function notUtf8(bytes: Buffer): string {
  const examples = wordsOf(fromWindows1252(bytes));
  if (examples.length === 0) return 'is not valid UTF-8; save the list as UTF-8';
  return `is not valid UTF-8; as Windows-1252 it reads ${examples.slice(0, 3).join(', ')}: if that is right, add encoding: windows-1252 to pipeline.yaml`;
}

/** Returns the words with characters beyond ASCII, in quotation marks. */
function wordsOf(text: string): string[] {
  const words = text.split(/[\s\p{C},;"]+/u).filter((word) => /[^\0-\x7f]/.test(word));
  return words.map((word) => `"${word.slice(0, 40)}"`);
}

/** Characters of the bytes 0x80 to 0x9f. In Node 20.20, `TextDecoder` returns control characters for them. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

function fromWindows1252(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  return text.replaceAll(/[\x80-\x9f]/g, (control) => windows1252[control.charCodeAt(0) - 0x80] ?? control);
}
