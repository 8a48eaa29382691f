/** The batch in numbers, as `summary.json`. */
import type { BatchSummary } from '../core/report-row.ts';
import { instant } from './result-json.ts';

/** What the report is about, and who wrote it when. */
export interface ReportHeader {
  batch: { manifest: string[]; endpoint: { baseUrl: string; id: string; version: string } };
  /** The pipeline.yaml, as an absolute path; undefined where nobody knows. */
  pipeline: string | undefined;
  /** The output folder, where it is not the one of pipeline.yaml, as an absolute path. */
  output?: string | undefined;
  /** `nightrender x.y.z` */
  program: string;
  /** Epoch ms. */
  writtenAt: number;
}

/** Raised when a reader of the file would no longer understand it. */
const formatVersion = 1;

export function summaryJson(summary: BatchSummary, about: ReportHeader): object {
  const { times, lastRun } = summary;
  return {
    formatVersion,
    program: about.program,
    writtenAt: instant(about.writtenAt),
    batch: about.batch,
    ...summary,
    times: {
      ...times,
      firstSubmittedAt: instant(times.firstSubmittedAt),
      lastSavedAt: instant(times.lastSavedAt),
    },
    lastRun: lastRun && {
      ...lastRun,
      startedAt: instant(lastRun.startedAt),
      endedAt: instant(lastRun.endedAt),
    },
  };
}
