/** Finds the pictures in a completed job's output, whichever worker made it, and tells failures from pictures. */

export type FoundOutput =
  | { kind: 'pictures'; pictures: PictureInOutput[] }
  /** The job completed and handed nothing in. */
  | { kind: 'none' }
  /** The worker reports a failure instead of a picture; `message` is one short line in its words. */
  | { kind: 'failure'; message: string }
  /** No picture was recognised; `found` says in a few words what is there. */
  | { kind: 'unknown'; found: string };

/** Base64 as it came, or an address; the seed in the worker's own digits. */
type PictureInOutput = ({ base64: string } | { url: string }) & { seed?: string };

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
  { worker: 'ComfyUI, before 5', at: 'message', amongTexts: true },
  { worker: 'Flux, public endpoint', at: 'image_url' },
  { worker: 'Flux, public endpoint', at: 'result', amongTexts: true },
  { worker: 'any, without the list', at: 'rendered_image|image|base64|url' },
  { worker: 'bare texts', at: '[*]', amongTexts: true },
  { worker: 'one bare text', at: '', amongTexts: true },
];

/**
 * `output` as parsed from JSON; integers beyond 2^53 keep their digits where they come as text, `bigint` or
 * lossless-json's numbers. `imagePath`, such as `images[0].data` or `images[*].data`, says where the pictures stand.
 */
export function findPictures(output: unknown, imagePath?: string): FoundOutput {
  if (isNothing(output)) return { kind: 'none' };
  const failure = declaredFailure(output);
  if (failure !== undefined) return { kind: 'failure', message: failure };
  const places =
    imagePath === undefined ? placesByShape(output) : placesAt(output, imagePath).flatMap(spread);
  const texts = places.filter(isText);
  if (texts.length > 0) return readPictures(texts);
  const complaint = complaintOf(output);
  if (complaint !== undefined) return { kind: 'failure', message: complaint };
  const where = imagePath === undefined ? '' : `nothing at ${JSON.stringify(clip(imagePath, 80))} in `;
  return { kind: 'unknown', found: where + describe(output) };
}

function isNothing(output: unknown): boolean {
  if (output === undefined || output === null) return true;
  if (typeof output === 'string') return output.trim() === '';
  return typeof output === 'object' && !isNumber(output) && Object.keys(output).length === 0;
}

// -- pictures --

/** A value in an output, the objects around it, innermost first, and its number in the innermost list. */
interface Place<Value = unknown> {
  value: Value;
  owners: readonly object[];
  index: number;
}

function placesByShape(output: unknown): Place[] {
  for (const { at, amongTexts } of shapes) {
    const places = placesAt(output, at).filter(isText);
    const found = amongTexts ? places.filter(({ value }) => readsLikePicture(value)) : places;
    if (found.length > 0) return found;
  }
  // A worker that yields its result in parts is handed in as the list of these.
  return Array.isArray(output)
    ? output.flatMap((part: unknown) => (isRecord(part) ? placesByShape(part) : []))
    : [];
}

const pathStep = /\[(\d+|\*)\]|\.?([^.[\]]+)/y;

function placesAt(output: unknown, path: string): Place[] {
  let places: Place[] = [{ value: output, owners: [], index: 0 }];
  pathStep.lastIndex = 0;
  while (pathStep.lastIndex < path.length) {
    const step = pathStep.exec(path);
    if (step === null) return [];
    const [, item, keys] = step;
    places = places.flatMap((place) =>
      item === undefined ? byKey(place, (keys ?? '').split('|')) : byItem(place, item),
    );
  }
  return places;
}

function byKey({ value, owners, index }: Place, keys: string[]): Place[] {
  if (!isRecord(value)) return [];
  const key = keys.find((name) => Object.hasOwn(value, name) && !isNothing(value[name]));
  return key === undefined ? [] : [{ value: value[key], owners: [value, ...owners], index }];
}

function byItem(place: Place, item: string): Place[] {
  const items = spread(place);
  if (!Array.isArray(place.value)) return [];
  return item === '*' ? items : items.slice(Number(item), Number(item) + 1);
}

function spread(place: Place): Place[] {
  if (!Array.isArray(place.value)) return [place];
  return place.value.map((value: unknown, index) => ({ value, owners: place.owners, index }));
}

