/** The name of a batch in the gallery and the terminal. */

/** Returns the last two parts of the output folder's path, such as `night/out`. */
export function batchName(dir: string): string {
  return dir
    .split(/[/\\]+/)
    .filter(Boolean)
    .slice(-2)
    .join('/');
}
