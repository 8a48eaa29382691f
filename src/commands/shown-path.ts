/** Paths as people read them. */
import { relative } from 'node:path';

/** Relative to the working directory where it is inside of it. */
export function shownPath(path: string): string {
  if (path === '-') return 'standard input';
  const short = relative('', path) || '.';
  return short.startsWith('..') ? path : short;
}
