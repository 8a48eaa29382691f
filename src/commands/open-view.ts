/** What shows a run as it is configured: the terminal, and a log file where one is asked for. */
import type { Config } from '../runner/config/config.ts';
import { isFreeOfCharge } from '../runner/core/spending.ts';
import { withLogFile } from '../terminal/log-file.ts';
import { canRedraw } from '../terminal/console.ts';
import { jsonLines } from '../terminal/json-lines.ts';
import { LiveView } from '../terminal/live-view.ts';
import { PlainView } from '../terminal/plain-view.ts';
import type { RunView } from '../terminal/view.ts';
import { configuredArguments, configuredRun, shownPath } from '../batch/shown-path.ts';
import { shownImages } from '../batch/pictures-place.ts';
import { systemClock } from '../batch/system-clock.ts';

/** Opens the terminal, and the log file once the run has started. `file`: path of pipeline.yaml, as it was given. */
export function openRunView(file: string, config: Config): RunView {
  let run: RunView | undefined;
  return {
    emit: (event) => {
      if (event.type === 'run-started') run ??= openView(file, config);
      if (run !== undefined) return run.emit(event);
      const before = openTerminal(file, config);
      before.emit(event);
      before.close();
    },
    close: () => run?.close(),
  };
}

function openView(file: string, config: Config): RunView {
  const view = openTerminal(file, config);
  const { log } = config.terminal;
  const shownDir = shownPath(config.output.dir);
  if (log === undefined) return view;
  const { emit, close, reopen } = withLogFile(view, { file: log, shownDir, now: Date.now });
  process.on('SIGUSR2', reopen);
  const closeAll = (): void => {
    process.removeListener('SIGUSR2', reopen);
    close();
  };
  return { emit, close: closeAll };
}

/** The terminal alone: JSON lines where asked for, a bar where it can be redrawn, else plain lines. */
function openTerminal(file: string, config: Config): RunView {
  const { log: _, ...options } = config.terminal;
  const shownDir = shownPath(config.output.dir);
  const elapsed = (): number => systemClock.elapsed();
  if (options.json) return { emit: jsonLines(Date.now), close: () => undefined };
  const View = canRedraw(process.stderr) && !options.quiet ? LiveView : PlainView;
  return new View({
    ...options,
    file: configuredArguments(file, config),
    runArguments: configuredRun(file, config),
    shownDir,
    shownImages: shownImages(config.output.dir, config.output.pictures),
    isFree: isFreeOfCharge(config.endpoint, config.pricing),
    now: Date.now,
    elapsed,
  });
}
