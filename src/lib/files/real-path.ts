/** Resolves links, so that each file has one path. */
import { realpathSync } from 'node:fs';

/** Returns the path unchanged if there is no such file. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
