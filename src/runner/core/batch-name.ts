/** What a batch is called where people see it: the gallery, the terminal. */

/** The end of its output folder's absolute path: `night/out`. */
export function batchName(dir: string): string {
  return dir
    .split(/[/\\]+/)
    .filter(Boolean)
    .slice(-2)
    .join('/');
}
