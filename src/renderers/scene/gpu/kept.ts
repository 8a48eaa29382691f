/** What is slow to make and stays from picture to picture, as long as there is not too much of it. */

export class Kept<Value extends { dispose(): void }> {
  readonly #made = new Map<string, Value>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  of(key: string, make: () => Value): Value {
    const made = this.#made.get(key) ?? make();
    this.#made.set(key, made);
    return made;
  }

  trim(): void {
    if (this.#made.size <= this.#max) return;
    for (const value of this.#made.values()) value.dispose();
    this.#made.clear();
  }
}
