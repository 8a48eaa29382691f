/** Finds the pipeline.yaml that a path means. It loads no schema, so every command can afford it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the pipeline.yaml in a folder that has one, otherwise the path itself. */
export function pipelineIn(path: string): string {
  const inside = join(path, 'pipeline.yaml');
  return path !== '' && existsSync(inside) ? inside : path;
}
