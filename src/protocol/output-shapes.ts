/** Finds the pictures or clips in a completed job's output, whichever worker made it. */
import { oneLine } from '../lib/text/format.ts';
import { isJsonObject } from '../lib/text/json.ts';
import { describeValue, isNothing, exactInteger, parseExactly } from './json-value.ts';
import {
  isAddress,
  isWorkerPath,
  jsonIn,
  mediaIn,
  type OutputRest,
  readWordLists,
  restOfOutput,
  type TextsInOutput,
  textsInOutput,
  type WordLists,
} from './texts-in-output.ts';
import { declaredFailure, failureOfOutput } from './error-text.ts';

export type FoundOutput =
  /** `pictures`: clips, if clips were looked for. `at`: path of the only one in an output of unknown shape. */
  | { kind: 'pictures'; pictures: PictureInOutput[]; at?: string }
  /** The job completed without an output. */
  | { kind: 'none' }
  /** The worker says why there is no picture. `message` is one short line in its words. */
  | { kind: 'failure'; message: string }
  /**
   * No picture was recognized. `advice`: what to do, if setting the path does not help. `isOtherMedia`: the output
   * has a clip in place of the picture, or a picture in place of the clip.
   */
  | { kind: 'unknown'; found: string; advice?: string; isOtherMedia?: true };

/** Base64 as received, or a URL. The seed has the worker's own digits. */
type PictureInOutput = ({ base64: string } | { url: string }) & {
  seed?: string;
  output?: WordLists & Partial<OutputRest>;
};

/** A place of results. `a|b`: first of these keys. `amongTexts`: may be a sentence, or a result of another kind. */
interface Shape {
  worker: string;
  at: string;
  amongTexts?: true;
}

/** Places of pictures; the first match counts. */
const pictureShapes: readonly Shape[] = [
  { worker: "the interface's", at: '[*].rendered_image' },
  { worker: 'Fooocus', at: '[*].base64|url' },
  { worker: 'Stable Diffusion v1', at: '[*].image|image_url' },
  { worker: 'SDXL turbo', at: 'images[*].image' },
  { worker: 'ComfyUI, 5 and later', at: 'images[*].data' },
  { worker: 'similar services', at: 'images[*].rendered_image|base64|url' },
  { worker: 'SDXL, A1111', at: 'images[*]' },
  { worker: 'any, into a bucket', at: 'images_urls|image_urls|urls[*]', amongTexts: true },
  { worker: 'ComfyUI, before 5', at: 'message', amongTexts: true },
  { worker: 'Flux, public endpoint', at: 'image_url' },
  { worker: 'Flux, public endpoint', at: 'result', amongTexts: true },
  { worker: 'any, without the list', at: 'rendered_image|image|base64|url' },
  { worker: 'bare texts', at: '[*]', amongTexts: true },
  { worker: 'one bare text', at: '', amongTexts: true },
];

/** Places of clips of one kind; the first match counts. */
function clipShapes(media: 'video' | 'audio'): readonly Shape[] {
  const names = media === 'video' ? ['video', 'gif'] : ['audio', 'sound'];
  const inner = 'url|data|base64';
  const named = names.flatMap((name): Shape[] => [
    { worker: 'public endpoints', at: `${name}_url` },
    { worker: 'public endpoints, several', at: `${name}_urls[*]` },
    { worker: 'fal', at: `${name}.${inner}` },
    { worker: 'fal, of speech and music', at: `${name}_file.${inner}` },
    { worker: 'any', at: `${name}|${name}_file|${name}_base64` },
    { worker: 'fal, several', at: `${name}s[*].${name}|${name}_url|${inner}` },
    { worker: 'any, several', at: `${name}s[*]` },
    { worker: 'any, in a list', at: `[*].${name}|${name}_url` },
    { worker: 'ComfyUI, 5 and later', at: `${name}[*].${inner}` },
    { worker: 'any, in a list of its own', at: `${name}[*]` },
  ]);
  const others = [
    `images[*].image|${inner}`,
    'images[*]',
    'urls[*]',
    'message',
    'result',
    `[*].${inner}`,
    inner,
    '[*]',
    '',
  ];
  return [...named, ...others.map((at): Shape => ({ worker: 'any', at, amongTexts: true }))];
}

/** Rules by which results of one kind are found in an output. */
interface Search {
  what: 'picture' | 'clip';
  /** Key of pipeline.yaml with its path. */
  key: 'output.image' | 'output.media';
  shapes: readonly Shape[];
  /** True if a text at a place of these shapes may be a result of this kind. `isAmongTexts`: the shape's `amongTexts`. */
  fits(text: string, isAmongTexts: boolean): boolean;
  /** Returns the texts of this kind in an output of unknown shape. */
  among(texts: TextsInOutput): TextsInOutput['pictures'];
}

const forPictures: Search = {
  what: 'picture',
  key: 'output.image',
  shapes: pictureShapes,
  fits: (text, isAmongTexts) => isNoClip(text) && (!isAmongTexts || readsLikeResult(text)),
  among: ({ pictures, addresses }) => (pictures.length > 0 ? pictures : addresses),
};

