/** `nightrender report`: writes the result files anew from the checkpoint. */
import { readOutputDir } from '../runner/config/read-output-dir.ts';
import { readReportSettings, type ReportSettings } from '../runner/config/read-report-settings.ts';
import { createFilesView, type FilesView } from '../terminal/files-view.ts';
import { writeBatchReport } from './batch-report.ts';
import { commandArguments } from './command-arguments.ts';
import { makeContactSheets } from './contact-sheets.ts';
import { makeMissingFiles, type MadeFiles } from './make-missing-files.ts';
import { noBatch } from './no-batch.ts';
import { refuse } from './refuse.ts';
import { overridesOf } from './run-options.ts';
import { shownPath } from './shown-path.ts';
import { withSignals } from './signals.ts';
import { StoppedEarly } from './stopped-early.ts';
import { systemClock } from './system-clock.ts';

/** Resolves to the exit code. */
export async function report(file: string, argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  let dir: string | undefined;
  try {
    const overrides = overridesOf(argv, process.env);
    dir = readOutputDir(file, overrides, process.env);
    const settings = readReportSettings(file, overrides, process.env);
    const view = createFilesView({
      json,
      file: commandArguments(file, argv['output']),
      elapsed: () => systemClock.elapsed(),
    });
    const isWithSheets = argv['contactSheet'] === true;
    const { files, made } = await writeUnlessStopped(dir, { ...settings, isWithSheets }, view);
    view.end(files.map(shownPath), made);
    return 0;
  } catch (thrown) {
    return refuse(thrown, dir, json, commandArguments(file, argv['output']));
  }
}

interface Written {
  /** Absolute paths. */
  files: string[];
  made: MadeFiles;
}

/** Of a result file that is not finished nothing is left. */
function writeUnlessStopped(
  dir: string,
  settings: ReportSettings & { isWithSheets: boolean },
  view: FilesView,
): Promise<Written> {
  return withSignals(async (stop) => {
    let consequence = 'The result files are what they were before.';
    try {
      const files = await writeBatchReport(dir, Date.now(), stop.leaving);
      if (files === undefined) throw noBatch(dir);
      consequence =
        'The result files are written; thumbnails, copies and contact sheets are left to the next time.';
      const made = await makeMissingFiles(dir, settings, stop.leaving, view);
      const sheets = settings.isWithSheets ? await makeContactSheets(dir, stop.leaving) : [];
      return { files: [files.index, files.csv, files.jsonl, files.summary, ...sheets], made };
    } catch (error) {
      if (stop.ending === undefined || error !== stop.leaving.reason) throw error;
      throw new StoppedEarly(stop.ending, consequence);
    }
  });
}
