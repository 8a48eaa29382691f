/** Finds the pictures in a completed job's output, whichever worker made it, and distinguishes failures from pictures. */
import { oneLine } from '../lib/text/format.ts';
import { isJsonObject } from '../lib/text/json.ts';
import { describeValue, isNothing, exactInteger, parseExactly } from './json-value.ts';
import {
  isAddress,
  isWorkerPath,
  jsonIn,
  type OutputRest,
  readWordLists,
  restOfOutput,
  type TextsInOutput,
  textsInOutput,
  type WordLists,
} from './texts-in-output.ts';
import { errorText } from './error-text.ts';

export type FoundOutput =
  /** `at`: path of the only picture in an output of unknown shape. */
  | { kind: 'pictures'; pictures: PictureInOutput[]; at?: string }
  /** The job completed without an output. */
  | { kind: 'none' }
  /** The worker says why there is no picture. `message` is one short line in its words. */
  | { kind: 'failure'; message: string }
  /** No picture was recognized. `advice`: what to do, if setting the path does not help. */
  | { kind: 'unknown'; found: string; advice?: string };

/** Base64 as received, or a URL. The seed has the worker's own digits. */
type PictureInOutput = ({ base64: string } | { url: string }) & {
  seed?: string;
  output?: WordLists & Partial<OutputRest>;
};

/** Places of pictures; the first match counts. `a|b`: first of these keys. `amongTexts`: may be a sentence. */
const shapes: readonly { worker: string; at: string; amongTexts?: true }[] = [
  { worker: "the interface's", at: '[*].rendered_image' },
  { worker: 'Fooocus', at: '[*].base64|url' },
  { worker: 'Stable Diffusion v1', at: '[*].image|image_url' },
  { worker: 'SDXL turbo', at: 'images[*].image' },
  { worker: 'ComfyUI, 5 and later', at: 'images[*].data' },
  { worker: 'kin of these', at: 'images[*].rendered_image|base64|url' },
  { worker: 'SDXL, A1111', at: 'images[*]' },
  { worker: 'any, into a bucket', at: 'images_urls|image_urls|urls[*]', amongTexts: true },
  { worker: 'ComfyUI, before 5', at: 'message', amongTexts: true },
  { worker: 'Flux, public endpoint', at: 'image_url' },
  { worker: 'Flux, public endpoint', at: 'result', amongTexts: true },
  { worker: 'any, without the list', at: 'rendered_image|image|base64|url' },
  { worker: 'bare texts', at: '[*]', amongTexts: true },
  { worker: 'one bare text', at: '', amongTexts: true },
];

/**
 * Finds the pictures in an `output` parsed from JSON, with integers beyond 2^53 as text. `imagePath`, such as
 * `images[0].data` or `images[*].data`, is the place of the pictures. Without it, the known shapes are tried,
 * then the only text that is a picture by its first bytes, or the only URL that ends like one. With `values`,
 * paths of values to keep, the rest of the output is kept. A message counts as a failure only if nothing else
 * in the output may be a result that was paid for.
 */
export function findPictures(output: unknown, imagePath?: string, values?: readonly string[][]): FoundOutput {
  const inner = jsonIn(output);
  const whole = inner ?? output;
  if (isNothing(whole)) return { kind: 'none' };
  const failure = declaredFailure(whole);
  if (failure !== undefined) return { kind: 'failure', message: failure };
  const places = imagePath === undefined ? placesByShape(whole) : placesAt(whole, imagePath).flatMap(itemsOf);
  const named = places.filter(isText);
  const isPath = named.some(({ value }) => isWorkerPath(value));
  const isSure = imagePath !== undefined || named.some(({ value }) => readsLikePicture(value));
  if (named.length > 0 && isSure && !isPath)
    return { kind: 'pictures', pictures: readPictures(named, values) };
  const texts = textsInOutput(whole, inner !== undefined);
  const only = imagePath === undefined && !isPath ? onlyPicture(texts) : undefined;
  if (only !== undefined) return { kind: 'pictures', pictures: readPictures([only], values), at: only.path };
  if (named.length > 0 && !isPath) return { kind: 'pictures', pictures: readPictures(named, values) };
  const message = hasResult(texts)
    ? undefined
    : (complaintOf(whole) ?? (texts.isDoubtful ? undefined : messageOf(whole)));
  if (message !== undefined) return { kind: 'failure', message };
  return { kind: 'unknown', ...whatIsThere(whole, texts, imagePath) };
}

function onlyPicture({ pictures, addresses }: TextsInOutput): (Place<string> & { path: string }) | undefined {
  return pictures.length > 0 ? soleOf(pictures) : soleOf(addresses);
}

function soleOf<Item>(items: readonly Item[]): Item | undefined {
  return items.length === 1 ? items[0] : undefined;
}

function hasResult({ pictures, addresses, stored }: TextsInOutput): boolean {
  return pictures.length + addresses.length + stored.length > 0;
}