function forClips(media: 'video' | 'audio'): Search {
  return {
    what: 'clip',
    key: 'output.media',
    shapes: clipShapes(media),
    fits: (text, isAmongTexts) => mediaIn(text) !== 'picture' && (!isAmongTexts || readsLikeResult(text)),
    among: ({ clips }) => {
      const ofKind = clips.filter(({ kind }) => kind === media);
      const all = ofKind.length > 0 ? ofKind : clips;
      const contents = all.filter(({ value }) => !isAddress(value));
      return contents.length > 0 ? contents : all;
    },
  };
}

function isNoClip(text: string): boolean {
  const kind = mediaIn(text);
  return kind === undefined || kind === 'picture';
}

/**
 * Finds the pictures in an output, or the clips if `media` is given. `output`: parsed from JSON, with integers beyond
 * 2^53 as text. `path`, such as `images[0].data` or `images[*].data`, is their place. Without it, the known shapes are tried,
 * then the only text that is a picture by its first bytes, or the only URL that ends like one. With `values`,
 * paths of values to keep, the rest of the output is kept. A message counts as a failure only if nothing else
 * in the output may be a result that was paid for. A clip is never taken for a picture.
 */
export function findPictures(
  output: unknown,
  path?: string,
  { values, media }: { values?: readonly string[][] | undefined; media?: 'video' | 'audio' | undefined } = {},
): FoundOutput {
  const search = media === undefined ? forPictures : forClips(media);
  const inner = jsonIn(output);
  const whole = inner ?? output;
  if (isNothing(whole)) return { kind: 'none' };
  const failure = declaredFailure(whole);
  if (failure !== undefined) return { kind: 'failure', message: failure };
  const named =
    path === undefined
      ? placesByShape(whole, search)
      : placesAt(whole, path)
          .flatMap(itemsOf)
          .filter(isText)
          .filter(({ value }) => search.fits(value, false));
  const isPath = named.some(({ value }) => isWorkerPath(value));
  const isSure = path !== undefined || named.some(({ value }) => readsLikeResult(value));
  if (named.length > 0 && isSure && !isPath)
    return { kind: 'pictures', pictures: readPictures(named, values) };
  const texts = textsInOutput(whole, inner !== undefined);
  const only = path === undefined && !isPath ? soleOf(search.among(texts)) : undefined;
  if (only !== undefined) return { kind: 'pictures', pictures: readPictures([only], values), at: only.path };
  if (named.length > 0 && !isPath) return { kind: 'pictures', pictures: readPictures(named, values) };
  const other = otherMedia(whole, texts, search);
  const message =
    other !== undefined || hasResult(texts) ? undefined : failureOfOutput(whole, !texts.isDoubtful);
  if (message !== undefined) return { kind: 'failure', message };
  if (other !== undefined) return { kind: 'unknown', ...other, isOtherMedia: true };
  return { kind: 'unknown', ...whatIsThere(whole, texts, search, path) };
}

function soleOf<Item>(items: readonly Item[]): Item | undefined {
  return items.length === 1 ? items[0] : undefined;
}

function hasResult({ pictures, addresses, clips, stored }: TextsInOutput): boolean {
  return pictures.length + addresses.length + clips.length + stored.length > 0;
}

/** Returns the setting for an output that has only clips if pictures are looked for, or only pictures if clips are. */
function otherMedia(
  output: unknown,
  texts: TextsInOutput,
  { what, among }: Search,
): { found: string; advice: string } | undefined {
  if (among(texts).length > 0) return undefined;
  if (what === 'clip') {
    const [picture] = forPictures.among(texts);
    return picture && { found: `a picture at ${shownPath(picture.path)}`, advice: 'leave output.media out' };
  }
  const [clip] = texts.clips;
  // A URL may have no ending. Then the name of its member says what it is.
  const kind = clip?.kind ?? (['video', 'audio'] as const).find((media) => hasClipMember(output, media));
  if (kind === undefined) return undefined;
  const found = clip === undefined ? describeValue(output) : `a clip at ${shownPath(clip.path)}`;
  return { found, advice: `set \`output.media: ${kind}\` if that is the result` };
}

function hasClipMember(output: unknown, media: 'video' | 'audio'): boolean {
  return clipShapes(media).some(
    ({ at, amongTexts }) =>
      amongTexts !== true &&
      placesAt(output, at).some((place) => isText(place) && readsLikeResult(place.value)),
  );
}

function shownPath(path: string): string {
  return path === '' ? 'its root' : (oneLine(path, 80) ?? '');
}

function whatIsThere(
  output: unknown,
  texts: TextsInOutput,
  { what, key, among }: Search,
  path: string | undefined,
): { found: string; advice?: string } {
  const [kept] = texts.stored;
  if (kept !== undefined)
    return {
      found: `"${oneLine(kept.value, 120) ?? ''}", which only the worker can read`,
      advice: `let the worker return the ${what} itself, or its https address`,
    };
  if (path !== undefined)
    return { found: `nothing at "${oneLine(path, 80) ?? ''}" in ${describeValue(output)}` };
  const many = among(texts);
  if (many.length === 0) return { found: describeValue(output) };
  const shown = many.slice(0, 3).map((text) => text.path);
  const more = many.length > shown.length ? ', …' : '';
  const found = `${many.length.toLocaleString('en')} ${what}s, at ${oneLine(shown.join(', '), 200) ?? ''}${more}`;
  return { found, advice: `choose the one to save with ${key}` };
}

