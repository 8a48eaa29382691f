/** A scene as the page of the report is given it. */
import { withFilesNamed } from '../core/file-text.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { SavedPicture } from '../core/picture.ts';
import { promptOf } from '../core/prompt.ts';
import type { ReportRow } from '../core/report-row.ts';
import { thumbnailOf } from '../core/thumbnail.ts';
import type { GalleryPicture, GalleryRow } from '../core/gallery-data.ts';
import { pathOf } from './result-json.ts';

/** `columns` are the manifest's, in order. */
export function galleryRow(row: ReportRow, columns: string[]): GalleryRow {
  const values = columns.map((name) => shortened(row.columns[name] ?? null));
  const prompt = promptOf(row.input ?? {}, row.columns);
  const input = unsaid(row, prompt);
  const { failureKind, failureText } = row;
  return {
    ...(row.id !== null && { id: row.id }),
    state: row.state,
    ...(prompt !== undefined && { prompt: shownPrompt(prompt, row, columns) }),
    ...(row.pictures.length > 0 && { pictures: row.pictures.map(galleryPicture) }),
    ...(values.some((value) => value !== null) && { values }),
    ...(Object.keys(input).length > 0 && { input }),
    ...known({
      job: row.jobId,
      attempts: row.attempts,
      unanswered: row.unanswered,
      expired: row.expired,
      delayMs: row.delayTimeMs,
      executionMs: row.executionTimeMs,
      submittedAt: row.submittedAt,
      completedAt: row.completedAt,
      savedAt: row.savedAt,
    }),
    // A scene that came out at last has no failure to tell of.
    ...(failureKind !== null && row.state !== 'saved' && { failure: [failureKind, failureText ?? ''] }),
    source: row.source,
  };
}

function galleryPicture(picture: SavedPicture): GalleryPicture {
  const { width, height, bytes, seed } = picture;
  const thumbnail = thumbnailOf(picture);
  return {
    file: `../${addressOf(pathOf(picture))}`,
    ...(thumbnail !== undefined && { thumbnail }),
    width,
    height,
    bytes,
    ...(seed !== undefined && { seed }),
  };
}

/** Names may hold anything that file systems take: `#`, `?` and `%` too. */
function addressOf(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** Where the text is a column as it stands, its number. */
function shownPrompt(text: string, { columns }: ReportRow, names: string[]): string | number {
  const column = names.findIndex((name) => columns[name] === text);
  return column === -1 ? short(text) : column;
}

/** What is sent and is neither the prompt nor stands in a column of that name. */
function unsaid({ input, columns }: ReportRow, prompt: string | undefined): JsonObject {
  const entries = Object.entries(input ?? {}).filter(
    ([name, value]) => value !== columns[name] && value !== prompt,
  );
  return Object.fromEntries(entries.map(([name, value]) => [name, shortened(withFilesNamed(value))]));
}

function known(numbers: Record<string, string | number | null>): Partial<GalleryRow> {
  return Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== null && value !== 0));
}

/** Characters of one value in the page; results.csv has all of it. */
const mostText = 20_000;

function short(text: string): string {
  if (text.length <= mostText) return text;
  return `${text.slice(0, mostText)} … (${text.length - mostText} more characters)`;
}

function shortened(value: JsonValue): JsonValue {
  if (typeof value === 'string') return short(value);
  if (typeof value !== 'object' || value === null) return value;
  const text = JSON.stringify(value);
  return text.length <= mostText ? value : short(text);
}
