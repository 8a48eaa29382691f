/** Scenes of a batch, one a line, no wider than the terminal. */
import { oneLine } from '../lib/text/format.ts';
import { promptOf } from '../runner/core/prompt.ts';
import type { ReportRow } from '../runner/core/report-row.ts';
import { cutTo, fitted, harmless, padTo, widthOf } from './fit-text.ts';
import { outColumns } from './console.ts';

/** Lines for the rows that come, aligned as the first of them need it. */
export function listLines(shownImages: string): (rows: ReportRow[]) => string {
  const columns = outColumns();
  let idCells: number | undefined;
  return (rows) => {
    const lines = rows.map((row) => ({ row, id: harmless(row.id ?? '(no id)') }));
    idCells ??= Math.min(maxIdCells, Math.max(...lines.map(({ id }) => widthOf(id))));
    const cells = idCells;
    return lines.map(({ row, id }) => `${lineOf(row, padTo(id, cells), shownImages, columns)}\n`).join('');
  };
}

/** A longer id moves the rest of its line. */
const maxIdCells = 32;

/** Of a prompt; where there is less room than twice the least, it is left out. */
const maxPromptCells = 48;
const minPromptCells = 20;

function lineOf(row: ReportRow, id: string, shownImages: string, columns: number): string {
  const attempts = row.attempts === 0 ? '' : `${row.attempts}×`;
  const start = `${id}  ${row.state.padEnd(9)}  ${attempts.padStart(2)}  `;
  const room = columns - widthOf(start);
  const cells = Math.min(maxPromptCells, Math.floor(room / 2) - 2);
  const prompt = oneLine(promptOf(row.input ?? {}, row.columns) ?? '') ?? '';
  const shown = cells < minPromptCells ? '' : `${padTo(fitted(prompt, cells), cells)}  `;
  const what = fitted(...whatOf(row, shownImages, room - widthOf(shown)));
  return cutTo((start + shown + what).trimEnd(), columns);
}

/** Its file, whose end counts most, or what went wrong with it last. */
function whatOf(
  { state, pictures, files, failureKind, failureText, jobId, source }: ReportRow,
  shownImages: string,
  cells: number,
): [text: string, cells: number, keep: 'start' | 'end'] {
  const [first, ...more] = [...pictures, ...files];
  if (first !== undefined) {
    const path = `${shownImages}/${first.file}${more.length === 0 ? '' : ` and ${more.length} more`}`;
    return [path, cells, 'end'];
  }
  if (state === 'invalid') return [`${source}: ${failureText ?? ''}`, cells, 'start'];
  if (failureKind !== null) return [`${failureKind}: ${failureText ?? ''}`, cells, 'start'];
  return [state === 'active' && jobId !== null ? `job ${jobId}` : '', cells, 'start'];
}
