/** The path of a file that was named by hand, as messages about it begin. */
import { relative, resolve } from 'node:path';

/** From the working directory; below `/`, where everything is, absolute. */
export function shownFile(file: string): string {
  return process.cwd() === '/' ? resolve(file) : relative('', file) || file;
}
