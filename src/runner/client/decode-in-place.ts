/** Base64 to bytes without a copy: the bytes take the place of the text, which they can be turned back into. */

/** Of the text, decoded at a time; a multiple of four characters. */
const piece = 64 * 1024;
const decodedPiece = (piece / 4) * 3;

export interface DecodedInPlace {
  bytes: Buffer;
  /** Puts the text back where it was. */
  restore: () => void;
}

/**
 * `text` is all ASCII base64 with its padding, and nothing else, or it is left as it was (undefined). What passes is
 * what a strict decoder of the whole text passes, with the same bytes.
 */
export function decodeInPlace(text: Buffer): DecodedInPlace | undefined {
  // Node takes these two for + and /, and drops every other wrong character, so that it shows in the length.
  if (text.length % 4 !== 0 || text.includes(0x2d) || text.includes(0x5f)) return undefined;
  const last = text.toString('latin1', text.length - 4);
  const padding = last.endsWith('==') ? 2 : Number(last.endsWith('='));
  let length = 0;
  for (let at = 0; at < text.length; at += piece) {
    const characters = text.toString('latin1', at, at + piece);
    const isLast = at + piece >= text.length;
    const expected = (characters.length / 4) * 3 - (isLast ? padding : 0);
    if (text.write(characters, length, 'base64') !== expected) {
      text.write(characters, at, 'latin1');
      restorePieces(text, at);
      return undefined;
    }
    length += expected;
  }
  return { bytes: text.subarray(0, length), restore: () => restoreAll(text, length, last) };
}

/** The last characters may carry bits that mean nothing and are lost in the bytes. */
function restoreAll(text: Buffer, length: number, last: string): void {
  const pieces = Math.floor(length / decodedPiece) * decodedPiece;
  text.write(text.toString('base64', pieces, length), (pieces / 3) * 4, 'latin1');
  text.write(last, text.length - 4, 'latin1');
  restorePieces(text, (pieces / 3) * 4);
}

/** From behind, since the text of a piece stands where bytes of later ones were. */
function restorePieces(text: Buffer, end: number): void {
  for (let at = end - piece; at >= 0; at -= piece) {
    const from = (at / 4) * 3;
    text.write(text.toString('base64', from, from + decodedPiece), at, 'latin1');
  }
}
