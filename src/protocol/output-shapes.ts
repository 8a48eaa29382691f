/** Finds the pictures in a completed job's output, whichever worker made it, and distinguishes failures from pictures. */
import { oneLine } from '../lib/text/format.ts';
import { isJsonObject } from '../lib/text/json.ts';
import { describeValue, isNothing, exactInteger, parseExactly } from './json-value.ts';
import { errorText } from './error-text.ts';
import { restOfOutput, type OutputRest } from './rest-of-output.ts';
import { readWordLists, type WordLists } from './word-lists.ts';

export type FoundOutput =
  | { kind: 'pictures'; pictures: PictureInOutput[] }
  /** The job completed and handed nothing in. */
  | { kind: 'none' }
  /** The worker reports a failure instead of a picture; `message` is one short line in its words. */
  | { kind: 'failure'; message: string }
  /** No picture was recognised; `found` says in a few words what is there. */
  | { kind: 'unknown'; found: string };

/** Base64 as it came, or an address; the seed in the worker's own digits. */
type PictureInOutput = ({ base64: string } | { url: string }) & {
  seed?: string;
  output?: WordLists & Partial<OutputRest>;
};

/**
 * Where workers put their pictures; the first row that fits is taken.
 * `a|b` is the first of these keys that holds something; `amongTexts` marks places that may hold a sentence as well.
 */
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
 * `output` as parsed from JSON, integers beyond 2^53 as text. `imagePath`, such as `images[0].data` or
 * `images[*].data`, says where the pictures stand. With `values`, paths of what is wanted of the rest, the rest is kept.
 */
export function findPictures(output: unknown, imagePath?: string, values?: readonly string[][]): FoundOutput {
  if (isNothing(output)) return { kind: 'none' };
  const failure = declaredFailure(output);
  if (failure !== undefined) return { kind: 'failure', message: failure };
  const places =
    imagePath === undefined ? placesByShape(output) : placesAt(output, imagePath).flatMap(itemsOf);
  const texts = places.filter(isText);
  if (texts.length > 0) return readPictures(texts, values);
  const complaint = complaintOf(output);
  if (complaint !== undefined) return { kind: 'failure', message: complaint };
  const where = imagePath === undefined ? '' : `nothing at "${oneLine(imagePath, 80) ?? ''}" in `;
  return { kind: 'unknown', found: where + describeValue(output) };
}

/** Looking through a million objects takes a quarter of a minute, in which nothing else is done. */
const maxParts = 10_000;

function placesByShape(output: unknown): Place[] {
  for (const { at, amongTexts } of shapes) {
    const places = placesAt(output, at).filter(isText);
    const found = amongTexts ? places.filter(({ value }) => readsLikePicture(value)) : places;
    if (found.length > 0) return found;
  }
  // A worker that yields its result in parts is handed in as the list of these.
  return Array.isArray(output) ? output.filter(isJsonObject).slice(-maxParts).flatMap(placesByShape) : [];
}

function readsLikePicture(text: string): boolean {
  const start = text.slice(0, 600).trim();
  return (
    isAddress(start) || /^data:/i.test(start) || /^[A-Za-z0-9+/_-]{60}/.test(start) || isWorkerPath(text)
  );
}

function isAddress(text: string): boolean {
  return /^\s*https?:\/\//i.test(text);
}

/** A worker without storage names a file on its own disk, such as `simulated_uploaded/x.png`. */
function isWorkerPath(text: string): boolean {
  return text.length < 1000 && !isAddress(text) && /^\S+\.(?:png|jpe?g|webp|gif|bmp)\s*$/i.test(text);
}

