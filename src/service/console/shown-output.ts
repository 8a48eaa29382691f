/** What is shown of inputs and outputs: their text with long strings cut, and the pictures in them. */

import { maxJsonDepth, scanJson } from '../../lib/text/scan-json.ts';

/** What stands in the page as text. */
const maxTextLength = 256 * 1024;
const maxStringLength = 4_000;

/** More do not fit into the text that is shown, and would hold up the service. */
const maxShownValues = 200_000;

/** Undefined if there is none, or it has more values than can be shown. */
export async function readJson(text: string | null): Promise<unknown> {
  if (text === null) return undefined;
  const limits = { maxDepth: maxJsonDepth, maxValues: maxShownValues };
  const { kind } = await scanJson(Buffer.from(text), [], limits);
  return kind === 'object' || kind === 'other' ? JSON.parse(text) : undefined;
}

/** As text with its long strings cut; null where there is nothing, or more than can be shown. */
export function shownJson(value: unknown): string | null {
  if (value === undefined) return null;
  const shown = textOf(value);
  return shown !== undefined && shown.length <= maxTextLength ? shown : null;
}

/** Undefined for what is nested so deeply that it cannot be written. */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(
      value,
      (_key, inner: unknown) => (typeof inner === 'string' ? cut(inner) : inner),
      2,
    );
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function cut(text: string): string {
  const kept = pictureOf(text) === undefined ? maxStringLength : 60;
  return text.length <= kept
    ? text
    : `${text.slice(0, kept)}… (${text.length.toLocaleString('en')} characters)`;
}

const maxPictures = 12;
const maxPictureBytes = 40 * 1024 * 1024;

/** Data URIs of the pictures in an output, as far as they can be shown at once. */
export function picturesIn(output: unknown): string[] {
  // The same picture often stands under two names.
  const pictures = new Set<string>();
  let length = 0;
  const open: unknown[] = [output];
  while (open.length > 0 && pictures.size < maxPictures) {
    const value = open.pop();
    if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value).toReversed()) open.push(inner);
      continue;
    }
    const picture = typeof value === 'string' ? pictureOf(value) : undefined;
    if (picture === undefined || pictures.has(picture) || length + picture.length > maxPictureBytes) continue;
    length += picture.length;
    pictures.add(picture);
  }
  return [...pictures];
}

/** How the base64 of each format begins. */
const beginnings: Record<string, RegExp> = {
  'image/png': /^iVBORw0KGgo/,
  'image/jpeg': /^\/9j\//,
  'image/webp': /^UklGR/,
};

function pictureOf(text: string): string | undefined {
  const data = /^data:(image\/(?:png|jpeg|webp));base64,/.exec(text);
  const base64 = data === null ? text : text.slice(data[0].length);
  const [type] = Object.entries(beginnings).find(([, beginning]) => beginning.test(base64)) ?? [];
  return type === undefined || base64.length < 60 ? undefined : `data:${type};base64,${base64}`;
}

/** Where a string begins that holds a picture. */
const pictureOpening = /"(?:data:image\/(?:png|jpeg|webp);base64,)?(?=iVBORw0KGgo|\/9j\/|UklGR)/g;

/** The bytes of the first picture in an output, which is JSON text; found without reading all of it as JSON. */
export function firstPicture(output: string): Buffer | undefined {
  for (const { 0: opening, index } of output.matchAll(pictureOpening)) {
    const start = index + opening.length;
    // One expression for the whole of a picture would overflow the stack from 8 MB on.
    const base64 = output.slice(start, Math.max(start, output.indexOf('"', start)));
    if (base64.length >= 60 && !/[^\w+/=]/.test(base64)) return Buffer.from(base64, 'base64');
  }
  return undefined;
}
