/** Finds the pictures in a completed job's output, whichever worker made it, and distinguishes failures from pictures. */
import { oneLine } from '../lib/text/format.ts';
import { isJsonObject } from '../lib/text/json.ts';
import { describeValue, isNothing, exactInteger, parseExactly } from './json-value.ts';
import { restOfOutput, type OutputRest } from './rest-of-output.ts';
import { isAddress, isWorkerPath, jsonIn, textsInOutput, type TextsInOutput } from './texts-in-output.ts';
import { readWordLists, type WordLists } from './word-lists.ts';
import { complaintOf, declaredFailure, wordsOf } from './worker-words.ts';

export type FoundOutput =
  /** `at`: path of the only picture of an output of no known shape. */
  | { kind: 'pictures'; pictures: PictureInOutput[]; at?: string }
  /** The job completed and handed nothing in. */
  | { kind: 'none' }
  /** The worker says why there is no picture; `message` is one short line in its words. */
  | { kind: 'failure'; message: string }
  /** No picture was recognised; `found` says in a few words what is there, `advice` what to do other than to say where it is. */
  | { kind: 'unknown'; found: string; advice?: string };

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
 * `images[*].data`, says where the pictures stand; left out, the known shapes do, then the only text that is a picture
 * by its first bytes, or the only address that ends like one. With `values`, paths of what is wanted of the rest, the
 * rest is kept. Words count as a failure only if nothing else in the output may be a result that was paid for.
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
    : (complaintOf(whole) ?? (texts.isDoubtful ? undefined : wordsOf(whole)));
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
      found: `"${oneLine(kept.value, 120) ?? ''}", which lies where only the worker can read it`,
      advice: 'have the worker hand in the picture itself, or its https address',
    };
  if (imagePath !== undefined)
    return { found: `nothing at "${oneLine(imagePath, 80) ?? ''}" in ${describeValue(output)}` };
  const many = pictures.length > 0 ? pictures : addresses;
  if (many.length === 0) return { found: describeValue(output) };
  const shown = many.slice(0, 3).map(({ path }) => path);
  const more = many.length > shown.length ? ', …' : '';
  const found = `${many.length.toLocaleString('en')} pictures, at ${oneLine(shown.join(', '), 200) ?? ''}${more}`;
  return { found, advice: 'say with output.image which of them to save' };
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

/** The first value at a path. A member of this very name counts even if it holds nothing. */
export function firstValueAt(value: unknown, path: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, path) ? value[path] : valuesAt(value, path)[0];
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

/** The items of a list, or the place itself where it is none. */
function itemsOf(place: Place): Place[] {
  if (!Array.isArray(place.value)) return [place];
  return place.value.map((value: unknown, index) => ({ value, owners: place.owners, index }));
}

function isText(place: Place): place is Place<string> {
  return typeof place.value === 'string' && !isNothing(place.value);
}
