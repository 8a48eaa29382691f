/** Turns the line breaks of old spreadsheets, a carriage return alone, into line feeds. */
import { maxRowBytes } from './manifest.ts';

const lineFeed = 10;
const carriageReturn = 13;

/**
 * Where the first line break is a carriage return alone, all such become line feeds. Elsewhere the bytes pass
 * as they are: CR LF is dealt with where lines are read, and a carriage return within a line is text.
 */
export async function* unifyLineBreaks(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isReturn: boolean | undefined;
  let held: Buffer[] = [];
  let heldBytes = 0;
  let hasBreak = false;
  for await (const chunk of bytes) {
    held.push(chunk);
    heldBytes += chunk.length;
    hasBreak ||= chunk.includes(lineFeed) || chunk.includes(carriageReturn);
    if (!hasBreak && heldBytes <= maxRowBytes) continue;
    const ready = held.length === 1 ? chunk : Buffer.concat(held);
    isReturn ??= isFirstBreakReturn(ready);
    // A return at the very end is undecided until the byte after it is seen.
    const isUndecided = isReturn !== false && ready.at(-1) === carriageReturn;
    const end = isUndecided ? ready.length - 1 : ready.length;
    held = isUndecided ? [ready.subarray(end)] : [];
    heldBytes = ready.length - end;
    yield isReturn === true ? withLineFeeds(ready.subarray(0, end)) : ready.subarray(0, end);
  }
  yield isReturn === false ? Buffer.concat(held) : withLineFeeds(Buffer.concat(held));
}

/** Undefined where the byte after the first carriage return is not seen yet. */
function isFirstBreakReturn(bytes: Buffer): boolean | undefined {
  const feed = bytes.indexOf(lineFeed);
  const found = bytes.indexOf(carriageReturn);
  if (found === -1 || (feed !== -1 && feed < found)) return false;
  const after = bytes[found + 1];
  return after === undefined ? undefined : after !== lineFeed;
}

function withLineFeeds(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf(carriageReturn); at !== -1; at = copy.indexOf(carriageReturn, at + 1)) {
    if (copy[at + 1] !== lineFeed) copy[at] = lineFeed;
  }
  return copy;
}
