/** Reads what a job's output contains besides pictures: texts, lists of words, and other values worth keeping. */
import { oneLine } from '../lib/text/format.ts';
import { isJsonObject, type JsonObject, type JsonValue, valueAt } from '../lib/text/json.ts';
import { parseExactly } from './json-value.ts';

interface TextInOutput {
  value: string;
  /** Objects around the text, innermost first. */
  owners: readonly Record<string, unknown>[];
  /** Index in the innermost list. */
  index: number;
  /** Path in the form of `output.image`: `result.images[0].data`. */
  path: string;
}

export interface TextsInOutput {
  /** Pictures by their first bytes. */
  pictures: TextInOutput[];
  /** http(s) URLs that end like a picture. */
  addresses: TextInOutput[];
  /** Clips by their first bytes, and http(s) URLs that end like a clip. */
  clips: (TextInOutput & { kind: 'video' | 'audio' })[];
  /** File names on the worker's disk, and addresses in buckets. */
  stored: TextInOutput[];
  /** True if there is another http(s) URL, or a text long enough to be a result. */
  isDoubtful: boolean;
  /** True if there is any http(s) URL. */
  hasAddress: boolean;
}

const maxDepth = 8;
const maxValues = 100_000;
/** Maximum characters of a text that counts as a message. */
const maxWords = 1_000;

/**
 * Sorts the texts of an output by what they may be. Skips members that repeat the input, and what is beyond the limits
 * above. `isWithinText`: the output itself was JSON within a text, which is parsed only once.
 */
export function textsInOutput(output: unknown, isWithinText: boolean): TextsInOutput {
  const found: TextsInOutput = {
    pictures: [],
    addresses: [],
    clips: [],
    stored: [],
    isDoubtful: false,
    hasAddress: false,
  };
  const whole = { owners: [], index: 0, path: '' };
  for (const text of walk(output, whole, { left: maxValues }, 0, isWithinText)) {
    found.hasAddress ||= isAddress(text.value);
    const { value } = text;
    const content = mediaOfContent(value);
    const kind = content ?? (isAddress(value) ? mediaOfName(value) : undefined);
    if (kind === 'video' || kind === 'audio') found.clips.push({ ...text, kind });
    else if (kind === 'picture') (content === undefined ? found.addresses : found.pictures).push(text);
    else if (isWorkerPath(value) || isBucketAddress(value)) found.stored.push(text);
    else found.isDoubtful ||= value.length > maxWords || /^\s*https?:\/\/\S+\s*$/i.test(value);
  }
  return found;
}

/** Names of members with what was sent, which some workers repeat. */
const echoes =
  /^(?:inputs?|param(?:eter)?s|payload|request)$|^(?:control|init|input|mask|ref|reference|source)_/i;

function* walk(
  value: unknown,
  at: Omit<TextInOutput, 'value'>,
  room: { left: number },
  depth: number,
  isWithinText: boolean,
): Generator<TextInOutput> {
  if (depth > maxDepth || room.left-- <= 0) return;
  if (typeof value === 'string') {
    const inner = isWithinText ? undefined : jsonIn(value);
    if (inner === undefined) yield { value, ...at };
    else yield* walk(inner, at, room, depth + 1, true);
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      if (holdsTexts(item))
        yield* walk(item, { ...at, index, path: `${at.path}[${index}]` }, room, depth + 1, isWithinText);
  } else if (isJsonObject(value)) {
    const owners = [value, ...at.owners];
    for (const [key, item] of Object.entries(value)) {
      const path = at.path === '' ? key : `${at.path}.${key}`;
      if (holdsTexts(item) && !echoes.test(key))
        yield* walk(item, { ...at, owners, path }, room, depth + 1, isWithinText);
    }
  }
}

function holdsTexts(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}

