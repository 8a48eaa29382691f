/** Reads a JSON array of objects, element by element: one of any length is never in memory as a whole. */
import { ArrayProblem, cutElements } from './cut-elements.ts';
import { ManifestError, maxBatchRows, type ManifestEntry } from './manifest.ts';
import { readJsonLine } from './read-json-line.ts';

export async function* readJsonArray(
  path: string,
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<ManifestEntry[]> {
  try {
    for await (const elements of cutElements(bytes)) {
      for (let start = 0; start < elements.length; start += maxBatchRows) {
        const batch = elements.slice(start, start + maxBatchRows);
        yield batch.map(({ line, text, problem }) =>
          problem === undefined ? readJsonLine(text, line) : { kind: 'bad', line, problem },
        );
      }
    }
  } catch (error) {
    throw error instanceof ArrayProblem ? new ManifestError(path, error.message, error.line) : error;
  }
}
