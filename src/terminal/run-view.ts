/** What a run shows: a bar on a terminal, plain lines elsewhere, JSON lines where asked for. */
import { canRedraw } from './console.ts';
import { jsonLines } from './json-lines.ts';
import { LiveView } from './live-view.ts';
import { PlainView } from './plain-view.ts';
import type { RunView, ViewOptions } from './view.ts';

export function createRunView(options: ViewOptions): RunView {
  if (options.json) return { emit: jsonLines(options.now), close: () => undefined };
  const isLive = canRedraw(process.stderr) && !options.quiet;
  return isLive ? new LiveView(options) : new PlainView(options);
}
