/** A contact sheet: many pictures on one, each with its id below. */
import sharp from 'sharp';
import type { OverlayOptions } from 'sharp';

export interface SheetCell {
  label: string;
  /** A thumbnail as a file's bytes; undefined where there is none. */
  thumbnail: Uint8Array | undefined;
}

const columns = 8;
/** Cells on a sheet, at most. */
export const cellsOnSheet = columns * 10;

/** Pixels. */
const side = 192;
const gap = 12;
const labelHeight = 22;
const emptyHeight = side / 2;
const colours = { paper: '#f4f4f1', empty: '#dcdcd6', text: '#33332f' };

/** As PNG; cells fill it row by row, each row as high as its highest picture, and it ends below the last one. */
export async function contactSheet(cells: SheetCell[]): Promise<Buffer> {
  const width = columns * (side + gap) + gap;
  const pictures: OverlayOptions[] = [];
  const drawn: string[] = [];
  let top = gap;
  for (let first = 0; first < cells.length; first += columns) {
    const row = cells.slice(first, first + columns);
    const fitted = await Promise.all(row.map(({ thumbnail }) => fit(thumbnail)));
    const height = Math.max(...fitted.map((each) => each?.info.height ?? emptyHeight));
    for (const [i, { label }] of row.entries()) {
      const left = gap + i * (side + gap);
      const picture = fitted[i];
      if (picture === undefined) drawn.push(emptyBox(left, top + height - emptyHeight));
      else pictures.push(placed(picture, left, top + height));
      drawn.push(labelText(label, left, top + height));
    }
    top += height + labelHeight + gap;
  }
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top}">${drawn.join('')}</svg>`;
  return sharp({ create: { width, height: top, channels: 3, background: colours.paper } })
    .composite([...pictures, { input: Buffer.from(drawing), left: 0, top: 0 }])
    .png()
    .toBuffer();
}

interface Fitted {
  data: Buffer;
  info: { width: number; height: number; channels: 1 | 2 | 3 | 4 };
}

async function fit(thumbnail: Uint8Array | undefined): Promise<Fitted | undefined> {
  if (thumbnail === undefined) return undefined;
  try {
    const image = sharp(thumbnail).resize(side, side, { fit: 'inside', withoutEnlargement: true });
    return await image.ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  } catch {
    // A file that is no picture any more leaves its place empty.
    return undefined;
  }
}

/** In the middle of its place and next to its label, which begins at `bottom`. */
function placed({ data, info }: Fitted, left: number, bottom: number): OverlayOptions {
  const { width, height, channels } = info;
  const raw = { width, height, channels };
  return { input: data, raw, left: left + Math.floor((side - width) / 2), top: bottom - height };
}

function emptyBox(left: number, top: number): string {
  return `<rect x="${left}" y="${top}" width="${side}" height="${emptyHeight}" fill="${colours.empty}"/>`;
}

/** An inner drawing cuts off what is too wide for it. */
function labelText(label: string, left: number, top: number): string {
  const style = `font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif" font-size="11" fill="${colours.text}"`;
  const text = `<text x="${side / 2}" y="15" text-anchor="middle" ${style}>${sheetLabel(label)}</text>`;
  return `<svg x="${left}" y="${top}" width="${side}" height="${labelHeight}">${text}</svg>`;
}

/** Places in a line; letters of East Asia and emoji take two. */
const places = 28;

/** Unprintable characters become �, and the middle of a long id …, since ids differ at their beginnings and ends. */
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
