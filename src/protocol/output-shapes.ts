/** Finds the pictures in a completed job's output, whichever worker made it, and tells failures from pictures. */
import { describeValue } from './describe-value.ts';
import { oneLine } from './error-text.ts';
import { isNothing, isRecord } from './json-value.ts';
import { complaintOf, declaredFailure } from './output-failures.ts';
import { isText, itemsOf, placesAt, type Place } from './output-places.ts';
import { seedOf } from './output-seeds.ts';

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
 * `output` as parsed from JSON, integers beyond 2^53 as text. `imagePath`, such as `images[0].data` or
 * `images[*].data`, says where the pictures stand.
 */
export function findPictures(output: unknown, imagePath?: string): FoundOutput {
  if (isNothing(output)) return { kind: 'none' };
  const failure = declaredFailure(output);
  if (failure !== undefined) return { kind: 'failure', message: failure };
  const places =
    imagePath === undefined ? placesByShape(output) : placesAt(output, imagePath).flatMap(itemsOf);
  const texts = places.filter(isText);
  if (texts.length > 0) return readPictures(texts);
  const complaint = complaintOf(output);
  if (complaint !== undefined) return { kind: 'failure', message: complaint };
  const where = imagePath === undefined ? '' : `nothing at "${oneLine(imagePath, 80) ?? ''}" in `;
  return { kind: 'unknown', found: where + describeValue(output) };
}

/** Looking through a million objects takes a quarter of a minute, in which nothing else is done. */
const mostParts = 10_000;

function placesByShape(output: unknown): Place[] {
  for (const { at, amongTexts } of shapes) {
    const places = placesAt(output, at).filter(isText);
    const found = amongTexts ? places.filter(({ value }) => readsLikePicture(value)) : places;
    if (found.length > 0) return found;
  }
  // A worker that yields its result in parts is handed in as the list of these.
  return Array.isArray(output) ? output.filter(isRecord).slice(-mostParts).flatMap(placesByShape) : [];
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

function readPictures(places: Place<string>[]): FoundOutput {
  const path = places.find(({ value }) => isWorkerPath(value));
  if (path === undefined) return { kind: 'pictures', pictures: places.map(readPicture) };
  const name = oneLine(path.value, 120) ?? '';
  return {
    kind: 'failure',
    message: `the worker names a file of its own, "${name}", instead of handing a picture in`,
  };
}

function readPicture(place: Place<string>): PictureInOutput {
  const { value } = place;
  const picture = isAddress(value) ? { url: value.trim() } : { base64: value };
  const seed = seedOf(place);
  return seed === undefined ? picture : { ...picture, seed };
}
