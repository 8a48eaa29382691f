/** `nightrender watch`: shows a batch in the browser. */
import { watchedBatch } from '../batch/watched-batch.ts';
import type { Batch } from '../batch/batch.ts';
import type { OpenRecord } from '../batch/record.ts';
import { shownPath } from '../batch/refusal.ts';
import { builtPage } from '../lib/http/http-response.ts';
import { startWatchServer } from '../runner/watch/start-watch-server.ts';
import { writeError, writeOut } from '../terminal/terminal.ts';
import { escapeControls } from '../terminal/fit-text.ts';
import { writeJsonLine } from '../terminal/json-lines.ts';
import { commonExits, type LoadedCommand, wholeNumber } from './command.ts';
import { untilSignal } from './signals.ts';
import { onBatch } from './reply.ts';

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
    ...commonExits,
    complete: 'stopped by SIGINT or SIGTERM',
    'wrong-use': 'wrong use or configuration, or the port is in use',
  },
  work: (argv) =>
    onBatch(argv, (batch, json) => batch.onRecord((record) => watch(batch, record, argv, json)), {
      isReading: true,
    }),
};

const withoutScript = 'This page needs JavaScript. In a terminal, use <code>nightrender status</code>.';

async function watch(
  { dir, arguments: others, env }: Batch,
  record: OpenRecord,
  argv: Record<string, unknown>,
  json: boolean,
): Promise<void> {
  const port = wholeNumber(argv, 'port', 0, 65_535);
  const stop = new AbortController();
  const watched = { dir, record, others, env, onTrouble: writeError };
  const batch = watchedBatch(watched, stop.signal);
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

interface Watching {
  url: string;
  dir: string;
  shownDir: string;
  hasBatch: boolean;
}

function printWatching({ url, dir, shownDir, hasBatch }: Watching, json: boolean): void {
  if (json) return writeJsonLine('watching', { url, dir });
  const waits = hasBatch ? '' : ' There is no batch yet; the page waits for one.';
  writeOut(`Watch ${shownDir} at ${url} (this machine only, read-only).${waits}`);
  writeOut('Ctrl-C stops the page, not the run.');
}

function printWatchFailure(text: string): void {
  writeError(`watch: ${escapeControls(text)}`);
}
