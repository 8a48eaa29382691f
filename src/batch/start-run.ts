/** One start of the program on a batch, up to how it ended: finds the record, reads the list, begins, and tells the targets of `notify`. */
import type { RunEnded } from '../runner/pipeline/event.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import { assertBucketConfigured } from './pictures-place.ts';
import { runBegun, type RunCall } from './begun-run.ts';
import { readUnlessStopped } from './lists.ts';
import { withNotifier } from './notifications.ts';
import type { BatchRecord } from './record.ts';

/** Closes whatever it opens. Throws what `refusalOf` knows, and bugs; the targets of `notify` are told of both. */
export async function startRun(call: RunCall, found: BatchRecord): Promise<RunEnded> {
  return withNotifier(call, async (notifier) => {
    const { config, choices, stop, emit } = call;
    await assertBucketConfigured(config.output.pictures, config.env);
    const record = await found.openForRun(choices);
    let scenes: ReadScenes | undefined;
    try {
      const { isAdopting } = choices;
      const onTrouble = (text: string): void => emit({ type: 'warning', text });
      const listed = { dir: record.dir, known: record.known, isAdopting, onTrouble };
      scenes = await readUnlessStopped(config, listed, stop);
      const begun = await record.begin(call, scenes);
      return await runBegun(call, begun, scenes, notifier);
    } finally {
      scenes?.stage.close();
      await record.close();
    }
  });
}
