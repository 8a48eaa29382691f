/** A picture or clip in a grid, for batches and reports alike. */
import { createContext } from 'preact';
import { type ClipFacts, isClipFormat, isSound } from '../../runner/core/clip.ts';
import { formatOfFile } from '../../runner/core/picture.ts';

/** Number of the connection to the server. A new number loads the pictures again that could not be loaded. */
export const Connection = createContext(0);

export interface GridPicture {
  /** Identifies the picture within the grid. */
  key: string;
  /** URLs to try in this order, smallest picture first; empty if there is no picture. */
  sources: string[];
  /** Set for a clip, which is shown instead of the sources. */
  clip?: ShownClip | undefined;
  /** Text for screen readers: the prompt. */
  alt: string;
  caption: string;
  /** Empty if the scene has no prompt. */
  prompt: string;
  /** Id of the scene; unset if it has none. */
  id?: string | undefined;
  state: string;
  /** Text shown instead of a missing picture. */
  word: string;
  /** Text on the picture; empty for none. */
  badge: string;
  /** Size in pixels, which reserves the space until the picture is loaded. */
  size?: { width: number; height: number };
}

/** A clip as a page shows it. */
export interface ShownClip {
  kind: 'video' | 'sound' | 'animation';
  /** URL of the clip. */
  source: string;
  /** URL of its first frame. Unset if there is none. */
  poster?: string | undefined;
  /** Name of the file. */
  name: string;
  /** 0 for sound. In pixels. */
  width: number;
  height: number;
  bytes: number;
  facts: ClipFacts;
}

/** Returns the clip that a file with this name is. Undefined for a picture. */
export function clipOf(clip: Omit<ShownClip, 'kind'>): ShownClip | undefined {
  const format = formatOfFile(clip.name);
  if (format === undefined || !isClipFormat(format)) return undefined;
  return { ...clip, kind: format === 'GIF' ? 'animation' : isSound(format) ? 'sound' : 'video' };
}

/** Formats the length of a clip as players do, such as `0:05` or `1:02:03`. Empty if it is unknown. */
export function lengthWords({ durationMs }: ClipFacts): string {
  if (durationMs === undefined) return '';
  // A clip of 0.4 s has a length.
  return clockWords(Math.max(1, Math.round(durationMs / 1000)));
}

/** Formats whole seconds like `lengthWords`. */
export function clockWords(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (number: number): string => String(number).padStart(2, '0');
  const start = hours === 0 ? String(minutes) : `${hours}:${two(minutes)}`;
  return `${start}:${two(seconds % 60)}`;
}
