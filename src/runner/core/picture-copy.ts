/** Files next to a picture: its sidecar, and copies in other formats and sizes. */
import { formatOfFile, pictureEndings, withoutFormat, type PictureFormat } from './picture-format.ts';

/** Where it says where it comes from, unless it does so itself. */
export const sidecarEnding = '.json';

/** `a/b.png` and `.json` make `a/b.json`. */
export function sidecarPath(file: string, ending: string): string {
  return withoutFormat(file) + ending;
}

/** `a.json`, a file of a scene, would be the sidecar of `a.png`: each makes the other a name to stay away from. */
export function sidecarTwin(file: string): string[] {
  if (file.endsWith(sidecarEnding)) return [`${file.slice(0, -sidecarEnding.length)}.png`];
  return formatOfFile(file) === undefined ? [] : [sidecarPath(file, sidecarEnding)];
}

export interface PictureCopy {
  format: 'webp' | 'jpeg' | 'avif';
  /** 1 to 100. */
  quality: number;
  /** Pixels of the longer side, at most; as large as the picture where absent. */
  size?: number | undefined;
}

const formats = { webp: 'WebP', jpeg: 'JPEG', avif: 'AVIF' } as const satisfies Record<
  PictureCopy['format'],
  PictureFormat
>;

/** What takes the place of the picture's ending: `.webp`, `-512.jpg`. */
export function copyEnding({ format, size }: Pick<PictureCopy, 'format' | 'size'>): string {
  return (size === undefined ? '' : `-${size}`) + pictureEndings[formats[format]];
}

/** Whether another picture may have the name of such a copy: `a-512.jpg`. */
export function isSized(ending: string): boolean {
  return ending.startsWith('-');
}

/**
 * Names of pictures that would have a copy of the same name as one of `file`: with `.webp` and `-512.webp`, `a-512.png`
 * and `a.png` both make `a-512.webp`.
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
