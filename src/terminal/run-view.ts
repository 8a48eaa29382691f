/** Shows a run as it is configured: on the terminal, and in a log file if one is asked for. */
import { canRedraw } from './console.ts';
import { jsonLines } from './json-lines.ts';
import { LiveView } from './live-view.ts';
import { withLogFile } from './log-file.ts';
import { PlainView } from './plain-view.ts';
import type { RunView, ViewOptions } from './view.ts';

/** Opens the terminal, and the log file once the run has started. `log`: path of the log file; SIGUSR2 opens it again. */
export function openRunView(options: ViewOptions, log: string | undefined): RunView {
  let shown: RunView | undefined;
  return {
    emit: (event) => {
      if (event.type === 'run-started') shown ??= openView(options, log);
      if (shown !== undefined) return shown.emit(event);
      const before = openTerminal(options);
      before.emit(event);
      before.close();
    },
    close: () => shown?.close(),
  };
}

function openView(options: ViewOptions, log: string | undefined): RunView {
  const view = openTerminal(options);
  const { shownDir } = options;
  if (log === undefined) return view;
  const { emit, close, reopen } = withLogFile(view, { file: log, shownDir, now: Date.now });
  process.on('SIGUSR2', reopen);
  const closeAll = (): void => {
    process.removeListener('SIGUSR2', reopen);
    close();
  };
  return { emit, close: closeAll };
}

/** Opens JSON lines if they are asked for, a bar if the terminal can redraw it, else plain lines. */
function openTerminal(options: ViewOptions): RunView {
  if (options.json) return { emit: jsonLines(Date.now), close: () => undefined };
  const View = canRedraw(process.stderr) && !options.quiet ? LiveView : PlainView;
  return new View(options);
}
