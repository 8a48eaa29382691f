/** Finds files: by a pattern with `*`, `?`, `[a-c]` and `**`, or the pipeline.yaml of a folder. Suggests paths for a mistyped one. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { closestFew, didYouMean } from '../text/closest.ts';

export function isGlob(path: string): boolean {
  return /[*?]|\[.+\]/.test(path);
}

/** Returns matching files, sorted. `**` matches folders of any depth; hidden files and folders never match. */
export function matchingFiles(pattern: string): string[] {
  const { folder, parts } = split(pattern);
  const matches = matcher(parts.join('/'));
  const found = filesIn(folder, parts.includes('**') ? Infinity : parts.length);
  return [...found]
    .filter((path) => matches.test(path))
    .map((path) => join(folder, path))
    .toSorted();
}

const maxShown = 5;

/** Explains why no file matches, in words that follow the pattern. */
export function noMatch(pattern: string): string {
  const { folder } = split(pattern);
  try {
    const all = readdirSync(folder).toSorted();
    const names = [...new Set([...closestFew(basename(pattern), all, maxShown), ...all])];
    const shown = names.slice(0, maxShown).join(', ') + (names.length > maxShown ? ', …' : '');
    return `matches no file; ${folder === '.' ? 'this folder' : folder} has ${shown || 'none'}`;
  } catch {
    return `matches no file: there is no folder ${folder}${similarFile(folder)}`;
  }
}

/** Returns the folder before the first part that is a pattern, and the parts from there on. */
function split(pattern: string): { folder: string; parts: string[] } {
  const all = pattern.split(sep);
  const first = all.findIndex(isGlob);
  const above = all.slice(0, first).join(sep);
  return { folder: first > 0 ? above || sep : '.', parts: all.slice(first) };
}

/** Yields the paths of files down to `depth` folders. Does not follow links to folders, which may form a circle. */
function* filesIn(folder: string, depth: number, above = ''): Generator<string> {
  try {
    for (const entry of readdirSync(join(folder, above), { withFileTypes: true })) {
      // Spreadsheet programs mark open files with such files beside them.
      if (/^(?:\.|~\$)/.test(entry.name)) continue;
      if (!entry.isDirectory()) yield above + entry.name;
      else if (depth > 1) yield* filesIn(folder, depth - 1, `${above}${entry.name}/`);
    }
  } catch {
    // A folder that cannot be read has no files.
  }
}

const special = /\*\*\/|\*\*|\*|\?|\[(!?)([^\]/]+)\]|[\\^$.+()[\]{}|]/g;

const meanings: Record<string, string> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };

function matcher(pattern: string): RegExp {
  const source = pattern.replaceAll(special, (found, not: string, letters: string | undefined) =>
    letters === undefined
      ? (meanings[found] ?? `\\${found}`)
      : `[${not && '^'}${letters.replaceAll(/[\\[^]/g, String.raw`\$&`)}]`,
  );
  try {
    return new RegExp(`^${source}$`);
  } catch {
    // A range such as [z-a] matches nothing.
    return /$^/;
  }
}

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

/** Suggests an existing path with other slashes or Unicode form. Tries few names. `base`: folder of the path. */
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

/** Returns the pipeline.yaml in a folder that has one, otherwise the path itself. */
export function pipelineIn(path: string): string {
  const inside = join(path, 'pipeline.yaml');
  return path !== '' && existsSync(inside) ? inside : path;
}
