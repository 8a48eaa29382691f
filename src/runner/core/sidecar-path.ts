/** Files that lie beside a picture: they have its name and another ending. */

/** Where it says where it comes from, unless it does so itself. */
export const sidecarEnding = '.json';

/** Of the picture's file, which ends in `.png`: `a/b.png` and `.json` make `a/b.json`. */
export function sidecarPath(file: string, ending: string): string {
  return file.replace(/\.png$/, '') + ending;
}
