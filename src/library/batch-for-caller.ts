/** Opens the batch whose path a program passes to the library. */
import { Batch } from '../batch/batch.ts';
import { overridesOf } from '../batch/overrides.ts';
import { pipelineIn } from '../runner/config/pipeline-in.ts';
import { localService } from '../service/instance/local-service.ts';

/**
 * `file`: a pipeline.yaml or its folder; for reading also the output folder. `options`: named like those of the
 * command line.
 */
export function batchForCaller(
  file: string,
  options: Record<string, unknown>,
  env: NodeJS.ProcessEnv = process.env,
): Batch {
  return Batch.at({
    file: pipelineIn(file),
    overrides: overridesOf(options, env),
    output: options['output'],
    env,
    localService,
    // The library prints nothing.
    onTrouble: () => undefined,
  });
}
