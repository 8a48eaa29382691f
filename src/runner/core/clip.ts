/** Clips, which are video or sound that jobs return: their formats, and what is known of each. */
import type { JsonValue } from '../../lib/text/json.ts';

/** Formats in which clips are saved, and their file extensions. */
export const clipEndings = {
  MP4: '.mp4',
  WebM: '.webm',
  MOV: '.mov',
  GIF: '.gif',
  WAV: '.wav',
  MP3: '.mp3',
  FLAC: '.flac',
  Ogg: '.ogg',
} as const;

export type ClipFormat = keyof typeof clipEndings;

export const clipFormats = Object.keys(clipEndings) as ClipFormat[];

/** Kinds of `output.files` that are clips. */
export const clipKinds = ['mp4', 'webm', 'mov', 'gif', 'wav', 'mp3', 'flac', 'ogg'] as const;

/** Facts that the container of a clip states. Each is absent if the container does not state it. */
export interface ClipFacts {
  durationMs?: number;
  /** Frames a second of the video. */
  frameRate?: number;
  /** Names of the codecs by their usual short names, such as `h264` and `aac`; video first. */
  codecs?: string[];
  /** True if the container does not state where the file ends, so a missing end cannot be noticed. */
  isEndOpen?: true;
}

/** Columns of the results with the facts about a clip. Conditions know the same names. */
export const clipColumns = {
  duration_s: ({ durationMs }) => (durationMs === undefined ? undefined : durationMs / 1000),
  frame_rate: ({ frameRate }) => frameRate,
  codecs: ({ codecs }) => codecs,
  end_open: ({ isEndOpen }) => isEndOpen === true,
} satisfies Record<string, (clip: ClipFacts) => JsonValue | undefined>;

export type ClipColumn = keyof typeof clipColumns;

export const clipColumnNames = Object.keys(clipColumns) as ClipColumn[];

/** Returns the facts under the names of their columns; null for a fact that the container does not state. */
export function clipValues(clip: ClipFacts): Record<ClipColumn, JsonValue> {
  const columns = Object.entries(clipColumns);
  return Object.fromEntries(columns.map(([name, valueOf]) => [name, valueOf(clip) ?? null])) as Record<
    ClipColumn,
    JsonValue
  >;
}

export function isClipFormat(format: string): format is ClipFormat {
  return Object.hasOwn(clipEndings, format);
}

const soundFormats: ReadonlySet<ClipFormat> = new Set(['WAV', 'MP3', 'FLAC', 'Ogg']);

export function isSound(format: ClipFormat): boolean {
  return soundFormats.has(format);
}
