/** Turns errors of a batch into results of the library's functions. */
import type { Batch } from '../batch/batch.ts';
import { NoBatch } from '../batch/record.ts';
import { asDamage } from '../runner/checkpoint/damage.ts';
import type { EndingKind } from '../runner/core/ending.ts';
import type { Refused, Unreadable } from './library.ts';

/** Returns the refusal that an error stands for. Throws unexpected errors again. */
export function refused(thrown: unknown, batch: Batch): Refused {
  const refusal = batch.refusalOf(thrown);
  if (refusal === undefined) throw thrown;
  const { ending, text, problems } = refusal;
  const kind = ending === 'already-running' ? ending : kindOf(thrown, ending);
  return { kind, text, problems: problems.map((each) => ({ ...each, where: optionOf(each.where) })) };
}

/** Like `refused`, for functions that only read. */
export function unreadable(thrown: unknown, batch: Batch): Unreadable {
  const refusal = batch.refusalOf(thrown, true);
  if (refusal === undefined) throw thrown;
  const { ending, text, problems } = refusal;
  return { kind: kindOf(thrown, ending), text, problems };
}

/** Returns the result of work that the caller's signal ended. `consequence`: a sentence. */
export function interrupted(consequence: string): Refused {
  return { kind: 'interrupted', text: `Stopped by its caller. ${consequence}`, problems: [] };
}

function kindOf(thrown: unknown, ending: EndingKind): Unreadable['kind'] {
  if (thrown instanceof NoBatch) return 'no-batch';
  if (ending === 'output-unwritable') return ending;
  return asDamage(thrown) === undefined ? 'wrong-use' : 'damaged';
}

/** Returns the name of an option as programs spell it: `newSeed` for `--new-seed`. */
function optionOf(where: string): string {
  if (!/^--[a-z-]+$/.test(where)) return where;
  return where.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
