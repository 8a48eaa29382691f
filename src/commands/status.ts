/** `nightrender status`: where a batch stands, while it runs, after it ended and after it died. */
import { isBatchHeld } from '../checkpoint/batch-lock.ts';
import { openCheckpointForReading } from '../checkpoint/open-checkpoint.ts';
import { readNumbers } from '../checkpoint/read-summary.ts';
import { readOutputDir } from '../config/read-output-dir.ts';
import { showStatus } from '../terminal/show-status.ts';
import { noBatch } from './no-batch.ts';
import { refuse } from './refuse.ts';
import { overridesOf } from './run-options.ts';
import { shownPath } from './shown-path.ts';

/** Resolves to the exit code. */
export function status(file: string, argv: Record<string, unknown>): number {
  const json = argv['json'] === true;
  let dir: string | undefined;
  try {
    dir = readOutputDir(file, overridesOf(argv, process.env), process.env);
    const db = openCheckpointForReading(dir);
    if (db === undefined) throw noBatch(dir);
    try {
      showStatus(
        { dir, shownDir: shownPath(dir), isRunning: isBatchHeld(dir), summary: readNumbers(db) },
        json,
      );
    } finally {
      db.close();
    }
    return 0;
  } catch (thrown) {
    return refuse(thrown, dir, json);
  }
}
