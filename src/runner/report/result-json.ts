/** A scene as one line of `results.jsonl`. */
import type { SavedPicture } from '../core/picture.ts';
import type { ReportRow } from '../core/report-row.ts';

export function resultLine(row: ReportRow): string {
  return `${JSON.stringify(resultJson(row))}\n`;
}

/** Times in ms as the service counts them, instants in ISO 8601 UTC, null for what is not known. */
function resultJson(row: ReportRow): object {
  return {
    id: row.id,
    state: row.state,
    pictures: row.pictures.map((picture) => ({
      file: pathOf(picture),
      width: picture.width,
      height: picture.height,
      bytes: picture.bytes,
      sha256: picture.sha256,
      // In quotes: a seed may be beyond what a JSON reader keeps exactly.
      seed: picture.seed ?? null,
    })),
    jobId: row.jobId,
    attempts: row.attempts,
    unanswered: row.unanswered,
    expired: row.expired,
    delayTime: row.delayTimeMs,
    executionTime: row.executionTimeMs,
    submittedAt: instant(row.submittedAt),
    completedAt: instant(row.completedAt),
    savedAt: instant(row.savedAt),
    failure: row.failureKind === null ? null : { kind: row.failureKind, text: row.failureText ?? '' },
    source: row.source,
    columns: row.columns,
    endpoint: row.endpoint,
  };
}

/** The picture's path from the output folder, which the report's folder lies in too. */
export function pathOf(picture: SavedPicture): string {
  return `images/${picture.file}`;
}

/** Epoch ms as ISO 8601 in UTC. */
export function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
