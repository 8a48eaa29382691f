/** File names that every file system takes: portable, short, inside the folder, and compared as folders do. */
import { fileKinds, type NamedFile } from './named-file.ts';
import { pictureEndings } from './picture-format.ts';

/** The most bytes of UTF-8 a name has, folders and `.png` included. */
export const maxNameBytes = 200;

/** Bytes that `withSuffix` keeps free for what it inserts. */
const maxSuffixBytes = 32;
const maxFolders = 9;
const ending = '.png';
const pictureKinds = Object.values(pictureEndings).map((end) => end.slice(1));
const endings = new RegExp(String.raw`\.(?:${[...fileKinds, ...pictureKinds].join('|')})$`);

/**
 * A rendered name as a portable relative path that ends in `.png`. Slashes make folders; every part is safe on Linux,
 * macOS and Windows. A name that is too long loses the ends of its longest parts. Portable names are left as they are.
 */
export function portablePath(rendered: string): string {
  const parts = rendered.split('/');
  const folders = parts.slice(0, Math.min(parts.length - 1, maxFolders)).map((part) => tidy(clean(part)));
  const name = parts.slice(folders.length).map(clean).join('-');
  return fit([...folders, withEnding(name)], maxNameBytes).join('/');
}

/** What a placeholder's value becomes within a name: one part of a path at most, never several. */
export function portableSegment(value: string): string {
  return cutToBytes(clean(value), maxNameBytes);
}

/**
 * A portable path with `suffix` before its ending. Distinct suffixes give distinct names, since what is cut off a long
 * path to make room does not depend on the suffix.
 */
export function withSuffix(path: string, suffix: string): string {
  if (!/^[-.][\w-]{1,31}$/.test(suffix)) throw new Error(`not a suffix for a file name: ${suffix}`);
  const parts = fit(path.split('/'), maxNameBytes - maxSuffixBytes);
  const end = endingOf(path);
  return parts.join('/').slice(0, -end.length) + suffix + end;
}

/**
 * The file beside a picture: `a/b.png` and `depth` make `a/b-depth.exr`. Short enough that no later suffix cuts the label
 * off.
 */
export function namedFile(picture: string, { label, kind }: NamedFile): string {
  const parts = fit(picture.split('/'), maxNameBytes - 3 * maxSuffixBytes);
  return `${parts.join('/').slice(0, -endingOf(picture).length)}-${label}.${kind}`;
}

/** The file of a picture in a bucket: no other attempt, and no other content, has the same. */
export function attemptFile(name: string, attempt: number, sha256: string): string {
  return withSuffix(name, `-${attempt}-${sha256.slice(0, 8)}`);
}

/** Of such a file, the name that the picture was given, and the attempt; undefined where it is none. */
export function readAttemptFile(file: string): { name: string; attempt: number } | undefined {
  const end = endingOf(file);
  const [, stem, attempt] = /^(.*)-(\d{1,15})-[0-9a-f]{8}$/s.exec(file.slice(0, -end.length)) ?? [];
  if (stem === undefined || !file.endsWith(end)) return undefined;
  return { name: stem + end, attempt: Number(attempt) };
}

/**
 * Equal for two names that some file system takes for one, because it ignores case or how accents are composed, and for
 * pictures that differ in nothing but their format: their copies and sidecars would have one name.
 */
export function nameKey(path: string): string {
  return path
    .normalize('NFD')
    .replaceAll(/\p{Cf}/gu, '')
    .toLowerCase()
    .toUpperCase()
    .normalize('NFC')
    .replace(otherFormats, '.PNG');
}

const otherFormats = /\.(?:JPG|WEBP|AVIF)$/;

// Half surrogates, control and format characters, and code points that are none. The joiners stay: scripts and emoji
// need them.
const unprintable = /(?![\u200C\u200D])[\p{Cs}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;

function clean(text: string): string {
  return text
    .replaceAll(unprintable, '')
    .normalize('NFC')
    .replaceAll(/[<>:"/\\|?*]/g, '-');
}

/** Windows takes these for devices, whatever follows a dot or spaces. */
const device = /^(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|CLOCK\$|(?:COM|LPT)[0-9¹²³])\s*(?:\.|$)/i;

/** A part without dots and spaces at its ends that is no device. */
function tidy(part: string): string {
  const end = withoutTail(part);
  let start = 0;
  while (start < end.length && isEdge(end[start])) start += 1;
  const trimmed = end.slice(start) || 'unnamed';
  return device.test(trimmed) ? `_${trimmed}` : trimmed;
}

function withoutTail(part: string): string {
  let end = part.length;
  while (end > 0 && isEdge(part[end - 1])) end -= 1;
  return part.slice(0, end);
}

function isEdge(character = ''): boolean {
  return character.trim() === '' || '.\u200C\u200D'.includes(character);
}

/** The last part, tidy and with its ending exactly once. */
function withEnding(name: string, end = ending): string {
  let stem = withoutTail(name);
  while (stem.toLowerCase().endsWith(end)) stem = withoutTail(stem.slice(0, -end.length));
  return tidy(stem) + end;
}

function endingOf(path: string): string {
  return endings.exec(path)?.[0] ?? ending;
}

/** The parts, the longest of them cut to equal length until all fit; the ending stays. */
function fit(parts: string[], maxBytes: number): string[] {
  const sizes = parts.map(bytesOf);
  const room = maxBytes - (parts.length - 1);
  let most = room;
  while (sizes.reduce((sum, size) => sum + Math.min(size, most), 0) > room) most -= 1;
  return parts.map((part, index) => {
    if (bytesOf(part) <= most) return part;
    if (index < parts.length - 1) return tidy(cutToBytes(part, most));
    const end = endingOf(part);
    return withEnding(cutToBytes(part.slice(0, -end.length), most - end.length), end);
  });
}

/** The longest beginning within `maxBytes` that ends between two characters as people count them. */
function cutToBytes(text: string, maxBytes: number): string {
  // A code unit takes at least a byte, so what lies further back can never fit.
  const start = text.slice(0, maxBytes + 1);
  if (bytesOf(start) <= maxBytes) return text;
  const whole = Array.from(graphemes.segment(start), ({ segment }) => segment);
  // A letter under a pile of marks can be longer than any name: then between two code points.
  return takeBytes(whole, maxBytes) || takeBytes(Array.from(start), maxBytes);
}

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

function takeBytes(pieces: string[], maxBytes: number): string {
  let left = maxBytes;
  const end = pieces.findIndex((piece) => (left -= bytesOf(piece)) < 0);
  return pieces.slice(0, end).join('');
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
