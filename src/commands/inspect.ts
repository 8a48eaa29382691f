/** `nightrender inspect`: what a picture says of itself. */
import { ConfigError } from '../lib/yaml/problem.ts';
import { inspectPicture } from '../runner/images/inspect-picture.ts';
import { printInspected } from '../terminal/print-inspected.ts';
import { refuse } from './refuse.ts';

/** Resolves to the exit code. */
export async function inspect(file: string, argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  try {
    const inspected = await inspectPicture(file);
    if ('problem' in inspected) throw new ConfigError([{ where: file, text: inspected.problem }]);
    printInspected(file, inspected, json);
    return 0;
  } catch (thrown) {
    return refuse(thrown, undefined, json);
  }
}
