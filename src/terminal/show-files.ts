/** Files that were written. */
import { writeOut } from './console.ts';

export function showFiles(files: string[], json: boolean): void {
  if (json) return writeOut(JSON.stringify({ type: 'files-written', files }));
  for (const file of files) writeOut(file);
}
