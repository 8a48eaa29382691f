/** Paths as people read them. */
import { relative } from 'node:path';

/** Relative to the working directory where it is inside of it; below `/`, where everything is, as it is. */
export function shownPath(path: string): string {
  if (path === '-') return 'standard input';
  if (process.cwd() === '/') return path;
  const short = relative('', path) || '.';
  return short.startsWith('..') ? path : short;
}
