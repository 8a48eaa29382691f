/** Files next to a picture: its sidecar, and copies in other formats and sizes. */
import { formatOfFile, pictureEndings, withoutFormat, type PictureFormat } from './picture-format.ts';

/** Extension of the file that records where a picture comes from, unless the picture contains that itself. */
export const sidecarEnding = '.json';

/** Replaces a picture's extension: `a/b.png` and `.json` give `a/b.json`. */
export function sidecarPath(file: string, ending: string): string {
  return withoutFormat(file) + ending;
}

/**
 * Returns names that conflict through sidecars: a scene's own file `a.json` and the sidecar of `a.png` would
 * be the same file.
 */
export function sidecarTwin(file: string): string[] {
  if (file.endsWith(sidecarEnding)) return [`${file.slice(0, -sidecarEnding.length)}.png`];
  return formatOfFile(file) === undefined ? [] : [sidecarPath(file, sidecarEnding)];
}

export interface PictureCopy {
  format: 'webp' | 'jpeg' | 'avif';
  /** 1 to 100. */
  quality: number;
  /** Maximum length of the longer side in pixels. Absent for the size of the picture. */
  size?: number | undefined;
}

const formats = { webp: 'WebP', jpeg: 'JPEG', avif: 'AVIF' } as const satisfies Record<
  PictureCopy['format'],
  PictureFormat
>;

/** Returns the suffix that replaces the picture's extension, such as `.webp` or `-512.jpg`. */
export function copyEnding({ format, size }: Pick<PictureCopy, 'format' | 'size'>): string {
  return (size === undefined ? '' : `-${size}`) + pictureEndings[formats[format]];
}

/** True if another picture may have the same name as such a copy, such as `a-512.jpg`. */
export function isSized(ending: string): boolean {
  return ending.startsWith('-');
}

/**
 * Returns names of pictures whose copies would have the same name as a copy of `file`. With `.webp` and
 * `-512.webp`, both `a-512.png` and `a.png` give `a-512.webp`.
 */
export function clashingNames(file: string, endings: readonly string[]): string[] {
  const middles = endings.flatMap((long) =>
    endings.flatMap((short) => (long !== short && long.endsWith(short) ? long.slice(0, -short.length) : [])),
  );
  return middles.flatMap((middle) => {
    const longer = sidecarPath(file, `${middle}.png`);
    const end = `${middle}.png`;
    return file.endsWith(end) ? [longer, `${file.slice(0, -end.length)}.png`] : [longer];
  });
}
