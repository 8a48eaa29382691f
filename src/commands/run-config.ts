/** A run of a checked pipeline.yaml, up to how it ended: the command and the library come in here. */
import { assertNotOwned, isBatch, lockBatch } from '../runner/checkpoint/batch-lock.ts';
import { assertPlace } from './known-batch.ts';
import { openBucket } from './pictures-place.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import type { RunView } from '../terminal/view.ts';
import type { NotifiedCall, RunCall, RunEnded } from './run-call.ts';

/** Whatever it opens is closed when it resolves. Throws what `refusalOf` knows, and bugs; the targets of `notify` are told of both. */
export async function runConfig(call: RunCall): Promise<RunEnded> {
  const { withNotifier } = await import('./notify-run.ts');
  let view: RunView | undefined;
  const warn = (text: string): void =>
    view === undefined ? call.warn(text) : view.emit({ type: 'warning', text });
  const openView = (): RunView => (view = call.openView());
  return withNotifier({ ...call, warn }, (notifier) => runNotified({ ...call, openView, notifier }));
}

async function runNotified(call: NotifiedCall): Promise<RunEnded> {
  const { config, choices, stop } = call;
  const { dir, pictures } = config.output;
  // What is missing for that is reported before a long list is read.
  if (pictures !== undefined) await (await openBucket(pictures, config.env)).close();
  if (config.checkpoint !== undefined) {
    const { runShared } = await import('./run-shared.ts');
    return runShared(call, config.checkpoint);
  }
  const assertThere = (): void => assertPlace(dir, undefined, choices.isFresh);
  assertThere();
  // A batch that runs is reported before its manifest is read; the folder of a new one is made after that.
  let lock = isBatch(dir) ? await lockBatch(dir, Date.now()) : undefined;
  let scenes: ReadScenes | undefined;
  try {
    const { readUnlessStopped } = await import('./batch-lists.ts');
    const known = lock && 'own';
    const batch = { dir, known, isAdopting: choices.isAdopting } as const;
    scenes = await readUnlessStopped(config, batch, stop);
    lock ??= await lockBatch(dir, Date.now());
    // The list may have been read for a while.
    assertNotOwned(dir);
    // And moved away by who had the lock before, or its disk may be gone.
    assertThere();
    const { runLocked } = await import('./run-locked.ts');
    return await runLocked(call, scenes);
  } finally {
    scenes?.stage.close();
    lock?.release();
  }
}