/** Maximum parts to search. A million objects would block the event loop for a quarter of a minute. */
const maxParts = 10_000;

function placesByShape(output: unknown, search: Search): Place<string>[] {
  for (const { at, amongTexts = false } of search.shapes) {
    const found = placesAt(output, at)
      .filter(isText)
      .filter(({ value }) => search.fits(value, amongTexts));
    if (found.length > 0) return found;
  }
  // The result of a worker that yields it in parts is the list of these parts.
  const parts = Array.isArray(output) ? output.filter(isJsonObject).slice(-maxParts) : [];
  return parts.flatMap((part) => placesByShape(part, search));
}

function readsLikeResult(text: string): boolean {
  const start = text.slice(0, 600).trim();
  return (
    isAddress(start) || /^data:/i.test(start) || /^[A-Za-z0-9+/_-]{60}/.test(start) || isWorkerPath(text)
  );
}

function readPictures(places: Place<string>[], values: readonly string[][] | undefined): PictureInOutput[] {
  return places.map((place) => readPicture(place, places.length, values));
}

function readPicture(
  place: Place<string>,
  count: number,
  values: readonly string[][] | undefined,
): PictureInOutput {
  const { value, owners, index } = place;
  const picture = isAddress(value) ? { url: value.trim() } : { base64: value };
  const seed = seedOf(place);
  const rest = values && restOfOutput(owners, { index, count }, values);
  const output = { ...readWordLists(owners), ...rest };
  return {
    ...picture,
    ...(seed !== undefined && { seed }),
    ...(Object.keys(output).length > 0 && { output }),
  };
}

/** Returns the seed in the worker's own digits; undefined if there is no exact one. */
function seedOf({ owners, index }: Place): string | undefined {
  for (const { seed, seeds, info } of owners) {
    const found =
      exactInteger(itemOf(seed, index)) ?? exactInteger(itemOf(seeds, index)) ?? seedInInfo(info, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

function itemOf(value: unknown, index: number): unknown {
  return Array.isArray(value) ? value[index] : value;
}

/** Returns the seed in A1111's JSON within the JSON. A contact sheet at the beginning has no seed. */
function seedInInfo(info: unknown, index: number): string | undefined {
  const facts = typeof info === 'string' ? parseExactly(info) : info;
  if (!isJsonObject(facts)) return undefined;
  const { all_seeds: all, seed, index_of_first_image: first } = facts;
  if (!Array.isArray(all)) return exactInteger(seed);
  return exactInteger(all[index - Number(exactInteger(first) ?? 0)]);
}

/** A value in an output, the objects around it, innermost first, and its index in the innermost list. */
interface Place<Value = unknown> {
  value: Value;
  owners: readonly Record<string, unknown>[];
  index: number;
}

const pathStep = /\[(\d+|\*)\]|\.?([^.[\]]+)/y;

/** Returns the values at a path such as `images[*].url`, or the value itself for an empty path. */
export function valuesAt(value: unknown, path: string): unknown[] {
  return placesAt(value, path).map((place) => place.value);
}

/** Returns the first value at a path. A member whose name is the whole path counts even if it is empty. */
export function firstValueAt(value: unknown, path: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, path) ? value[path] : valuesAt(value, path)[0];
}

/** Returns the places at a path, none if it is invalid. `a|b` is the first of these keys with a value. */
function placesAt(output: unknown, path: string): Place[] {
  let places: Place[] = [{ value: output, owners: [], index: 0 }];
  pathStep.lastIndex = 0;
  while (pathStep.lastIndex < path.length) {
    const step = pathStep.exec(path);
    if (step === null) return [];
    const [, item, keys = ''] = step;
    places = places.flatMap((place) =>
      item === undefined ? byKey(place, keys.split('|')) : byItem(place, item),
    );
  }
  return places;
}

function byKey({ value: given, owners, index }: Place, keys: string[]): Place[] {
  const value = jsonIn(given) ?? given;
  if (!isJsonObject(value)) return [];
  const key = keys.find((name) => Object.hasOwn(value, name) && !isNothing(value[name]));
  return key === undefined ? [] : [{ value: value[key], owners: [value, ...owners], index }];
}

function byItem(place: Place, item: string): Place[] {
  const value = jsonIn(place.value) ?? place.value;
  if (!Array.isArray(value)) return [];
  const items = itemsOf({ ...place, value });
  return item === '*' ? items : items.slice(Number(item), Number(item) + 1);
}

/** Returns the items of a list, or the place itself if it is no list. */
function itemsOf(place: Place): Place[] {
  if (!Array.isArray(place.value)) return [place];
  return place.value.map((value: unknown, index) => ({ value, owners: place.owners, index }));
}

function isText(place: Place): place is Place<string> {
  return typeof place.value === 'string' && !isNothing(place.value);
}
