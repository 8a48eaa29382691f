/** Names of pictures: the default (`defaultName`) and forms that every file system accepts. Also words for scenes and batches. */
import { oneLine } from '../../lib/text/format.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import { fileKinds, mediaEndings, type NamedFile, withoutFormat } from './picture.ts';
import { type RulesVersion, type Scene, sceneRules } from './scene.ts';

/** Maximum length of a name in bytes of UTF-8, including folders and `.png`. */
export const maxNameBytes = 200;

/** Bytes that `withSuffix` reserves for the suffix. */
const maxSuffixBytes = 32;
const maxFolders = 9;
const ending = '.png';
const pictureKinds = Object.values(mediaEndings).map((end) => end.slice(1));
const endings = new RegExp(String.raw`\.(?:${[...fileKinds, ...pictureKinds].join('|')})$`);

/**
 * Turns a rendered name into a portable relative path that ends in `.png`. Slashes make folders, and every
 * part is safe on Linux, macOS and Windows. If a name is too long, its longest parts are shortened. Portable
 * names are unchanged.
 */
export function portablePath(rendered: string): string {
  const parts = rendered.split('/');
  const folders = parts.slice(0, Math.min(parts.length - 1, maxFolders)).map((part) => tidy(clean(part)));
  const name = parts.slice(folders.length).map(clean).join('-');
  return fit([...folders, withEnding(name)], maxNameBytes).join('/');
}

/** Turns a placeholder's value into at most one part of a path, never several. */
export function portableSegment(value: string): string {
  return cutToBytes(clean(value), maxNameBytes);
}

/** Inserts `suffix` before the extension. Distinct suffixes give distinct names, even of shortened paths. */
export function withSuffix(path: string, suffix: string): string {
  if (!/^[-.][\w-]{1,31}$/.test(suffix)) throw new Error(`not a suffix for a file name: ${suffix}`);
  const parts = fit(path.split('/'), maxNameBytes - maxSuffixBytes);
  const end = endingOf(path);
  return parts.join('/').slice(0, -end.length) + suffix + end;
}

/** Returns the name of a file beside a picture: `a/b.png` and `depth` give `a/b-depth.exr`. */
export function namedFile(picture: string, { label, kind }: NamedFile): string {
  const parts = fit(picture.split('/'), maxNameBytes - 3 * maxSuffixBytes);
  return `${parts.join('/').slice(0, -endingOf(picture).length)}-${label}.${kind}`;
}

/** Returns the name of a picture's file in a bucket. It is unique to the attempt and the content. */
export function attemptFile(name: string, attempt: number, sha256: string): string {
  return withSuffix(name, `-${attempt}-${sha256.slice(0, 8)}`);
}

/** Splits a name made by `attemptFile` into picture name and attempt; undefined for another form. */
export function readAttemptFile(file: string): { name: string; attempt: number } | undefined {
  const end = endingOf(file);
  const [, stem, attempt] = /^(.*)-(\d{1,15})-[0-9a-f]{8}$/s.exec(file.slice(0, -end.length)) ?? [];
  if (stem === undefined || !file.endsWith(end)) return undefined;
  return { name: stem + end, attempt: Number(attempt) };
}

/**
 * Returns a key that is equal for names that some file system treats as equal, because it ignores case or
 * Unicode composition. It is also equal for pictures that differ only in format, because their copies and
 * sidecars would have the same name.
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

const otherFormats = /\.(?:JPG|WEBP|AVIF|MP4|WEBM|MOV|GIF|WAV|MP3|FLAC|OGG)$/;

// Lone surrogates, control and format characters, noncharacters; not joiners, which scripts need.
const unprintable = /(?![\u200C\u200D])[\p{Cs}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;

function clean(text: string): string {
  return text
    .replaceAll(unprintable, '')
    .normalize('NFC')
    .replaceAll(/[<>:"/\\|?*]/g, '-');
}

/** Windows treats these names as devices, whatever follows a dot or spaces. */
const device = /^(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|CLOCK\$|(?:COM|LPT)[0-9¹²³])\s*(?:\.|$)/i;

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

