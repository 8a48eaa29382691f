/** A picture on its way from a job's output to a file and a thumbnail, and the data recorded with it. */
import type { JsonObject } from '../../lib/text/json.ts';
import type { NamedFile } from './named-file.ts';
import type { PictureFormat } from './picture-format.ts';

/** Additional information about a picture in a job's output, under its keys there. All of it is optional. */
export interface PictureOutput {
  /** Words that the picture shows as labelled boxes. */
  labelled_words?: string[];
  /** Words that the picture does not show. */
  ignored_words?: string[];
  /** Other differences from the prompt, in sentences. */
  notes?: string[];
  /** Other members of the output that are small enough to be kept, if `output.values` needs any. */
  rest?: JsonObject;
  /** True if `rest` is incomplete because the output was too long. */
  isCut?: true;
  /** Path at which the only picture of an output of unknown shape was found, such as `result.image`. */
  at?: string;
  /** Names of `output.values` whose path holds an object, a list or null. */
  odd?: string[];
}

/** Information in a job's output about a picture or another file. */
interface OutputDetails {
  /** Seed in the service's digits, exact beyond 2^53. Absent if the output contains none. */
  seed?: string;
  output?: PictureOutput;
  /** The entry of `output.files` if this is a file and not a picture. */
  named?: NamedFile;
}

/** Content of a picture: base64 text as received, including a `data:` prefix and white space, or downloaded bytes. */
export type HeldPicture = ({ base64: string } | { bytes: Uint8Array }) & OutputDetails;

/** A picture in a job's output: its content or its URL. */
export type FoundPicture = HeldPicture | ({ url: string } & OutputDetails);

/** A picture, or a file of `output.files`, that has passed every check and is ready to be written. */
export interface Picture extends OutputDetails {
  /** Complete picture in its format, or the file as received. */
  content: Uint8Array;
  /** Absent for a file that is not a picture. */
  format?: PictureFormat;
  /** Size in pixels. 0 for a file without a size. */
  width: number;
  height: number;
  /** Hex checksum of `content`. */
  sha256: string;
  /** JPEG. Absent if the picture is small, no thumbnail was requested, or none could be made. */
  thumbnail?: Uint8Array;
  /** Sidecar files, by the suffix that replaces the picture's extension. */
  beside?: { ending: string; bytes: Uint8Array }[];
}

/** A picture, or another file of a scene, on disk under its final name. */
export interface SavedPicture extends Pick<Picture, 'width' | 'height' | 'sha256' | 'seed' | 'output'> {
  /** Label in `output.files`. Absent for a picture. */
  label?: string;
  /** Path relative to the images folder, with `/` between folders. */
  file: string;
  bytes: number;
}

export interface PictureTotals {
  files: number;
  bytes: number;
  /**
   * Pictures that show words as labelled boxes, and pictures that leave words out. Absent if there are none
   * of either.
   */
  labelled?: number;
  ignored?: number;
  /**
   * Pictures with an unusable value for `output.values`, and pictures whose output was too long to keep.
   * Absent if there are none of either.
   */
  odd?: number;
  /** Scenes saved by this run that lack a value which `scenes.until` needs. */
  unjudged?: number;
  cut?: number;
}

/** Returns the information about the picture without its content. */
export function detailsOf({ seed, output, named }: OutputDetails): OutputDetails {
  return { ...(seed !== undefined && { seed }), ...(output && { output }), ...(named && { named }) };
}

/** Returns only the lists of words and notes. Columns show the other values. */
export function wordListsOf({ labelled_words, ignored_words, notes }: PictureOutput): PictureOutput {
  return {
    ...(labelled_words && { labelled_words }),
    ...(ignored_words && { ignored_words }),
    ...(notes && { notes }),
  };
}

/**
 * Returns sentences about the parts of the prompt that the picture does not show as asked. Empty if there are
 * none or nothing is known.
 */
export function lostWords(output: PictureOutput = {}): string {
  const { labelled_words: labelled = [], ignored_words: ignored = [], notes = [] } = output;
  const lists = [
    labelled.length === 0 ? '' : `Drawn as labelled boxes: ${labelled.join(', ')}.`,
    ignored.length === 0 ? '' : `Left out: ${ignored.join(', ')}.`,
  ];
  return [...lists, ...notes].filter((text) => text !== '').join(' ');
}

export function splitFiles(saved: SavedPicture[]): { pictures: SavedPicture[]; files: SavedPicture[] } {
  const isFile = ({ label }: SavedPicture): boolean => label !== undefined;
  return { pictures: saved.filter((one) => !isFile(one)), files: saved.filter(isFile) };
}

/** Maximum length of a thumbnail's longer side in pixels. */
export const thumbnailSide = 320;

/** Maximum size in bytes of a picture that is shown without a thumbnail. It must also fit within `thumbnailSide`. */
const maxPlainBytes = 32_000;

/**
 * Returns the thumbnail's path from the report's folder, with `/` between folders. Undefined if the picture
 * is small enough to be shown itself. The name is a hash of the content, so a renamed picture keeps its
 * thumbnail and equal pictures share one.
 */
export function thumbnailOf(
  picture: Pick<SavedPicture, 'width' | 'height' | 'bytes' | 'sha256'>,
): string | undefined {
  const { width, height, bytes, sha256 } = picture;
  if (Math.max(width, height) <= thumbnailSide && bytes <= maxPlainBytes) return undefined;
  return `thumbnails/${sha256.slice(0, 2)}/${sha256.slice(0, 32)}.jpg`;
}

/** Returns the name that earlier versions used, which made WebP thumbnails. */
export function earlierThumbnail(thumbnail: string): string {
  return thumbnail.replace(/\.jpg$/, '.webp');
}