function isText(place: Place): place is Place<string> {
  return typeof place.value === 'string' && !isNothing(place.value);
}

function readsLikePicture(text: string): boolean {
  const start = text.slice(0, 600).trim();
  return isAddress(start) || /^data:/i.test(start) || /^[A-Za-z0-9+/]{60}/.test(start) || isWorkerPath(text);
}

function isAddress(text: string): boolean {
  return /^\s*https?:\/\//i.test(text);
}

/** A worker without storage names a file on its own disk, such as `simulated_uploaded/x.png`. */
function isWorkerPath(text: string): boolean {
  return text.length < 1000 && !isAddress(text) && /^\S+\.(?:png|jpe?g|webp|gif|bmp)\s*$/i.test(text);
}

function readPictures(places: Place<string>[]): FoundOutput {
  const path = places.find(({ value }) => isWorkerPath(value));
  if (path !== undefined) {
    const message = `the worker names a file of its own, "${clip(path.value, 120)}", instead of handing a picture in`;
    return { kind: 'failure', message };
  }
  return { kind: 'pictures', pictures: places.map(readPicture) };
}

function readPicture({ value, owners, index }: Place<string>): PictureInOutput {
  const picture = isAddress(value) ? { url: value.trim() } : { base64: value };
  for (const owner of owners) {
    const seed = seedIn(owner, index);
    if (seed !== undefined) return { ...picture, seed };
  }
  return picture;
}

// -- seeds --

function seedIn(owner: object, index: number): string | undefined {
  const { seed, seeds, info } = owner as Record<string, unknown>;
  return exactInteger(itemOf(seed, index)) ?? exactInteger(itemOf(seeds, index)) ?? seedInInfo(info, index);
}

/** A1111 tells its seeds in JSON within the JSON; a contact sheet that comes first has none of its own. */
function seedInInfo(info: unknown, index: number): string | undefined {
  const facts = typeof info === 'string' && info.length < 1_000_000 ? parseExactly(info) : info;
  if (!isRecord(facts)) return undefined;
  const { all_seeds: all, seed, index_of_first_image: first } = facts;
  if (!Array.isArray(all)) return exactInteger(seed);
  return exactInteger(all[index - Number(exactInteger(first) ?? 0)]);
}

function itemOf(value: unknown, index: number): unknown {
  return Array.isArray(value) ? value[index] : value;
}

/** The digits, or nothing where they are not known exactly. */
function exactInteger(value: unknown): string | undefined {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return undefined;
  if (typeof value !== 'string' && typeof value !== 'bigint' && !isNumber(value)) return undefined;
  return /^\s*(-?\d{1,40})(?:\.0+)?\s*$/.exec(String(value))?.[1];
}

/** JSON with its long integers as text, since `JSON.parse` rounds them; undefined where it is none. */
function parseExactly(text: string): unknown {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
  return JSON.parse(
    text.replace(stringOrNumber, (token) => (/^-?\d{16,}$/.test(token) ? `"${token}"` : token)),
  );
}

// -- failures --

const failureWords =
  /^(?:error|errored|fail|failed|failure|success_no_images|cancell?ed|timeout|timed_?out)$/i;
const soundsBad =
  /error|exception|traceback|fail|out of memory|unable|cannot|could not|invalid|not found|refused/i;
const messageKeys = ['error_message', 'error', 'errors', 'message', 'detail', 'details', 'reason', 'msg'];

/** What an output says whose own status is a failure. */
function declaredFailure(output: unknown): string | undefined {
  const sole: unknown = Array.isArray(output) && output.length === 1 ? output[0] : output;
  if (!isRecord(sole) || typeof sole['status'] !== 'string' || !failureWords.test(sole['status']))
    return undefined;
  return failureMessage(sole) ?? `the worker says "${sole['status']}" and nothing more`;
}

