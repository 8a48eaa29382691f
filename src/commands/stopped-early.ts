/** A signal that came before the work was begun that would have ended in order. */
import type { Ending } from '../runner/core/ending.ts';

export class StoppedEarly extends Error {
  readonly ending: Ending;

  /** `consequence` is a sentence: what that means for the batch. */
  constructor(ending: Ending, consequence: string) {
    super(`${ending.text}. ${consequence}`);
    this.ending = ending;
  }
}