function readPictures(places: Place<string>[], values: readonly string[][] | undefined): FoundOutput {
  const path = places.find(({ value }) => isWorkerPath(value));
  if (path === undefined) {
    const count = places.length;
    return { kind: 'pictures', pictures: places.map((place) => readPicture(place, count, values)) };
  }
  const name = oneLine(path.value, 120) ?? '';
  return {
    kind: 'failure',
    message: `the worker names a file of its own, "${name}", instead of handing a picture in`,
  };
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

/** In the worker's own digits; undefined where there is none, or not an exact one. */
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

/** A1111 tells its seeds in JSON within the JSON; a contact sheet that comes first has none of its own. */
function seedInInfo(info: unknown, index: number): string | undefined {
  const facts = typeof info === 'string' ? parseExactly(info) : info;
  if (!isJsonObject(facts)) return undefined;
  const { all_seeds: all, seed, index_of_first_image: first } = facts;
  if (!Array.isArray(all)) return exactInteger(seed);
  return exactInteger(all[index - Number(exactInteger(first) ?? 0)]);
}

/** A value in an output, the objects around it, innermost first, and its number in the innermost list. */
interface Place<Value = unknown> {
  value: Value;
  owners: readonly Record<string, unknown>[];
  index: number;
}

const pathStep = /\[(\d+|\*)\]|\.?([^.[\]]+)/y;

/** What is at a path such as `images[*].url`, `a|b` being the first of these keys that holds something; the value itself at an empty one. */
export function valuesAt(value: unknown, path: string): unknown[] {
  return placesAt(value, path).map((place) => place.value);
}

/** `a|b` is the first of these keys that holds something; none for a path that leads nowhere or is none. */
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

function byKey({ value, owners, index }: Place, keys: string[]): Place[] {
  if (!isJsonObject(value)) return [];
  const key = keys.find((name) => Object.hasOwn(value, name) && !isNothing(value[name]));
  return key === undefined ? [] : [{ value: value[key], owners: [value, ...owners], index }];
}

function byItem(place: Place, item: string): Place[] {
  if (!Array.isArray(place.value)) return [];
  const items = itemsOf(place);
  return item === '*' ? items : items.slice(Number(item), Number(item) + 1);
}

/** The items of a list, or the place itself where it is none. */
function itemsOf(place: Place): Place[] {
  if (!Array.isArray(place.value)) return [place];
  return place.value.map((value: unknown, index) => ({ value, owners: place.owners, index }));
}

function isText(place: Place): place is Place<string> {
  return typeof place.value === 'string' && !isNothing(place.value);
}

/** Detects where a completed job's output is the report of a failure, and returns its text. */
const failureWords =
  /^(?:error|errored|fail|failed|failure|success_no_images|cancell?ed|timeout|timed_?out)$/i;

/** What an output says whose own status is a failure, picture or no picture. */
function declaredFailure(output: unknown): string | undefined {
  const sole: unknown = Array.isArray(output) && output.length === 1 ? output[0] : output;
  if (!isJsonObject(sole) || typeof sole['status'] !== 'string' || !failureWords.test(sole['status']))
    return undefined;
  return errorText(sole) ?? `the worker says "${sole['status']}" and nothing more`;
}

const deepest = 6;
const maxListItems = 20;
const soundsBad =
  /error|exception|traceback|fail|out of memory|unable|cannot|could not|invalid|not found|refused/i;

/** What an output says that holds no picture, where that is a complaint. */
function complaintOf(output: unknown, depth = 0): string | undefined {
  if (depth > deepest) return undefined;
  if (typeof output === 'string') return complaintOfText(output, depth);
  if (Array.isArray(output))
    return errorText(output.slice(0, maxListItems).map((part: unknown) => complaintOf(part, depth + 1)));
  return isJsonObject(output) ? complaintOfObject(output) : undefined;
}

function complaintOfText(text: string, depth: number): string | undefined {
  const inner = /^\s*[[{]/.test(text) ? parseExactly(text) : undefined;
  if (inner !== undefined) return complaintOf(inner, depth + 1);
  return soundsBad.test(text.slice(0, 2000)) ? errorText(text) : undefined;
}

/** Where a worker speaks; its other texts may be the user's own words. */
const messageKeys = ['message', 'msg', 'detail', 'details', 'reason'];

function complaintOfObject(output: Record<string, unknown>): string | undefined {
  const message = errorText(output);
  if (hasError(output)) return message ?? describeValue(output);
  if (messageKeys.some((key) => soundsBad.test(errorText(output[key]) ?? ''))) return message;
  const { images } = output;
  if (!Array.isArray(images) || images.length > 0) return undefined;
  return message ?? 'the worker made no picture: its list of images is empty';
}

function hasError(output: Record<string, unknown>): boolean {
  if (Number(exactInteger(output['code']) ?? 0) >= 400) return true;
  return Object.keys(output).some((key) => /error|traceback/i.test(key) && !isNothing(output[key]));
}
