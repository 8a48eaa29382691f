/** A contact sheet: many pictures on one, each with its prompt and its id below. */
import sharp from 'sharp';
import type { OverlayOptions } from 'sharp';

export interface SheetCell {
  label: string;
  /** Empty where there is none. */
  prompt: string;
  /** A thumbnail as a file's bytes; undefined where there is none. */
  thumbnail: Uint8Array | undefined;
}

const columns = 8;
/** Cells on a sheet, at most. */
export const cellsOnSheet = columns * 10;

/** Pixels. */
const side = 192;
const gap = 12;
const titleHeight = 34;
const labelHeight = 52;
const emptyHeight = side / 2;
const colours = { paper: '#f4f4f1', empty: '#dcdcd6', text: '#33332f', soft: '#6d6d66' };

/** As PNG, below a title; cells fill it row by row, each row as high as its highest picture, and it ends below the last one. */
export async function contactSheet(title: string, cells: SheetCell[]): Promise<Buffer> {
  const width = columns * (side + gap) + gap;
  const pictures: OverlayOptions[] = [];
  const drawn = [textLine(sheetLabel(title, 200), { x: gap, y: gap + 15, size: 15, fill: colours.text })];
  let top = gap + titleHeight;
  for (let first = 0; first < cells.length; first += columns) {
    const row = cells.slice(first, first + columns);
    const fitted = await Promise.all(row.map(({ thumbnail }) => fit(thumbnail)));
    const height = Math.max(...fitted.map((each) => each?.info.height ?? emptyHeight));
    for (const [i, cell] of row.entries()) {
      const left = gap + i * (side + gap);
      const picture = fitted[i];
      if (picture === undefined) drawn.push(emptyBox(left, top + height - emptyHeight));
      else pictures.push(placed(picture, left, top + height));
      drawn.push(caption(cell, left, top + height));
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
function caption({ prompt, label }: SheetCell, left: number, top: number): string {
  const lines = promptLines(prompt);
  const words = lines.map((line, i) =>
    textLine(line, { x: 0, y: 17 + i * 14, size: 12, fill: colours.text }),
  );
  const y = 17 + lines.length * 14;
  const id = textLine(sheetLabel(label), { x: 0, y, size: 10, fill: colours.soft });
  return `<svg x="${left}" y="${top}" width="${side}" height="${labelHeight}">${words.join('')}${id}</svg>`;
}

interface Line {
  x: number;
  y: number;
  size: number;
  fill: string;
}

function textLine(text: string, { x, y, size, fill }: Line): string {
  const font = `font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif" font-size="${size}"`;
  return `<text x="${x}" y="${y}" ${font} fill="${fill}">${text}</text>`;
}

/** Places in a line; letters of East Asia and emoji take two. */
const places = 28;

/** Unprintable characters become �, and the middle of a long id …, since ids differ at their beginnings and ends. */
export function sheetLabel(id: string, room = places): string {
  return escaped(shortened(id.replaceAll(unprintable, '\uFFFD'), room));
}

/** Two lines at most, each ending between words where there are any; … stands for what is left. */
export function promptLines(prompt: string): string[] {
  const text = prompt.slice(0, 400).replaceAll(/\s+/g, ' ').replaceAll(unprintable, '\uFFFD').trim();
  const first = firstLine(text);
  const rest = text.slice(first.length).trimStart();
  const second = within(graphemesOf(rest), places).join('');
  const isCut = second.length < rest.length;
  const last = isCut ? `${within(graphemesOf(second), places - 1).join('')}…` : second;
  return [first, last].filter((line) => line !== '').map(escaped);
}

function firstLine(text: string): string {
  const fitting = within(graphemesOf(text), places).join('');
  if (fitting.length === text.length || text[fitting.length] === ' ') return fitting;
  return fitting.slice(0, Math.max(fitting.lastIndexOf(' '), 0)) || fitting;
}

// The joiners stay: scripts and emoji need them.
const unprintable = /(?![\u200C\u200D])[\p{C}\p{Zl}\p{Zp}]/gu;

function shortened(text: string, room: number): string {
  // What is beyond can never be shown, and an id may be as long as a prompt.
  const start = graphemesOf(text.slice(0, 200));
  if (text.length <= 200 && widthOf(start) <= room) return text;
  const half = Math.floor((room - 1) / 2);
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
