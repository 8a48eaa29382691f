/** A picture on its way from a job's output to a file and its thumbnail, and what its file contains. */
import type { JsonObject } from '../../lib/text/json.ts';
import type { NamedFile } from './named-file.ts';
import type { PictureFormat } from './picture-format.ts';

/** What a job's output says of a picture besides, under its keys there; a service need not say any of it. */
export interface PictureOutput {
  /** Words of what stands there as a box with its name. */
  labelled_words?: string[];
  /** Words that nothing in the picture stands for. */
  ignored_words?: string[];
  /** What else is not as it was said, in sentences. */
  notes?: string[];
  /** All else that is small enough to be kept, where `output.values` asks for some of it. */
  rest?: JsonObject;
  /** There was more. */
  isCut?: true;
  /** Where it was found in an output of no known shape, as its only picture: `result.image`. */
  at?: string;
  /** Names of `output.values` at whose place there is no number, text or truth. */
  odd?: string[];
}

/** What a job's output says of a picture, or of another file. */
interface Told {
  /** The seed in the service's digits, exact beyond 2^53; absent where the output names none. */
  seed?: string;
  output?: PictureOutput;
  /** What it is where it is no picture: one of `output.files`. */
  named?: NamedFile;
}

/** Base64 text as it came (a `data:` prefix and white space included), or what was downloaded. */
export type HeldPicture = ({ base64: string } | { bytes: Uint8Array }) & Told;

/** What a job's output holds: a picture, or the address of one. */
export type FoundPicture = HeldPicture | ({ url: string } & Told);

/** A picture, or one of `output.files`, that has passed every check: the file that is to be written. */
export interface Picture extends Told {
  /** Of a picture whole, in its format; of another file what came. */
  content: Uint8Array;
  /** Absent of another file, whose name says what it is. */
  format?: PictureFormat;
  /** Pixels; 0 of a file that has none. */
  width: number;
  height: number;
  /** Hex, of `content`. */
  sha256: string;
  /** JPEG; absent where the picture needs none, none was asked for, or none could be made. */
  thumbnail?: Uint8Array;
  /** Its sidecars, by the ending that takes the place of its own. */
  beside?: { ending: string; bytes: Uint8Array }[];
}

/** A picture on disk under its final name, or a file beside it. */
export interface SavedPicture extends Pick<Picture, 'width' | 'height' | 'sha256' | 'seed' | 'output'> {
  /** Of one of `output.files`; absent of a picture. */
  label?: string;
  /** Relative to the images folder, `/` between folders. */
  file: string;
  bytes: number;
}

export interface PictureTotals {
  files: number;
  bytes: number;
  /** Those that show words as labelled boxes, and those that leave words out; absent where there are neither. */
  labelled?: number;
  ignored?: number;
  /** Those that lack one of `output.values` since something else is at its place, and those whose output was too long to be kept; as above. */
  odd?: number;
  /** Saved by this run without a value that `scenes.until` asks for. */
  unjudged?: number;
  cut?: number;
}

/** Returns what the output says of the picture, without its content. */
export function toldOf({ seed, output, named }: Told): Told {
  return { ...(seed !== undefined && { seed }), ...(output && { output }), ...(named && { named }) };
}

/** Without what is kept of the rest, which columns show. */
export function wordListsOf({ labelled_words, ignored_words, notes }: PictureOutput): PictureOutput {
  return {
    ...(labelled_words && { labelled_words }),
    ...(ignored_words && { ignored_words }),
    ...(notes && { notes }),
  };
}

/** What a picture does not show as it was said, in sentences; empty where all is shown, or nothing is known of it. */
export function lostWords(output: PictureOutput = {}): string {
  const { labelled_words: labelled = [], ignored_words: ignored = [], notes = [] } = output;
  const lists = [
    labelled.length === 0 ? '' : `Drawn as labelled boxes: ${labelled.join(', ')}.`,
    ignored.length === 0 ? '' : `Left out: ${ignored.join(', ')}.`,
  ];
  return [...lists, ...notes].filter((text) => text !== '').join(' ');
}

/** What a scene has, with pictures and named files apart. */
export function splitFiles(saved: SavedPicture[]): { pictures: SavedPicture[]; files: SavedPicture[] } {
  const isFile = ({ label }: SavedPicture): boolean => label !== undefined;
  return { pictures: saved.filter((one) => !isFile(one)), files: saved.filter(isFile) };
}

/** Pixels of a thumbnail's longer side, at most. */
export const thumbnailSide = 320;

/** A picture within `thumbnailSide` that has no more bytes is quick to show as it is. */
const fewBytes = 32_000;

/**
 * The thumbnail's path from the report's folder, `/` between folders; undefined where the picture is small enough to be
 * shown itself. Named after the content: no rename of the picture touches it, and pictures of the same bytes share it.
 */
export function thumbnailOf(
  picture: Pick<SavedPicture, 'width' | 'height' | 'bytes' | 'sha256'>,
): string | undefined {
  const { width, height, bytes, sha256 } = picture;
  if (Math.max(width, height) <= thumbnailSide && bytes <= fewBytes) return undefined;
  return `thumbnails/${sha256.slice(0, 2)}/${sha256.slice(0, 32)}.jpg`;
}

/** Versions that made WebPs of pictures left them under this name. */
export function earlierThumbnail(thumbnail: string): string {
  return thumbnail.replace(/\.jpg$/, '.webp');
}