function withEnding(name: string, end = ending): string {
  let stem = withoutTail(name);
  while (stem.toLowerCase().endsWith(end)) stem = withoutTail(stem.slice(0, -end.length));
  return tidy(stem) + end;
}

function endingOf(path: string): string {
  return endings.exec(path)?.[0] ?? ending;
}

/** Cuts the longest parts to equal length until all parts fit. The extension stays. */
function fit(parts: string[], maxBytes: number): string[] {
  if (isSurelyWithin(parts.join('/'), maxBytes)) return parts;
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

/** Returns the longest prefix within `maxBytes` that ends between two graphemes. */
function cutToBytes(text: string, maxBytes: number): string {
  if (isSurelyWithin(text, maxBytes)) return text;
  // A code unit takes at least one byte, so text further back can never fit.
  const start = text.slice(0, maxBytes + 1);
  if (bytesOf(start) <= maxBytes) return text;
  const whole = Array.from(graphemes.segment(start), ({ segment }) => segment);
  // A letter with many combining marks can exceed the limit. In that case it is cut between code points.
  return takeBytes(whole, maxBytes) || takeBytes(Array.from(start), maxBytes);
}

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

function takeBytes(pieces: string[], maxBytes: number): string {
  let left = maxBytes;
  const end = pieces.findIndex((piece) => (left -= bytesOf(piece)) < 0);
  return pieces.slice(0, end).join('');
}

/** Decides for most names, in a fraction of the time of `bytesOf`. */
function isSurelyWithin(text: string, maxBytes: number): boolean {
  return text.length * maxUnitBytes <= maxBytes;
}

/** Maximum number of bytes of UTF-8 for a UTF-16 unit. */
const maxUnitBytes = 3;

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

/**
 * Naming scheme that a batch fixes at its first start. `id` uses the id alone. `sent` uses the words of the
 * input if the list has no ids. `prompt` is the scheme of earlier versions: words of the column that seems to
 * be the prompt. `stage` uses the name of the picture in the batch before.
 */
export type DefaultNames = 'id' | 'prompt' | 'sent' | 'stage';

type Named = Pick<Scene, 'id' | 'columns' | 'input'>;

/**
 * Returns the file name of a picture if `output.name` is not set, as a portable path: `harbour.png` for a row
 * with an id, `a-photo-of-a-bench-e52f02.png` for a row without.
 */
export function defaultName(scene: Named, names: DefaultNames): string {
  if (names === 'stage') return stageName(scene);
  const { id, columns, input } = scene;
  const prompt = names === 'sent' ? promptOf(input, {}) : promptOf({}, columns);
  const stem = names === 'id' || Object.hasOwn(columns, 'id') ? id : stemOf(id, prompt ?? '');
  return portablePath(`${portableSegment(stem)}.png`);
}

/** Returns the name of the picture before, with what the stage adds to the id: `ink/harbour-strong.png`. */
function stageName({ id, columns }: Named): string {
  const { id: row, picture } = columns;
  const before = typeof picture === 'string' ? nameBefore(picture) : undefined;
  const isOfRow = typeof row === 'string' && (id === row || id.startsWith(`${row}-`));
  if (before === undefined || !isOfRow) {
    const stem = stemOf(id, promptOf({}, columns) ?? '');
    return portablePath(`${portableSegment(stem)}.png`);
  }
  return portablePath(`${withoutFormat(before)}${portableSegment(id.slice(row.length))}.png`);
}

/** Returns the name below the folder `images`. Undefined if the picture is in no such folder. */
function nameBefore(path: string): string | undefined {
  const [, file] = /^(?:.*[/\\])?images[/\\](.+)$/s.exec(path) ?? [];
  const name = file?.replaceAll('\\', '/');
  const isInBucket = name !== undefined && path.startsWith('s3://');
  return isInBucket ? (readAttemptFile(name)?.name ?? name) : name;
}

/** Returns the naming scheme of a batch that begins with these rules. */
export function namesWithoutIds(rules: RulesVersion, isStage: boolean): DefaultNames {
  if (!sceneRules[rules].asksWhichIsSent) return 'prompt';
  return isStage ? 'stage' : 'sent';
}

/** Guesses the naming scheme from existing files: `id` if a name is a bare hash, otherwise `words`. */
export function guessNames(files: readonly string[], words: DefaultNames): DefaultNames {
  return files.some((file) => /^[0-9a-f]{12}(?:-[^/]*)?$/.test(withoutFormat(file))) ? 'id' : words;
}

/** Shortens an id made from a hash to words and half of the hash. Its ending stays, to stay distinct. */
function stemOf(id: string, prompt: string): string {
  const [, hash, rest = ''] = /^([0-9a-f]{6})[0-9a-f]{6}([-.].*)?$/s.exec(id) ?? [];
  const words = slugOf(prompt);
  return hash === undefined || words === '' ? id : `${words}-${hash}${rest}`;
}

/** Maximum length of a slug, and of the text that it is made from, in characters. */
const maxSlugLength = 48;
const maxReadLength = 200;

/** Turns `A photo, of a BENCH!` into `a-photo-of-a-bench`, in any script, cut between words if possible. */
function slugOf(text: string): string {
  const words = text
    .slice(0, maxReadLength)
    .normalize('NFC')
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '');
  let slug = '';
  for (const word of words) {
    const longer = slug === '' ? word : `${slug}-${word}`;
    if (longer.length > maxSlugLength) return slug || longer.slice(0, maxSlugLength);
    slug = longer;
  }
  return slug;
}

