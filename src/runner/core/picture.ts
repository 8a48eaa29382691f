/** A picture from a job's output to its file: formats, copies, named files and checks. */
import type { JsonObject } from '../../lib/text/json.ts';
import { clipEndings, type ClipFacts, type ClipFormat, clipKinds, isClipFormat } from './clip.ts';

/** Additional information about a picture in a job's output, under its keys there. All of it is optional. */
export interface PictureOutput {
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
  /** Facts about a clip, which its container states. Absent for a picture. */
  clip?: ClipFacts;
}

/** Lists of words that a service may return with a picture. Each is a column of the results. */
export const listNames = ['labelled_words', 'ignored_words'] as const;

export type ListName = (typeof listNames)[number];

/** Information in a job's output about a picture or another file. */
interface OutputDetails {
  /** Seed in the service's digits, exact beyond 2^53. Absent if the output contains none. */
  seed?: string;
  output?: PictureOutput;
  /** The entry of `output.files` if this is a file and not a picture. */
  named?: NamedFile;
  /** True if a clip is expected here. Its content may be too large for memory. */
  isClip?: true;
  /** True if it came by a request of its own, so that it may be cut, or a page of a proxy. */
  isDownloaded?: true;
}

/** A result that was received into a temporary file on this machine, because it may be too large for memory. */
export interface ReceivedFile {
  /** Absolute path. The file is removed once its content has its place, or is refused. */
  path: string;
  /** Size in bytes. */
  length: number;
  /** Hex checksum of the content. */
  sha256: string;
}

/** Content of a picture or clip: base64 text as received, including a `data:` prefix and white space, bytes, or a file. */
export type UncheckedPicture = ({ base64: string } | { bytes: Uint8Array } | { received: ReceivedFile }) &
  OutputDetails;

export type FoundPicture = UncheckedPicture | ({ url: string } & OutputDetails);

/** A picture, or a file of `output.files`, that has passed every check and is ready to be written. */
export interface Picture extends OutputDetails {
  /** Complete picture in its format, or the file as received. Empty if `received` has the content. */
  content: Uint8Array;
  /** File that has the content, which may be too large for memory. */
  received?: ReceivedFile;
  /** Absent for a file of `output.files`. */
  format?: MediaFormat;
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
  /** Number of clips among the files. Absent if none. */
  clips?: number;
  /** Pictures with words as labelled boxes, and pictures that leave words out. Absent if none. */
  labelled?: number;
  ignored?: number;
  /** Pictures with an unusable value, and pictures whose output was too long to keep. Absent if none. */
  odd?: number;
  /** Scenes saved by this run that lack a value which `scenes.until` needs. */
  unjudged?: number;
  cut?: number;
}

/** Returns what such results are called in messages, of which some are clips. */
export function nounFor({ files, clips = 0 }: Pick<PictureTotals, 'files' | 'clips'>): Noun {
  if (clips === 0) return 'picture';
  return clips === files ? 'clip' : 'file';
}

type Noun = 'picture' | 'clip' | 'file';

/** Returns the information about the picture without its content. */
export function detailsOf({ seed, output, named, isClip }: OutputDetails): OutputDetails {
  return {
    ...(seed !== undefined && { seed }),
    ...(output && { output }),
    ...(named && { named }),
    ...(isClip && { isClip }),
  };
}

/** Returns only the lists of words and notes. Columns show the other values. */
export function wordListsOf({ labelled_words, ignored_words, notes }: PictureOutput): PictureOutput {
  return {
    ...(labelled_words && { labelled_words }),
    ...(ignored_words && { ignored_words }),
    ...(notes && { notes }),
  };
}

/** Returns sentences about parts of the prompt that the picture does not show; empty if none are known. */
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
 * is small enough to be shown itself, and for sound. The thumbnail of a clip is its first frame. The name is a
 * hash of the content, so a renamed picture keeps its thumbnail and equal pictures share one.
 */
export function thumbnailOf(
  picture: Pick<SavedPicture, 'width' | 'height' | 'bytes' | 'sha256'> & Partial<Pick<SavedPicture, 'file'>>,
): string | undefined {
  const { width, height, bytes, sha256, file = '' } = picture;
  const isSmall = Math.max(width, height) <= thumbnailSide && bytes <= maxPlainBytes;
  if (isClipFile(file) ? width === 0 : isSmall) return undefined;
  return `thumbnails/${sha256.slice(0, 2)}/${sha256.slice(0, 32)}.jpg`;
}

/** Returns the name that earlier versions used, which made WebP thumbnails. */
export function earlierThumbnail(thumbnail: string): string {
  return thumbnail.replace(/\.jpg$/, '.webp');
}

/** Formats in which pictures are saved, and their file extensions. */
export const pictureEndings = { PNG: '.png', JPEG: '.jpg', WebP: '.webp', AVIF: '.avif' } as const;

