/** One path for a file, whatever links lead to it. */
import { realpathSync } from 'node:fs';

/** As it is where there is no such file. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
