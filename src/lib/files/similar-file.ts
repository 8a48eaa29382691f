/** Suggestions for a mistyped path. */
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { didYouMean } from '../text/closest.ts';

/** `; did you mean night/scenes.csv?`, or empty. */
export function similarFile(path: string): string {
  try {
    const meant = didYouMean(basename(path), readdirSync(dirname(path)));
    return meant === undefined
      ? ''
      : `; ${meant.replace(/(?<=mean ).*(?=\?)/, (name) => join(dirname(path), name))}`;
  } catch {
    return '';
  }
}