export type PictureFormat = keyof typeof pictureEndings;

/** Format of a scene's main result: a picture or a clip. */
export type MediaFormat = PictureFormat | ClipFormat;

/** Extensions of all main results. */
export const mediaEndings = { ...pictureEndings, ...clipEndings } as const;

const mediaEnding = /\.(?:png|jpg|webp|avif|mp4|webm|mov|gif|wav|mp3|flac|ogg)$/;

/** Returns the format by extension, or undefined if the extension is not one of a picture or clip. */
export function formatOfFile(file: string): MediaFormat | undefined {
  return mediaFormats.find((format) => file.endsWith(mediaEndings[format]));
}

/** True if the file is a clip by its extension. */
export function isClipFile(file: string): boolean {
  const format = formatOfFile(file);
  return format !== undefined && isClipFormat(format);
}

const mediaFormats = Object.keys(mediaEndings) as MediaFormat[];

export function withoutFormat(file: string): string {
  return file.replace(mediaEnding, '');
}

/** Replaces the `.png` of a picture's name by the extension of its actual format: `a/b.png` becomes `a/b.jpg`. */
export function withFormat(name: string, format: MediaFormat): string {
  return withoutFormat(name) + mediaEndings[format];
}

/** Kinds of `output.files` that are checked in memory, unlike clips. */
export const plainKinds = ['png', 'exr', 'json', 'glb', 'npz'] as const;

export type PlainKind = (typeof plainKinds)[number];

export const fileKinds = [...plainKinds, ...clipKinds] as const;

export type FileKind = (typeof fileKinds)[number];

/** One entry of `output.files`. */
export interface NamedFile {
  /** Key of the entry, such as `depth`. */
  label: string;
  kind: FileKind;
}

/** An entry of `output.files` that is not a clip. */
export type PlainFile = NamedFile & { kind: PlainKind };

/** An entry of `output.files` with its path in a job's output: keys, outermost first. */
export interface FilePlace extends NamedFile {
  at: string[];
}

/** Value of `output.image` for jobs that return only files. */
export const noPicture = 'none';

/** Returns `output.image` as it applies: a clip is the main result of its scene, so `none` says nothing then. */
export function imageOf(output: {
  image?: string | undefined;
  media?: string | undefined;
}): string | undefined {
  return output.media === undefined ? output.image : undefined;
}

export function kindOfFile(file: string): FileKind {
  return fileKinds.find((kind) => file.endsWith(`.${kind}`)) ?? 'png';
}

/** Returns the files to save. If only values are wanted of a job, its whole output is saved as a file. */
export function filesAsked(image: string | undefined, files: FilePlace[]): FilePlace[] {
  const isBare = image === noPicture && files.length === 0;
  return isBare ? [{ label: 'output', kind: 'json', at: [] }] : files;
}

/** Number of saved scenes that lack a file because they were saved before it was requested. */
export interface LackingFile {
  label: string;
  scenes: number;
}

/** Returns a note about the lacking files, or undefined if there are none. */
export function lackingText(lacking: readonly LackingFile[]): string | undefined {
  if (lacking.length === 0) return undefined;
  const each = lacking.map(({ label, scenes }) =>
    scenes === 1
      ? `1 saved scene has no file ${label}`
      : `${scenes.toLocaleString('en')} saved scenes have no file ${label}`,
  );
  return `${each.join(', ')}: saved before \`output.files\` asked for it, and not rendered again. To have them rendered again, each billed as a new job: \`nightrender retry <pipeline> --lacking-files\``;
}

/** Extension of the file that records where a picture comes from, unless the picture contains that itself. */
export const sidecarEnding = '.json';

/** Replaces a picture's extension: `a/b.png` and `.json` give `a/b.json`. */
export function sidecarPath(file: string, ending: string): string {
  return withoutFormat(file) + ending;
}

export interface PictureCopy {
  format: 'webp' | 'jpeg' | 'avif';
  /** 1 to 100. */
  quality: number;
  /** Maximum length of the longer side in pixels. Absent for the size of the picture. */
  size?: number | undefined;
  /** True to enlarge a smaller picture to `size`. */
  enlarge?: boolean | undefined;
}

const copyFormats = { webp: 'WebP', jpeg: 'JPEG', avif: 'AVIF' } as const satisfies Record<
  PictureCopy['format'],
  PictureFormat
>;

/** Returns the suffix that replaces the picture's extension, such as `.webp` or `-512.jpg`. */
export function copyEnding({ format, size }: Pick<PictureCopy, 'format' | 'size'>): string {
  return (size === undefined ? '' : `-${size}`) + pictureEndings[copyFormats[format]];
}

/** True if another picture may have the same name as such a copy, such as `a-512.jpg`. */
export function isSized(ending: string): boolean {
  return ending.startsWith('-');
}
