/** The batch that another program names by a path. */
import { Batch } from '../batch/batch.ts';
import { overridesOf } from '../batch/overrides.ts';
import { pipelineIn } from '../runner/config/pipeline-in.ts';
import { localService } from '../service/instance/local-service.ts';

/** `file`: a pipeline.yaml or the folder with one; for those who only read, the output folder as well. `options`: by the names of command-line options. */
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
    // A library prints nothing.
    onTrouble: () => undefined,
  });
}
