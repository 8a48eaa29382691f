/** An id as one short line of an SVG, whatever its characters. */

/** Places in a line; letters of East Asia and emoji take two. */
const places = 28;

/** Unprintable characters become �, and the middle of a long id …, since ids tell apart by their beginnings and ends. */
export function sheetLabel(id: string): string {
  return escaped(shortened(id.replaceAll(unprintable, '\uFFFD')));
}

// The joiners stay: scripts and emoji need them.
const unprintable = /(?![\u200C\u200D])[\p{C}\p{Zl}\p{Zp}]/gu;

function shortened(text: string): string {
  // What is beyond can never be shown, and an id may be as long as a prompt.
  const start = graphemesOf(text.slice(0, 200));
  if (text.length <= 200 && widthOf(start) <= places) return text;
  const half = Math.floor((places - 1) / 2);
  const end = graphemesOf(text.slice(-200)).toReversed();
  return `${within(start, half).join('')}…${within(end, half).toReversed().join('')}`;
}

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });

function graphemesOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

function within(graphemes: string[], width: number): string[] {
  let left = width;
  const end = graphemes.findIndex((each) => (left -= widthOf([each])) < 0);
  return end === -1 ? graphemes : graphemes.slice(0, end);
}

const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uFF01-\uFF60]/u;

function widthOf(graphemes: string[]): number {
  return graphemes.reduce((sum, each) => sum + (wide.test(each) ? 2 : 1), 0);
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}
