/** Scenes of a batch, one a line, no wider than the terminal. */
import type { ReportRow } from '../runner/core/report-row.ts';
import { cutTo, harmless, padTo, widthOf } from './fit-text.ts';
import { outColumns } from './console.ts';

/** Lines for the rows that come, aligned as the first of them need it. */
export function listLines(shownDir: string): (rows: ReportRow[]) => string {
  const columns = outColumns();
  let idCells: number | undefined;
  return (rows) => {
    const lines = rows.map((row) => ({ row, id: harmless(row.id ?? '(no id)') }));
    idCells ??= Math.min(maxIdCells, Math.max(...lines.map(({ id }) => widthOf(id))));
    const cells = idCells;
    return lines
      .map(({ row, id }) => `${cutTo(lineOf(row, padTo(id, cells), shownDir), columns)}\n`)
      .join('');
  };
}

/** A longer id moves the rest of its line. */
const maxIdCells = 32;

function lineOf(row: ReportRow, id: string, shownDir: string): string {
  const attempts = row.attempts === 0 ? '' : `${row.attempts}×`;
  return `${id}  ${row.state.padEnd(9)}  ${attempts.padStart(2)}  ${harmless(whatOf(row, shownDir))}`.trimEnd();
}

/** Its file, or what went wrong with it last. */
function whatOf(
  { state, pictures, failureKind, failureText, jobId, source }: ReportRow,
  shownDir: string,
): string {
  const [first, ...more] = pictures;
  if (first !== undefined) {
    return `${shownDir}/images/${first.file}${more.length === 0 ? '' : ` and ${more.length} more`}`;
  }
  if (state === 'invalid') return `${source}: ${failureText ?? ''}`;
  if (failureKind !== null) return `${failureKind}: ${failureText ?? ''}`;
  return state === 'active' && jobId !== null ? `job ${jobId}` : '';
}
