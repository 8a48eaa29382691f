/** The marks of a batch, kept in the browser, and the keys that set them. */
import { markNames, marks, type Mark } from './marks.ts';

export class Marks {
  /** Whether they outlive the page: a browser may refuse to keep anything for it. */
  isKept = true;
  readonly #name: string;
  /** By the id of the scene; in the order in which they were marked. */
  #marks: Map<string, Mark>;

  constructor(name: string) {
    this.#name = name;
    this.#marks = this.#read() ?? new Map();
  }

  of(id: string | undefined): Mark | undefined {
    return id === undefined ? undefined : this.#marks.get(id);
  }

  ids(mark: Mark): string[] {
    return [...this.#marks].flatMap(([id, each]) => (each === mark ? [id] : []));
  }

  /** Another tab may have changed them. */
  readAgain(): void {
    this.#marks = this.#read() ?? this.#marks;
  }

  /** A scene has one mark; the same once more takes it away. */
  toggle(id: string, mark: Mark): void {
    this.readAgain();
    const isMarked = this.#marks.get(id) === mark;
    this.#marks.delete(id);
    if (!isMarked) this.#marks.set(id, mark);
    try {
      localStorage.setItem(this.#name, JSON.stringify([...this.#marks]));
      this.isKept = true;
    } catch {
      this.isKept = false;
    }
  }

  /** Undefined where there are none, or what is there cannot be read. */
  #read(): Map<string, Mark> | undefined {
    if (!this.isKept) return undefined;
    try {
      const kept = JSON.parse(localStorage.getItem(this.#name) ?? '[]') as [string, Mark][];
      return new Map(kept.filter(([, mark]) => mark in marks));
    } catch {
      this.isKept = false;
      return undefined;
    }
  }
}

/** The scene and the mark that a key is for: the scene that is open, else the one with the focus, else the one under the pointer. */
export function markOfKey(event: KeyboardEvent): { id: string; mark: Mark } | undefined {
  const { key, target, altKey, ctrlKey, metaKey } = event;
  const mark = markNames.find((each) => marks[each].key === key.toLowerCase());
  const isTyping = target instanceof Element && target.closest('input, select, textarea') !== null;
  if (mark === undefined || isTyping || altKey || ctrlKey || metaKey) return undefined;
  const dialog = document.querySelector('dialog[open]');
  const scene =
    dialog === null
      ? (document.activeElement?.closest('[data-scene]') ?? document.querySelector('[data-scene]:hover'))
      : dialog.querySelector('[data-scene]');
  return scene instanceof HTMLElement ? { id: scene.dataset['scene'] ?? '', mark } : undefined;
}