/** Returns the prompt of a scene: of the input, else the row, else the longest text; undefined if none. */
export function promptOf(input: JsonObject, columns: JsonObject): string | undefined {
  return named(input) ?? named(columns) ?? longest(input) ?? longest(columns);
}

/** Name of a scene for people: its id and, if the list has no ids and the id is a hash, its prompt. */
export interface SceneName {
  scene: string;
  prompt?: string;
}

const maxShownLength = 120;

export function sceneNameOf(scene: { sceneId: string; input: JsonObject; columns: JsonObject }): SceneName {
  const { sceneId, input, columns } = scene;
  if (Object.hasOwn(columns, 'id')) return { scene: sceneId };
  const prompt = oneLine(promptOf(input, columns) ?? '', maxShownLength);
  return { scene: sceneId, ...(prompt !== undefined && { prompt }) };
}

/** Keys of prompts, in order of preference. Case is ignored. */
const names = ['prompt', 'scene', 'text', 'positive_prompt'];

function named(from: JsonObject): string | undefined {
  const texts = textsOf(from);
  return names
    .map((name) => texts.find(([key]) => key.toLowerCase().replace(/^.*\./, '') === name)?.[1])
    .find((text) => text !== undefined);
}

/** Maximum length in characters. Longer texts are files in base64 and not prompts. */
const maxPromptLength = 16_000;

function longest(from: JsonObject): string | undefined {
  const texts = textsOf(from).flatMap(([name, text]) =>
    name === 'id' || text.length > maxPromptLength ? [] : [text],
  );
  return texts.toSorted((a, b) => b.length - a.length)[0];
}

/** Returns the texts by key. For ComfyUI these are the settings of its workflow, such as `6.text`. */
function textsOf(from: JsonObject): [string, string][] {
  const { workflow, set } = from;
  const texts = typeof workflow === 'string' && isJsonObject(set) ? set : from;
  return Object.entries(texts).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
  );
}

/** Returns the name of a batch for people: the last two parts of the output folder, such as `night/out`. */
export function batchName(dir: string): string {
  return dir
    .split(/[/\\]+/)
    .filter(Boolean)
    .slice(-2)
    .join('/');
}
