/** Formats in which pictures are saved, and their file extensions. */

export const pictureEndings = { PNG: '.png', JPEG: '.jpg', WebP: '.webp', AVIF: '.avif' } as const;

export type PictureFormat = keyof typeof pictureEndings;

const ending = /\.(?:png|jpg|webp|avif)$/;

/** Returns the format by extension, or undefined if the extension is not one of a picture. */
export function formatOfFile(file: string): PictureFormat | undefined {
  return formats.find((format) => file.endsWith(pictureEndings[format]));
}

const formats = Object.keys(pictureEndings) as PictureFormat[];

/**
 * Returns only the pictures among files with picture extensions. Leaves out copies, whose extension replaces
 * the picture's. Leaves out a second file that differs only in format. If originals are not kept, also leaves
 * out files named like a copy. That includes smaller copies that are no longer made.
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

export function withoutFormat(file: string): string {
  return file.replace(ending, '');
}

/** Replaces the `.png` of a picture's name by the extension of its actual format: `a/b.png` becomes `a/b.jpg`. */
export function withFormat(name: string, format: PictureFormat): string {
  return withoutFormat(name) + pictureEndings[format];
}
