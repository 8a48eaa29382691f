/** Writes the report of a batch from its checkpoint, and records how a run ended, which the report shows. */
import { existsSync, readFileSync } from 'node:fs';
import { assertPlainFile } from '../lib/files/temporary-files.ts';
import type { Config } from '../runner/config/config.ts';
import { endings, type Ending } from '../runner/core/ending.ts';
import { FatalFailure } from '../runner/core/failure.ts';
import type { RunStats } from '../runner/core/run-stats.ts';
import type { Place } from '../runner/images/place.ts';
import { uploadReport } from '../runner/images/upload-report.ts';
import type { Report } from '../runner/pipeline/ports.ts';
import { type OpenCheckpoint, openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import { linksTo, type BatchPlaces } from './pictures-place.ts';
import { refusalOf } from './refusal.ts';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { readBatch, resultColumns, type BatchIdentity } from '../runner/checkpoint/batch-identity.ts';
import { readLabels, readListNames } from '../runner/checkpoint/recorded-pictures.ts';
import { readRecords } from '../runner/checkpoint/scene-records.ts';
import { readRuns, readSummary } from '../runner/checkpoint/read-summary.ts';
import { batchName } from '../runner/core/naming.ts';
import { untilNote } from '../runner/core/seeds-until.ts';
import type { ReportHeader } from '../runner/report/result-json.ts';
import { writeReport, type ReportFiles } from '../runner/report/write-report.ts';
import { program } from '../lib/files/package-file.ts';

/** Maximum number of runs whose time the report adds up. */
export const maxRuns = 10_000;

/** Data for the report that the checkpoint does not contain. */
export type HeaderChoices = Pick<ReportHeader, 'bucket' | 'report'>;

/** Writes the report; undefined if no run has begun in `checkpointDir`. Throws the reason of `signal`. */
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
    // One view of the batch for all files, even if a run is writing.
    db.exec('BEGIN');
    const batch = readBatch(db);
    if (batch === undefined) return undefined;
    const source = {
      rows: () => readRecords(db),
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

/** `dir` is the output folder. */
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

/** Returns the report port of a run. It records the end of the run first, because the report shows it. */
export function reportOf(
  { output: { dir }, report }: Config,
  opened: OpenCheckpoint,
  { images, reportCopy }: BatchPlaces,
): Report {
  const chosen = { bucket: linksTo(images), report };
  const writeNow = async (signal: AbortSignal): Promise<boolean> => {
    await opened.refresh();
    return isWritten(dir, signal, chosen, Date.now(), opened.dir);
  };
  return {
    write: async (ending, signal, stats) => {
      await recordEnd(opened, ending, stats);
      if (!(await writeNow(signal))) return undefined;
      if (reportCopy !== undefined) await uploadUnlessStopped(reportCopy, join(dir, 'report'), signal);
      return join(dir, 'report');
    },
    update: async (signal) => void (await writeNow(signal)),
    keep: async (ending) => keptReport(dir, opened, ending),
  };
}

/** Uploads the report. If the upload is interrupted, the previous report stays there. */
async function uploadUnlessStopped(to: Place, folder: string, signal: AbortSignal): Promise<void> {
  try {
    await uploadReport(to, folder, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Like `Report.keep`. */
export function keptReport(dir: string, opened: OpenCheckpoint, ending?: Ending): string | undefined {
  const folder = join(dir, 'report');
  const reportedAt = existsSync(join(folder, 'index.html')) ? writtenAtOf(folder) : NaN;
  return opened.forgetRun(reportedAt, ending && endOf(ending)) ? folder : undefined;
}

/** Returns the time of existing result files in epoch ms. NaN if it is unknown. */
function writtenAtOf(folder: string): number {
  try {
    const summary = join(folder, 'summary.json');
    assertPlainFile(summary);
    const { writtenAt } = JSON.parse(readFileSync(summary, 'utf8')) as {
      writtenAt: string;
    };
    return Date.parse(writtenAt);
  } catch {
    return NaN;
  }
}

/** Writes the report. Returns false if `signal` aborts first. `now` is in epoch ms. */
export async function isWritten(
  dir: string,
  signal: AbortSignal,
  chosen?: HeaderChoices,
  now = Date.now(),
  checkpointDir = dir,
): Promise<boolean> {
  try {
    const files = await writeBatchReport(dir, now, signal, chosen, checkpointDir);
    if (files === undefined)
      throw new FatalFailure({
        kind: 'output-unwritable',
        text: 'the checkpoint was removed during the run',
      });
    return true;
  } catch (error) {
    if (signal.aborted && error === signal.reason) return false;
    throw error;
  }
}

/** Records the end. If even this fails because of the disk, the ending itself reports the disk. */
export async function recordEnd(opened: OpenCheckpoint, ending: Ending, stats?: RunStats): Promise<void> {
  try {
    await opened.recordEnd({ at: Date.now(), ...endOf(ending), stats });
  } catch (error) {
    if (refusalOf(error, undefined)?.ending !== 'output-unwritable') throw error;
  }
}

function endOf({ kind, text }: Ending): { exitCode: number; ending: string } {
  return { exitCode: endings[kind].exitCode, ending: text };
}

/** Records that a run ended by an error. */
export async function recordThrown(opened: OpenCheckpoint, thrown: unknown, dir: string): Promise<void> {
  await recordEnd(opened, { kind: refusalOf(thrown, dir)?.ending ?? 'bug', text: (thrown as Error).message });
}
