/** Puts on record how the program ended on a batch. */
import type { OpenCheckpoint } from '../runner/checkpoint/open-checkpoint.ts';
import { endings, type Ending } from '../runner/core/ending.ts';
import type { RunStats } from '../runner/core/run-stats.ts';
import { refusalOf } from './refusal.ts';

/** Where the disk does not take even this, the ending itself has said so. */
export function recordEnd(opened: OpenCheckpoint, { kind, text }: Ending, stats?: RunStats): void {
  try {
    opened.recordEnd({ at: Date.now(), exitCode: endings[kind].exitCode, ending: text, stats });
  } catch (error) {
    if (refusalOf(error, undefined)?.ending !== 'output-unwritable') throw error;
  }
}

/** As above, for whatever was thrown. */
export function recordThrown(opened: OpenCheckpoint, thrown: unknown, dir: string): void {
  recordEnd(opened, { kind: refusalOf(thrown, dir)?.ending ?? 'bug', text: (thrown as Error).message });
}
