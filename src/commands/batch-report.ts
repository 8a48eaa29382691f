/** The report of a batch folder, from its checkpoint. */
import { dirname, join, relative, resolve, sep } from 'node:path';
import { readBatch, resultColumns, type BatchIdentity } from '../runner/checkpoint/batch-identity.ts';
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import { readLabels, readListNames } from '../runner/checkpoint/recorded-pictures.ts';
import { readRows } from '../runner/checkpoint/read-rows.ts';
import { readRuns, readSummary } from '../runner/checkpoint/read-summary.ts';
import { batchName } from '../runner/core/batch-name.ts';
import { untilNote } from '../runner/core/seeds-until.ts';
import type { ReportHeader } from '../runner/report/result-json.ts';
import { writeReport, type ReportFiles } from '../runner/report/write-report.ts';
import { program } from '../lib/files/program.ts';

/** Whose time the report counts. */
export const maxRuns = 10_000;

/** What its checkpoint does not say. */
export type HeaderChoices = Pick<ReportHeader, 'bucket' | 'hasBom' | 'separator'>;

/**
 * Undefined where the folder has no checkpoint that a run has begun. `checkpointDir`: where
 * that is. Throws the reason of `signal` where that cuts it.
 */
export async function writeBatchReport(
  dir: string,
  now: number,
  signal: AbortSignal,
  chosen: HeaderChoices = {},
  checkpointDir = dir,
): Promise<ReportFiles | undefined> {
  const db = openCheckpointForReading(checkpointDir);
  if (db === undefined) return undefined;
  try {
    // One view of the batch for all three files, though a run may be writing.
    db.exec('BEGIN');
    const batch = readBatch(db);
    if (batch === undefined) return undefined;
    const source = {
      rows: () => readRows(db),
      columns: () => resultColumns(batch),
      labels: () => readLabels(db),
      lists: () => readListNames(db),
      runs: () => readRuns(db, maxRuns),
      summary: () => readSummary(db, signal),
    };
    const about = reportHeader(dir, batch, now, chosen);
    return await writeReport(join(dir, 'report'), source, about, signal);
  } finally {
    db.close();
  }
}

/** `dir`: the output folder. */
export function reportHeader(
  dir: string,
  { axes = [], values = [], manifest, endpoint, pipeline, output, rules, stage, until }: BatchIdentity,
  writtenAt: number,
  chosen: HeaderChoices = {},
): ReportHeader {
  const name = batchName(resolve(dir));
  const batch = { manifest, endpoint };
  const stageAt =
    stage === undefined || pipeline === undefined
      ? undefined
      : `${relative(join(resolve(dir), 'report'), dirname(pipeline))
          .split(sep)
          .map(encodeURIComponent)
          .join('/')}/`;
  const names = values.map((value) => value.name);
  const bias = until === undefined ? null : untilNote(until);
  const about = { name, axes, values: names, batch, rules, bias, stageAt, pipeline, output };
  return { ...about, program, writtenAt, ...chosen };
}
