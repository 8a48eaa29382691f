/** Suggests paths for a mistyped one. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { didYouMean } from '../text/closest.ts';

/** Returns a hint such as `; did you mean night/scenes.csv?`, or ''. */
export function similarFile(path: string): string {
  const spelling = otherSpelling(path);
  if (spelling !== '') return spelling;
  try {
    const meant = didYouMean(basename(path), readdirSync(dirname(path)));
    return meant === undefined
      ? ''
      : `; ${meant.replace(/(?<=mean ).*(?=\?)/, (name) => join(dirname(path), name))}`;
  } catch {
    return '';
  }
}

/**
 * Returns a hint if the file exists under the same path with slashes instead of backslashes, or in another
 * Unicode form: both look the same on a screen. Tries few names, so it is cheap for every row of a list.
 * `base`: the folder to which the path is relative.
 */
export function otherSpelling(path: string, base = ''): string {
  const hasBackslash = sep === '/' && path.includes('\\');
  const asked = hasBackslash ? path.replaceAll('\\', '/') : path;
  let found = '';
  for (const [index, part] of asked.split('/').entries()) {
    const start = index === 0 ? '' : `${found}/`;
    const there = [part, part.normalize('NFC'), part.normalize('NFD')].find((each) =>
      existsSync(resolve(base, start + each || '/')),
    );
    if (there === undefined) return '';
    found = start + there;
  }
  const forms = ['composed Unicode (NFC)', 'decomposed Unicode (NFD)'];
  const [itsForm, thisForm] = found === found.normalize('NFC') ? forms : forms.toReversed();
  const why = [
    ...(hasBackslash ? [' Here, folders are separated by / and not by \\'] : []),
    ...(found === asked ? [] : [` Its name is in ${itsForm} on this disk, and in ${thisForm} here`]),
  ];
  return why.length === 0 ? '' : `; did you mean ${found}?${why.join('.')}`;
}
