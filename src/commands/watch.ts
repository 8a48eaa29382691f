/** `nightrender watch`: watch a batch in the browser. */
import { printWatching, printWatchFailure } from '../terminal/print-serving.ts';
import { startWatchServer } from '../runner/watch/start-watch-server.ts';
import { builtPage } from '../lib/net/built-page.ts';
import { shownPath } from './shown-path.ts';
import { untilSignal } from './signals.ts';
import { wholeNumber, fileIn } from './option-values.ts';
import type { LoadedCommand } from './command.ts';
import { onBatch, type BatchCall } from './on-batch.ts';
import { common } from './exit-codes.ts';
import { watchedBatch } from './watched-batch.ts';

export const watchCommand: LoadedCommand = {
  purpose: `Serves the gallery of a batch on 127.0.0.1 until SIGINT or SIGTERM, live: progress, throughput, failures, and the pictures as they arrive. Read-only; needs no key; works before, during and after a run. Anyone with an account on this machine can open it.`,
  shared: ['output', 'json'],
  options: { port: { requiresArg: true, default: 4748, describe: 'port on 127.0.0.1; 0 for a free one' } },
  examples: [
    ['$0 watch pipeline.yaml', 'then open http://127.0.0.1:4748/'],
    ['ssh -L 4748:127.0.0.1:4748 me@attic', 'opens the same address on another machine'],
    ['$0 watch pipeline.yaml --port 0 --json', 'for a script: a free port, printed as JSON'],
  ],
  exits: {
    ...common,
    complete: 'stopped by SIGINT or SIGTERM',
    'wrong-use': 'wrong use or configuration, or the port is in use',
  },
  work: (argv) => onBatch(fileIn(argv), argv, (call) => watch(call, argv)),
};

const withoutScript = 'This page needs JavaScript. In a terminal, use <code>nightrender status</code>.';

/** Serves until SIGINT or SIGTERM. */
async function watch({ dir, record, json, others }: BatchCall, argv: Record<string, unknown>): Promise<void> {
  const port = wholeNumber(argv, 'port', 0, 65_535);
  const stop = new AbortController();
  const batch = watchedBatch({ dir, others, record, signal: stop.signal });
  const { state } = await batch.read();
  const server = await startWatchServer({
    batch,
    page: builtPage('gallery', withoutScript),
    port,
    onProblem: printWatchFailure,
  });
  const shown = { url: server.url, dir, shownDir: shownPath(dir), hasBatch: state.run.kind !== 'none' };
  const stopped = untilSignal();
  printWatching(shown, json);
  await stopped;
  stop.abort();
  await server.close();
}
