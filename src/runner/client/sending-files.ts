/** Wraps a job service so that the files that an input names are sent with it. */
import { base64Bytes, filesIn } from '../core/file-text.ts';
import { type Failure, FatalFailure } from '../core/failure.ts';
import type { ByteSemaphore } from '../../lib/limits/byte-semaphore.ts';
import { fillInFiles, type ReadObject } from '../files/sent-files.ts';
import type { RenderService } from '../pipeline/ports.ts';

/** Copies of a file in memory: its text, the body that contains it, and the bytes being sent. */
const copies = 3;

/**
 * Returns a service that reads files only when their job is sent, because scenes wait for hours. `memory`
 * limits how many are read at a time. `base` is the folder of pipeline.yaml. `readObject` reads files from
 * buckets. `advice` is for a file that has changed.
 */
export function sendingFiles(
  service: RenderService,
  base: string,
  memory: ByteSemaphore,
  readObject: ReadObject,
  advice?: string,
): RenderService {
  return {
    submit: async (endpoint, input, signal, ...known) => {
      const files = filesIn(input);
      if (files.length === 0) return service.submit(endpoint, input, signal, ...known);
      const bytes = copies * files.reduce((sum, file) => sum + base64Bytes(file), 0);
      if (!(await memory.take(bytes, signal))) return notSent;
      try {
        const filled = await fillInFiles(input, base, readObject, advice).catch(asFailure);
        if ('failure' in filled) return { kind: 'failure', failure: filled.failure };
        return await service.submit(endpoint, filled.input, signal, ...known);
      } finally {
        memory.giveBack(bytes);
      }
    },
    status: (...args) => service.status(...args),
    copyResult: (...args) => service.copyResult(...args),
    cancel: (...args) => service.cancel(...args),
    health: (...args) => service.health(...args),
  };
}

/** Returns the failure if a file cannot be read, and nothing was sent. */
function asFailure(thrown: unknown): { failure: Failure } {
  if (thrown instanceof FatalFailure) return { failure: thrown.failure };
  throw thrown;
}

const notSent = {
  kind: 'failure',
  failure: { kind: 'not-reached', text: 'the run ended before the files were read' },
} as const;
