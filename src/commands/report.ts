/** `nightrender report`: writes the result files anew from the checkpoint. */
import { readOutputDir } from '../config/read-output-dir.ts';
import { showFiles } from '../terminal/show-files.ts';
import { writeBatchReport } from './batch-report.ts';
import { noBatch } from './no-batch.ts';
import { refuse } from './refuse.ts';
import { overridesOf } from './run-options.ts';
import { shownPath } from './shown-path.ts';

/** Resolves to the exit code. */
export async function report(file: string, argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  let dir: string | undefined;
  try {
    dir = readOutputDir(file, overridesOf(argv, process.env), process.env);
    const files = await writeBatchReport(dir, Date.now());
    if (files === undefined) throw noBatch(dir);
    showFiles([files.csv, files.jsonl, files.summary].map(shownPath), json);
    return 0;
  } catch (thrown) {
    return refuse(thrown, dir, json);
  }
}
