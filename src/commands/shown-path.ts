/** Paths as people read them. */
import { relative, join } from 'node:path';
import type { Config } from '../runner/config/config.ts';

/** Relative to the working directory where it is inside of it; below `/`, where everything is, as it is. */
export function shownPath(path: string): string {
  if (path === '-') return 'standard input';
  if (process.cwd() === '/') return path;
  const short = relative('', path) || '.';
  return short.startsWith('..') ? path : short;
}

/** The manifests; where there is none, `file`, the pipeline.yaml that says everything. */
export function shownLists({ manifest }: Config, file: string): string[] {
  return manifest.length === 0 ? [shownPath(file)] : manifest.map(shownPath);
}

/** Undefined where there are none. */
export function keptText(count: number, dir: string): string | undefined {
  if (count === 0) return undefined;
  const kept = count === 1 ? '1 picture that was there is' : `${count} pictures that were there are`;
  return `${kept} kept as <name>.former in ${shownPath(join(dir, 'images'))}`;
}