/** What an output says that holds no picture, where that is a complaint. */
function complaintOf(output: unknown): string | undefined {
  if (typeof output === 'string') {
    const inner = parseExactly(output);
    if (typeof inner === 'object' && inner !== null) return complaintOf(inner);
    return soundsBad.test(output.slice(0, 2000)) ? failureMessage(output) : undefined;
  }
  if (Array.isArray(output)) {
    const complaints = output.slice(0, 20).map(complaintOf);
    return complaints.find((complaint) => complaint !== undefined);
  }
  if (!isRecord(output)) return undefined;
  const complains = Object.keys(output).some(
    (key) => /error|traceback/i.test(key) && !isNothing(output[key]),
  );
  const message = failureMessage(output);
  if (complains || Number(exactInteger(output['code']) ?? 0) >= 400) return message ?? describe(output);
  if (message !== undefined && soundsBad.test(message)) return message;
  const { images } = output;
  if (Array.isArray(images) && images.length === 0)
    return message ?? 'the worker made no picture: its list of images is empty';
  return undefined;
}

/**
 * The message in what a worker gives as its error (text, JSON in a text, a list or an object of any depth), on one
 * short line; undefined where there is none.
 */
export function failureMessage(error: unknown): string | undefined {
  const message = digMessage(error, 0);
  return message === undefined ? undefined : clip(message, 400);
}

function digMessage(error: unknown, depth: number): string | undefined {
  if (depth > 6 || isNothing(error)) return undefined;
  if (typeof error === 'string') return digMessage(objectIn(error), depth + 1) ?? error.slice(0, 2000).trim();
  if (Array.isArray(error)) {
    const messages = error.slice(0, 20).map((item: unknown) => digMessage(item, depth + 1));
    return messages.filter((message) => message !== undefined).join('; ') || undefined;
  }
  if (!isRecord(error)) return undefined;
  const [message] = messageKeys.flatMap((key) => digMessage(error[key], depth + 1) ?? []);
  return withType(error, message ?? lastLine(error['error_traceback'] ?? error['traceback']));
}

function objectIn(text: string): unknown {
  const inner = /^\s*[[{]/.test(text) && text.length < 1_000_000 ? parseExactly(text) : undefined;
  return typeof inner === 'object' ? inner : undefined;
}

function lastLine(traceback: unknown): string | undefined {
  return typeof traceback === 'string' ? traceback.trim().split('\n').at(-1) : undefined;
}

function withType(error: Record<string, unknown>, message = ''): string | undefined {
  const { error_type: type, code, status_code: statusCode } = error;
  const name = typeof type === 'string' ? type.replace(/^<class '(.*)'>$/, '$1') : '';
  const text = message === '' || message.includes(name) ? message || name : `${name}: ${message}`;
  if (text === '') return undefined;
  const number = exactInteger(code ?? statusCode);
  return number === undefined ? text : `${text} (code ${number})`;
}

// -- words --

/** What a value is, in a few words, whatever its size. */
function describe(value: unknown): string {
  if (typeof value === 'string') return `the text "${clip(value, 80)}"`;
  if (Array.isArray(value)) return `a list of ${value.length}, the first of them ${describe(value[0])}`;
  if (!isRecord(value)) return kindOf(value);
  const keys = Object.keys(value);
  const shown = keys.slice(0, 8).map((key) => `"${clip(key, 40)}" (${kindOf(value[key])})`);
  const rest = keys.length > shown.length ? ` and ${keys.length - shown.length} more` : '';
  return `an object with ${shown.join(', ') || 'no keys'}${rest}`;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return `list of ${value.length}`;
  if (isNumber(value) || typeof value === 'bigint') return 'number';
  if (typeof value === 'string') return value === '' ? 'empty text' : `text of ${value.length} characters`;
  return typeof value;
}

/** On one line, printable and at most `max` characters long. */
function clip(text: string, max: number): string {
  const start = text.slice(0, 4 * max);
  const characters = Array.from(start.replaceAll(/[\s\p{C}]+/gu, ' ').trim());
  if (characters.length <= max && start.length === text.length) return characters.join('');
  return `${characters.slice(0, max).join('').trimEnd()}…`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumber(value);
}

/** A number as JSON readers give it; lossless-json's keeps the digits in an object. */
function isNumber(value: unknown): boolean {
  if (typeof value === 'number') return true;
  return (
    typeof value === 'object' &&
    value !== null &&
    'isLosslessNumber' in value &&
    value.isLosslessNumber === true
  );
}
