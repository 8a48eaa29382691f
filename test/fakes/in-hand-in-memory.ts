/** Marks of what a run has in hand, kept in memory across the deaths of its checkpoint. */
import type { InHand, InHandMark } from '../../src/runner/checkpoint/in-hand.ts';

export class InHandInMemory implements InHand {
  readonly #marks: InHandMark[];
  readonly #left: InHandMark[];

  /** `marks` outlives this object. */
  constructor(marks: InHandMark[] = []) {
    this.#marks = marks;
    this.#left = [...marks];
  }

  take(mark: InHandMark): void {
    this.#marks.push(mark);
  }

  drop({ attempt }: InHandMark): void {
    const at = this.#marks.findIndex((mark) => mark.attempt === attempt);
    if (at !== -1) this.#marks.splice(at, 1);
  }

  left(): InHandMark[] {
    return this.#left;
  }

  forgetLeft(): void {
    this.#marks.length = 0;
  }

  close(): void {}
}
