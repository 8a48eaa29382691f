/** Reads the formats in which every line is a row of its own. */
import { maxBatchRows, type ManifestEntry } from './manifest.ts';
import { isBlank, withoutReturn, type LineBlock } from './split-lines.ts';

export async function* readLines(
  blocks: AsyncIterable<LineBlock>,
  readLine: (text: string, line: number) => ManifestEntry,
): AsyncGenerator<ManifestEntry[]> {
  for await (const { first, lines, problems } of blocks) {
    let batch: ManifestEntry[] = [];
    for (const [index, text] of lines.entries()) {
      const line = first + index;
      const problem = problems.get(line);
      if (problem !== undefined) batch.push({ kind: 'bad', line, problem });
      else if (!isBlank(text)) batch.push(readLine(withoutReturn(text), line));
      if (batch.length === maxBatchRows) {
        yield batch;
        batch = [];
      }
    }
    if (batch.length > 0) yield batch;
  }
}
