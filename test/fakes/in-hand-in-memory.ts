/** Crash markers in memory. They outlive a crash of the run that set them. */
import type { CrashMarkers, CrashMarker } from '../../src/runner/checkpoint/batch-lock.ts';

export class CrashMarkersInMemory implements CrashMarkers {
  readonly #marks: CrashMarker[];
  readonly #left: CrashMarker[];

  /** `marks` outlives this object. */
  constructor(marks: CrashMarker[] = []) {
    this.#marks = marks;
    this.#left = [...marks];
  }

  take(mark: CrashMarker): void {
    this.#marks.push(mark);
  }

  drop({ attempt }: CrashMarker): void {
    const at = this.#marks.findIndex((mark) => mark.attempt === attempt);
    if (at !== -1) this.#marks.splice(at, 1);
  }

  left(): CrashMarker[] {
    return this.#left;
  }

  forgetLeft(): void {
    if (this.#left.splice(0).length > 0) this.#marks.length = 0;
  }

  close(): void {}
}
