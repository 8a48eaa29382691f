/** `nightrender run`: starts or continues a batch. */
import { isBatch, lockBatch, type BatchLock } from '../checkpoint/batch-lock.ts';
import type { Config } from '../config/config.ts';
import { readConfig } from '../config/read-config.ts';
import type { ReadScenes } from './read-scenes.ts';
import { refuse } from './refuse.ts';
import { overridesOf } from './run-options.ts';

/** Resolves to the exit code. `early`: a lock that was taken on a first look at the file. */
export async function run(
  file: string,
  argv: Record<string, unknown>,
  early: BatchLock | undefined,
): Promise<number> {
  let config: Config | undefined;
  try {
    config = readConfig(file, overridesOf(argv, process.env), process.env);
    return await runConfig(file, config, early);
  } catch (thrown) {
    return refuse(thrown, config?.output.dir, config?.terminal.json ?? argv['json'] === true);
  } finally {
    early?.release();
  }
}

async function runConfig(file: string, config: Config, early: BatchLock | undefined): Promise<number> {
  const { dir } = config.output;
  // A batch that runs is told at once, before its manifest is read; the folder of a new one is not made before its manifest is known to be good.
  let lock = early?.dir === dir ? early : undefined;
  if (isBatch(dir)) lock ??= await lockBatch(dir, Date.now());
  let scenes: ReadScenes | undefined;
  try {
    const { readScenes } = await import('./read-scenes.ts');
    scenes = await readScenes(config, process.stdin);
    lock ??= await lockBatch(dir, Date.now());
    const { runLocked } = await import('./run-locked.ts');
    return await runLocked(file, config, scenes);
  } finally {
    scenes?.stage.close();
    lock?.release();
  }
}