function whatIsThere(
  output: unknown,
  { pictures, addresses, stored }: TextsInOutput,
  imagePath: string | undefined,
): { found: string; advice?: string } {
  const [kept] = stored;
  if (kept !== undefined)
    return {
      found: `"${oneLine(kept.value, 120) ?? ''}", which only the worker can read`,
      advice: 'let the worker return the picture itself, or its https address',
    };
  if (imagePath !== undefined)
    return { found: `nothing at "${oneLine(imagePath, 80) ?? ''}" in ${describeValue(output)}` };
  const many = pictures.length > 0 ? pictures : addresses;
  if (many.length === 0) return { found: describeValue(output) };
  const shown = many.slice(0, 3).map(({ path }) => path);
  const more = many.length > shown.length ? ', …' : '';
  const found = `${many.length.toLocaleString('en')} pictures, at ${oneLine(shown.join(', '), 200) ?? ''}${more}`;
  return { found, advice: 'choose the one to save with output.image' };
}

/** Maximum parts to search. A million objects would block the event loop for a quarter of a minute. */
const maxParts = 10_000;

function placesByShape(output: unknown): Place[] {
  for (const { at, amongTexts } of shapes) {
    const places = placesAt(output, at).filter(isText);
    const found = amongTexts ? places.filter(({ value }) => readsLikePicture(value)) : places;
    if (found.length > 0) return found;
  }
  // The result of a worker that yields it in parts is the list of these parts.
  return Array.isArray(output) ? output.filter(isJsonObject).slice(-maxParts).flatMap(placesByShape) : [];
}

function readsLikePicture(text: string): boolean {
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

const failureWords =
  /^(?:error|errored|fail|failed|failure|success_no_images|cancell?ed|timeout|timed_?out)$/i;

/** Returns the message of an output whose own status is a failure, with or without a picture. */
function declaredFailure(output: unknown): string | undefined {
  const sole = soleItem(output);
  if (!isJsonObject(sole) || typeof sole['status'] !== 'string' || !failureWords.test(sole['status']))
    return undefined;
  return errorText(sole) ?? `the worker says only "${sole['status']}"`;
}

const maxWordDepth = 6;

const maxListedWords = 20;

const soundsBad =
  /error|exception|traceback|fail|out of memory|unable|cannot|could not|invalid|not found|refused/i;

/** Returns the message of an output without a picture, if it is a complaint. */
function complaintOf(output: unknown, depth = 0): string | undefined {
  if (depth > maxWordDepth) return undefined;
  if (typeof output === 'string') return complaintOfText(output, depth);
  if (Array.isArray(output))
    return errorText(output.slice(0, maxListedWords).map((part: unknown) => complaintOf(part, depth + 1)));
  return isJsonObject(output) ? complaintOfObject(output) : undefined;
}

function complaintOfText(text: string, depth: number): string | undefined {
  const inner = /^\s*[[{]/.test(text) ? parseExactly(text) : undefined;
  if (inner !== undefined) return complaintOf(inner, depth + 1);
  return soundsBad.test(text.slice(0, 2000)) ? errorText(text) : undefined;
}

/** Keys for a worker's messages. Its other texts may be the user's own words. */
const messageKeys = ['message', 'msg', 'detail', 'details', 'reason'];

function complaintOfObject(output: Record<string, unknown>): string | undefined {
  const message = errorText(output);
  if (hasError(output)) return message ?? describeValue(output);
  if (messageKeys.some((key) => soundsBad.test(errorText(output[key]) ?? ''))) return message;
  const { images } = output;
  if (!Array.isArray(images) || images.length > 0) return undefined;
  return messageOf(output) ?? 'the worker made no picture: its list of images is empty';
}

/** Words that alone do not indicate a failure. */
const successWords = /^(?:complete|completed|done|finished|ok|okay|ready|succeeded|success|successful)$/i;

/** Returns the message of an output without any possible result: its texts, or those of its members. */
function messageOf(output: unknown, depth = 0): string | undefined {
  if (depth > maxWordDepth) return undefined;
  const sole = soleItem(output);
  if (typeof sole === 'string') return errorText(sole);
  if (Array.isArray(sole))
    return errorText(sole.slice(0, maxListedWords).map((item: unknown) => messageOf(item, depth + 1)));
  if (!isJsonObject(sole)) return undefined;
  if (messageKeys.some((key) => errorText(sole[key]) !== undefined)) return errorText(sole);
  const flag = Object.entries(sole).find(
    ([key, value]) => flagNames.test(key) && [value].flat().includes(true),
  );
  if (flag !== undefined) return `${flag[0]}: true`;
  const { status } = sole;
  const isAlone = Object.values(sole).filter((value) => !isNothing(value)).length === 1;
  if (!isAlone || typeof status !== 'string' || successWords.test(status.trim())) return undefined;
  return errorText(status);
}

/** Names of members by which some workers report refused content: `has_nsfw_concepts: [true]`. */
const flagNames = /nsfw|moderated/i;

/** Returns the only item of a list; any other value unchanged. */
function soleItem(output: unknown): unknown {
  return Array.isArray(output) && output.length === 1 ? (output[0] as unknown) : output;
}

function hasError(output: Record<string, unknown>): boolean {
  if (Number(exactInteger(output['code']) ?? 0) >= 400) return true;
  return Object.keys(output).some((key) => /error|traceback/i.test(key) && !isNothing(output[key]));
}
