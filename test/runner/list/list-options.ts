/**
 * Options for tests that read lists: empty standard input, no stop signal, and stages as commands open them.
 */
import { Readable } from 'node:stream';
import { openStage } from '../../../src/batch/lists.ts';
import type { ListOptions } from '../../../src/runner/list/read-scenes.ts';
import { unstopped } from '../../fakes/world.ts';

export function listOptions(changed: Partial<ListOptions> = {}): ListOptions {
  return { stdin: Readable.from([]), signal: unstopped, openStage, ...changed };
}
