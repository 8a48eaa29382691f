/** `nightrender watch`: a page in the browser on which a batch can be watched. */
import { readOutputDir } from '../runner/config/read-output-dir.ts';
import { printWatching, printWatchFailure } from '../terminal/print-watching.ts';
import { startWatchServer } from '../runner/watch/start-watch-server.ts';
import { builtPage } from './built-page.ts';
import { commandArguments } from './command-arguments.ts';
import { refuse } from './refuse.ts';
import { overridesOf } from './run-options.ts';
import { shownPath } from './shown-path.ts';
import { untilSignal } from './until-signal.ts';
import { watchedBatch } from './watched-batch.ts';
import { wholeNumber } from './whole-number.ts';

const withoutScript =
  'This page needs JavaScript; <code>nightrender status</code> tells the same in a terminal.';

/** Serves until SIGINT or SIGTERM; resolves to the exit code. */
export async function watch(file: string, argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  let dir: string | undefined;
  try {
    const port = wholeNumber(argv, 'port', 0, 65_535);
    dir = readOutputDir(file, overridesOf(argv, process.env), process.env);
    const batch = watchedBatch({ dir, commandArguments: commandArguments(file, argv['output']) });
    const { run } = await batch.read();
    const server = await startWatchServer({
      batch,
      page: builtPage('watch', withoutScript),
      port,
      onTrouble: printWatchFailure,
    });
    const shown = { url: server.url, dir, shownDir: shownPath(dir), hasBatch: run.kind !== 'none' };
    const told = untilSignal();
    printWatching(shown, json);
    await told;
    await server.close();
    return 0;
  } catch (thrown) {
    return refuse(thrown, dir, json, commandArguments(file, argv['output']));
  }
}
