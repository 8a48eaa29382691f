/** A job service that is sent the files that an input names. */
import { base64Bytes, filesIn } from '../core/file-text.ts';
import { type Failure, FatalFailure } from '../core/failure.ts';
import type { ByteSemaphore } from '../../lib/limits/byte-semaphore.ts';
import { fillInFiles, type ReadObject } from '../files/sent-files.ts';
import type { RenderService } from '../pipeline/ports.ts';

/** A text, the body that holds it, and its bytes on their way. */
const copies = 3;

/**
 * Files are read when their job is sent, as many at a time as `memory` has room for: scenes wait for hours. `base` is the
 * folder of pipeline.yaml; `readObject` reads those that are in buckets; `advice` is for one that is another by now.
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

/** Of a bucket that does not answer: nothing was sent. */
function asFailure(thrown: unknown): { failure: Failure } {
  if (thrown instanceof FatalFailure) return { failure: thrown.failure };
  throw thrown;
}

const notSent = {
  kind: 'failure',
  failure: { kind: 'not-reached', text: 'the run ended before the files were read' },
} as const;
