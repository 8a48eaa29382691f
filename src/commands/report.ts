/** `nightrender report`: writes the result files anew from the checkpoint. */
import { readOutputDir } from '../config/read-output-dir.ts';
import type { ReportFiles } from '../report/write-report.ts';
import { showFiles } from '../terminal/show-files.ts';
import { writeBatchReport } from './batch-report.ts';
import { noBatch } from './no-batch.ts';
import { refuse } from './refuse.ts';
import { overridesOf } from './run-options.ts';
import { shownPath } from './shown-path.ts';
import { withSignals } from './signals.ts';
import { StoppedEarly } from './stopped-early.ts';

/** Resolves to the exit code. */
export async function report(file: string, argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  let dir: string | undefined;
  try {
    dir = readOutputDir(file, overridesOf(argv, process.env), process.env);
    const files = await writeUnlessStopped(dir);
    if (files === undefined) throw noBatch(dir);
    showFiles([files.csv, files.jsonl, files.summary].map(shownPath), json);
    return 0;
  } catch (thrown) {
    return refuse(thrown, dir, json);
  }
}

/** Of a report that is not finished nothing is left. */
function writeUnlessStopped(dir: string): Promise<ReportFiles | undefined> {
  return withSignals(async (stop) => {
    try {
      return await writeBatchReport(dir, Date.now(), stop.leaving);
    } catch (error) {
      if (stop.ending === undefined || error !== stop.leaving.reason) throw error;
      throw new StoppedEarly(stop.ending, 'The result files are what they were before.');
    }
  });
}
