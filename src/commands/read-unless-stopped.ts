/** The reading of a run's list, which a stop may cut short. */
import { readJobsInFlight } from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import { readScenes, type ReadScenes } from './read-scenes.ts';
import { sameScenes } from './same-scenes.ts';
import { StoppedEarly } from './signals.ts';

/**
 * Undefined where a stop cut the reading short and there is something in flight to be collected nevertheless. `known`:
 * where the checkpoint of a batch that is there already can be read.
 */
export async function readUnlessStopped(
  config: Config,
  stop: Stop,
  known: { dir: string; isShared: boolean } | undefined,
): Promise<ReadScenes | undefined> {
  try {
    const same = known && (await sameScenes(config, stop.draining, known.dir, known.isShared));
    return same ?? (await readScenes(config, process.stdin, stop.draining, known?.dir));
  } catch (error) {
    if (stop.ending === undefined || !isAbort(error)) throw error;
    if (!stop.leaving.aborted && readJobsInFlight(known?.dir ?? config.output.dir).length > 0)
      return undefined;
    throw new StoppedEarly(stop.ending, untouched);
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

const untouched = 'The manifest was still being read: nothing was sent or changed.';