/** Returns the list or object in a text that is JSON; undefined for anything else. */
export function jsonIn(value: unknown): unknown {
  return typeof value === 'string' && /^\s*[[{]/.test(value) ? parseExactly(value, Infinity) : undefined;
}

/** Number of characters that show a format. */
const shownCharacters = 400;
const minBase64 = 60;

/**
 * First bytes in hex. Pictures: PNG, JPEG, WebP, BMP, TIFF, AVIF and HEIF, JPEG XL, PSD. Video: MP4 and MOV, WebM,
 * GIF. Sound: WAV, Ogg, FLAC, MP3 with and without tags, M4A.
 */
const firstBytes = {
  picture:
    /^(?:89504e47|ffd8ff|52494646.{8}57454250|424d.{8}00000000|49492a00|4d4d002a|.{8}66747970(?:6176|6865|6d6966|6d7366)|0000000c4a584c20|38425053)/,
  audio:
    /^(?:52494646.{8}57415645|4f676753|664c6143|494433|fff[ab23][0-9a-e][0-9ab]|ffe[23][0-9a-e][0-9ab]|.{8}667479704d3441)/,
  video:
    /^(?:1a45dfa3|47494638|.{8}(?:66747970(?!6176|6865|6d6966|6d7366)|6d6f6f76|6d646174|77696465|66726565|736b6970))/,
} as const;
const svg = /^\s*(?:<\?xml[^>]*>\s*)?<svg[\s/>]/i;

type Media = keyof typeof firstBytes;

const mediaKinds = Object.keys(firstBytes) as Media[];

/** Returns what base64, a data URI of any type, or the text of an SVG contains. Undefined for any other text. */
function mediaOfContent(text: string): Media | undefined {
  const start = text.slice(0, shownCharacters).trimStart();
  const [prefix = '', type = ''] = /^data:([^;,]*)[^,]*,/i.exec(start) ?? [];
  const [, family = '', subtype = ''] = /^(video|audio|image)\/(.*)/i.exec(type.toLowerCase()) ?? [];
  if (family !== '') return family !== 'image' ? (family as Media) : subtype === 'gif' ? 'video' : 'picture';
  if (svg.test(start)) return 'picture';
  const base64 = start.slice(prefix.length).replaceAll(/\s/g, '');
  if (base64.length < minBase64 || !/^[\w+/-]+=*$/.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (svg.test(bytes.toString('latin1'))) return 'picture';
  return mediaKinds.find((kind) => firstBytes[kind].test(bytes.toString('hex', 0, 16)));
}

const endings = {
  picture: ['png', 'jpg', 'jpeg', 'webp', 'avif', 'bmp', 'tif', 'tiff', 'svg'],
  audio: ['wav', 'mp3', 'flac', 'ogg', 'oga', 'opus', 'm4a'],
  video: ['mp4', 'm4v', 'webm', 'mov', 'ogv', 'gif'],
} as const satisfies Record<Media, string[]>;
const mediaByEnding = new Map(
  mediaKinds.flatMap((kind) => endings[kind].map((ending) => [ending as string, kind])),
);

/** Returns what a URL or a file name without spaces stands for, by its ending. */
function mediaOfName(text: string): Media | undefined {
  const [, ending = ''] =
    (isAddress(text) ? /^\s*https?:\/\/[^\s?#]+\.(\w+)(?:[?#]\S*)?\s*$/i : /^\S+\.(\w+)\s*$/).exec(text) ??
    [];
  return mediaByEnding.get(ending.toLowerCase());
}

/** Returns what a text contains or, if it is a URL or a file name, what its ending says. */
export function mediaIn(text: string): Media | undefined {
  return mediaOfContent(text) ?? mediaOfName(text);
}

export function isAddress(text: string): boolean {
  return /^\s*https?:\/\//i.test(text);
}

function isBucketAddress(text: string): boolean {
  return /^\s*(?:s3|gs|az|abfss?|file|ftp):\/\/\S+\s*$/i.test(text);
}

/** True for a path such as `simulated_uploaded/x.png`. A worker without storage names a file on its own disk. */
export function isWorkerPath(text: string): boolean {
  return text.length < 1000 && !isAddress(text) && mediaOfName(text) !== undefined;
}

/** Maximum bytes that are kept, as JSON in UTF-8. */
const maxKeptBytes = 2_000;
const maxRestDepth = 6;
/** Maximum keys of an object, and items of a list. */
const maxKeys = 200;

export interface OutputRest {
  /** Kept values. If an object was too long, a requested value within it is kept under its keys, joined by dots. */
  rest: JsonObject;
  /** True if there was more. */
  isCut?: true;
}

/**
 * Returns the members of the objects around a picture; the innermost object that has a key counts. A list
 * with as many items as pictures (`count`) yields the item of this picture. Values at the paths `wanted`
 * (keys, outermost first) come first. Leaves out base64, URLs and what `readWordLists` reads. Undefined if
 * nothing remains.
 */
export function restOfOutput(
  owners: readonly Record<string, unknown>[],
  { index, count }: { index: number; count: number },
  wanted: readonly (readonly string[])[],
): OutputRest | undefined {
  const all = Object.entries(Object.assign({}, ...owners.toReversed()) as Record<string, unknown>)
    .filter(([key, value]) => !isAround(value, owners) && !isWordList(key, value))
    .map(([key, value]): [string, unknown] => [key, itemOf(value, index, count)]);
  const rest = new Map<string, JsonValue>();
  let left = maxKeptBytes;
  let isCut = all.length > maxKeys;
  const keep = (key: string, found: unknown): void => {
    const value = rest.has(key) ? undefined : small(found, 0);
    if (value === undefined) return;
    const bytes = Buffer.byteLength(JSON.stringify({ [key]: value }));
    if (bytes > left) isCut = true;
    else {
      rest.set(key, value);
      left -= bytes;
    }
  };
  const within = Object.fromEntries(all);
  for (const path of wanted) keep(path.join('.'), valueAt(within, path));
  for (const [key, value] of all.slice(0, maxKeys)) keep(key, value);
  for (const [key = '', ...more] of wanted)
    if (more.length > 0 && rest.has(key)) rest.delete([key, ...more].join('.'));
  if (rest.size === 0 && !isCut) return undefined;
  return { rest: Object.fromEntries(rest), ...(isCut && { isCut }) };
}

function itemOf(value: unknown, index: number, count: number): unknown {
  return count > 1 && Array.isArray(value) && value.length === count ? value[index] : value;
}

/** True if the value contains one of the objects around the picture: that object itself, or the list that it is in. */
function isAround(value: unknown, owners: readonly unknown[]): boolean {
  return owners.includes(value) || (Array.isArray(value) && value.some((item) => owners.includes(item)));
}

/** Returns the value without base64, URLs and deep levels; undefined if nothing remains. */
function small(value: unknown, depth: number): JsonValue | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'string') return isAddressText(value) || isBase64(value) ? undefined : value;
  if (depth === maxRestDepth) return undefined;
  if (Array.isArray(value)) {
    const items = value.slice(0, maxKeys).flatMap((item) => small(item, depth + 1) ?? []);
    return items.length === 0 ? undefined : items;
  }
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value)
    .slice(0, maxKeys)
    .map(([key, inner]) => [key, small(inner, depth + 1)] as const)
    .filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function isAddressText(text: string): boolean {
  return /^\s*(?:https?:\/\/|data:)/i.test(text);
}

/** True for a long text that begins like base64. Hashes are shorter. */
function isBase64(text: string): boolean {
  return text.length > 200 && /^\s*[\w+/-]{60}/.test(text);
}

const wordLists = ['labelled_words', 'ignored_words', 'notes'] as const;

export type WordLists = Partial<Record<(typeof wordLists)[number], string[]>>;

const maxListBytes = 2_000;
const maxItems = 1_000;
/** Maximum characters of a text. */
const maxTextLength = 200;

/** Returns each list from the first of `owners` that has it, without other items than texts; undefined if none. */
export function readWordLists(owners: readonly Record<string, unknown>[]): WordLists | undefined {
  const lists: WordLists = {};
  let left = maxListBytes;
  for (const name of wordLists) {
    const found: unknown = owners.map((owner) => owner[name]).find((value) => Array.isArray(value));
    if (!Array.isArray(found)) continue;
    const kept: string[] = (lists[name] = []);
    left -= Buffer.byteLength(JSON.stringify({ [name]: kept }));
    for (const item of found.slice(0, maxItems) as unknown[]) {
      const text = typeof item === 'string' ? oneLine(item, maxTextLength) : undefined;
      if (text === undefined) continue;
      left -= Buffer.byteLength(JSON.stringify(text)) + 1;
      if (left < 0) break;
      kept.push(text);
    }
  }
  return Object.keys(lists).length === 0 ? undefined : lists;
}

/** True if the member is one of these lists. */
function isWordList(key: string, value: unknown): boolean {
  return Array.isArray(value) && wordLists.some((name) => name === key);
}
