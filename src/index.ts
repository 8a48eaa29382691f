/** The entry point of the library. It loads the rest when a function is called. */
import { EventQueue } from './library/event-queue.ts';
import type * as library from './library/library.ts';
import { whyUnsupported } from './lib/supported-node.ts';

/** Native modules built for a newer Node crash an older one silently. */
const unsupported = whyUnsupported(process.versions.node);
if (unsupported !== undefined) throw new Error(unsupported);

export const runBatch: typeof library.runBatch = (file, options = {}) => {
  const queue = new EventQueue();
  const result = import('./library/run-for-caller.ts')
    .then(({ runForCaller }) =>
      runForCaller(file, options, (event) => queue.push({ ...event, at: new Date().toISOString() })),
    )
    .finally(() => queue.end());
  // A caller may await the result only after the last event. Until then a rejection is no bug.
  result.catch(() => undefined);
  return { events: queue.read(), result };
};

export const readBatch: typeof library.readBatch = async (file, options = {}) => {
  const { readForCaller } = await import('./library/upkeep-for-caller.ts');
  return readForCaller(file, options);
};

export const planBatch: typeof library.planBatch = async (file, options = {}) => {
  const { planForCaller } = await import('./library/run-for-caller.ts');
  return planForCaller(file, options);
};

export const cancelBatch: typeof library.cancelBatch = async (file, options = {}) => {
  const { cancelForCaller } = await import('./library/run-for-caller.ts');
  return cancelForCaller(file, options);
};

export const retryScenes: typeof library.retryScenes = async (file, options = {}) => {
  const { retryForCaller } = await import('./library/upkeep-for-caller.ts');
  return retryForCaller(file, options);
};

export const verifyBatch: typeof library.verifyBatch = async (file, options = {}) => {
  const { verifyForCaller } = await import('./library/upkeep-for-caller.ts');
  return verifyForCaller(file, options);
};

export const exportBatch: typeof library.exportBatch = async (file, options) => {
  const { exportForCaller } = await import('./library/upkeep-for-caller.ts');
  return exportForCaller(file, options);
};
