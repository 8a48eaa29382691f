/** Tells what bytes are by looking at them, since neither names nor declared types can be believed. */

export type PictureFormat = 'PNG' | 'JPEG' | 'WebP';

/** The format of a picture that can be saved, or what it is instead, in words for people. */
export function recognise(bytes: Buffer): { format: PictureFormat } | { instead: string } {
  const start = bytes.toString('hex', 0, 16);
  const known = formats.find(([, pattern]) => pattern.test(start));
  return known === undefined ? { instead: nameOfBytes(bytes, start) } : { format: known[0] };
}

/** What a text is that should have been a picture, where that can be told: an address, a page, a file's name. */
export function nameOfText(text: string): string | undefined {
  const start = text.slice(0, 2000);
  const kind = texts.find(([, pattern]) => pattern.test(start))?.[0];
  return kind === undefined ? undefined : `${kind} (${quote(start)})`;
}

const formats: readonly [PictureFormat, RegExp][] = [
  ['PNG', /^89504e47/],
  ['JPEG', /^ffd8ff/],
  ['WebP', /^52494646.{8}57454250/],
];

const others: readonly [string, RegExp][] = [
  ['a GIF', /^47494638/],
  ['a BMP', /^424d.{8}00000000/],
  ['a TIFF', /^(?:49492a00|4d4d002a)/],
  ['an AVIF or HEIF', /^.{8}66747970/],
  ['a JPEG XL', /^(?:ff0a|0000000c4a584c20)/],
  ['a PDF', /^255044462d/],
  ['a ZIP archive', /^504b0304/],
  ['gzipped data', /^1f8b/],
];

const texts: readonly [string, RegExp][] = [
  ['an address', /^\s*(?:https?|s3|gs|ftp|file):\/\//i],
  ['an SVG', /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?(?:<!DOCTYPE svg[^>]*>\s*)?<svg[\s>]/i],
  ['an HTML page', /^\s*(?:<!doctype html|<html|<head|<body)/i],
  ['XML', /^\s*<\?xml/i],
  ['JSON', /^\s*(?:\{\s*"|\[\s*[[{"])/],
  ['the name of a file on the worker', /^[^\s<>"]{1,500}\.(?:png|jpe?g|webp|gif|bmp)\s*$/i],
  ['text', /^[^\p{C}\uFFFD]*\s[^\p{C}\uFFFD]*$/u],
];

function nameOfBytes(bytes: Buffer, start: string): string {
  const known = others.find(([, pattern]) => pattern.test(start));
  if (known !== undefined) return known[0];
  const text = bytes.subarray(0, 400).toString('utf8');
  const name = nameOfText(text);
  if (name !== undefined) return name;
  // A character that is cut off at the end becomes U+FFFD.
  if (/^[^\p{C}\uFFFD]+\uFFFD?$/u.test(text.replaceAll(/\s/g, ''))) return `text (${quote(text)})`;
  return `no picture: its first bytes are ${start.slice(0, 16).replaceAll(/..(?=.)/g, '$& ')}`;
}

function quote(text: string): string {
  const line = text.replaceAll(/[\s\p{C}]+/gu, ' ').trim();
  const characters = Array.from(line);
  return JSON.stringify(characters.length > 60 ? `${characters.slice(0, 60).join('')}…` : line);
}
