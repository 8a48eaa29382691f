/** What a run shows: a bar on a terminal, plain lines elsewhere, JSON lines where asked for. */
import type { Listener } from '../pipeline/ports.ts';
import { jsonLines } from './json-lines.ts';
import { LiveView } from './live-view.ts';
import { PlainView } from './plain-view.ts';

export interface ViewOptions {
  json: boolean;
  quiet: boolean;
  /** The output folder as people should read it. */
  shownDir: string;
  now: () => number;
  /** Monotonic ms. */
  elapsed: () => number;
}

export interface RunView {
  tell: Listener;
  /** Stops whatever still draws. */
  close(): void;
}

export function createRunView(options: ViewOptions): RunView {
  if (options.json) return { tell: jsonLines(options.now), close: () => undefined };
  const isLive = process.stderr.isTTY && process.env['TERM'] !== 'dumb' && !options.quiet;
  return isLive ? new LiveView(options) : new PlainView(options);
}
