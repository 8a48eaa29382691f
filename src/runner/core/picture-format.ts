/** The formats that pictures are saved in, and the names of their files. */

/** The ending of the files of each. */
export const pictureEndings = { PNG: '.png', JPEG: '.jpg', WebP: '.webp', AVIF: '.avif' } as const;

export type PictureFormat = keyof typeof pictureEndings;

const ending = /\.(?:png|jpg|webp|avif)$/;

/** By its ending; undefined where it has none of these. */
export function formatOfFile(file: string): PictureFormat | undefined {
  return formats.find((format) => file.endsWith(pictureEndings[format]));
}

const formats = Object.keys(pictureEndings) as PictureFormat[];

/**
 * Of files with these endings the pictures alone: not the copies that have these endings in place of the picture's own, nor a
 * second file that differs in nothing but its format. Where originals are not kept, what has the name of a copy is none, and what
 * has that of a smaller one, whether it is still made or not.
 */
export function picturesAmong(
  files: readonly string[],
  copyEndings: readonly string[],
  isOriginalKept: boolean,
): string[] {
  const isCopyOf = (file: string, stem: string): boolean =>
    copyEndings.some((copy) => file === stem + copy) && !file.endsWith(pictureEndings.PNG);
  const byStem = new Map<string, string>();
  for (const file of files) {
    const stem = withoutFormat(file);
    const other = byStem.get(stem);
    const isFirst = other === undefined || file.endsWith(pictureEndings.PNG) || isCopyOf(other, stem);
    if (isFirst) byStem.set(stem, file);
  }
  const isEarlierCopy = (file: string): boolean => {
    const [, stem = ''] = /^(.*)-\d{2,5}\.(?:jpg|webp|avif)$/s.exec(file) ?? [];
    return !isOriginalKept && byStem.has(stem);
  };
  const isCopy = (file: string): boolean =>
    isEarlierCopy(file) ||
    copyEndings.some((copy) => {
      const stem = file.endsWith(copy) ? file.slice(0, -copy.length) : '';
      return stem !== withoutFormat(file) && byStem.has(stem);
    });
  const isAlone = (file: string): boolean => !isOriginalKept && isCopyOf(file, withoutFormat(file));
  return [...byStem.values()].filter((file) => !isCopy(file) && !isAlone(file));
}

/** Without the ending of a picture. */
export function withoutFormat(file: string): string {
  return file.replace(ending, '');
}

/** A picture is given a name that ends in `.png`, and its file the ending of what it is: `a/b.png` becomes `a/b.jpg`. */
export function withFormat(name: string, format: PictureFormat): string {
  return withoutFormat(name) + pictureEndings[format];
}
