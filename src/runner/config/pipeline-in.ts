/** Which pipeline.yaml a path means. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A folder stands for the pipeline.yaml in it. */
export function pipelineIn(path: string): string {
  const inside = join(path, 'pipeline.yaml');
  return path !== '' && existsSync(inside) ? inside : path;
}
