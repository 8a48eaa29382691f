/** Buttons and keys that mark scenes or pick them for a comparison, and the bar that uses the marks. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { countWords } from '../shared/number-words.ts';
import { Copyable } from '../shared/text.tsx';
import { type Mark, markNames, marks } from './query.ts';
import { maxSides, type Place, type Side } from './page-location.ts';

export interface Marking {
  of(id: string | undefined): Mark | undefined;
  toggle(id: string, mark: Mark): void;
}

/** Returns the marks of a batch, and handles their keys. Renders again after each change. */
export function useMarks(title: string, begunAt: number | null): { kept: Marks; marking: Marking } {
  const [kept] = useState(() => new Marks(title, begunAt));
  kept.begin(begunAt);
  const [, setChanges] = useState(0);
  const toggle = (id: string, mark: Mark): void => {
    kept.toggle(id, mark);
    setChanges((before) => before + 1);
  };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const mark = markNames.find((each) => marks[each].key === event.key.toLowerCase());
      const id = mark && elementOfKey(event, '[data-scene]')?.dataset['scene'];
      if (mark !== undefined && id !== undefined) toggle(id, mark);
    };
    const onStored = (): void => {
      kept.readAgain();
      setChanges((before) => before + 1);
    };
    const left = new AbortController();
    const { signal } = left;
    followAim(signal);
    addEventListener('keydown', onKeyDown, { signal });
    // Fires if another tab changed the marks.
    addEventListener('storage', onStored, { signal });
    return () => left.abort();
  }, []);
  return { kept, marking: { of: (id) => kept.of(id), toggle } };
}

type ButtonsProps = Marking & { id: string; hasWords?: boolean };

export function MarkButtons({ id, of, toggle, hasWords = false }: ButtonsProps): JSX.Element {
  return (
    <div class={hasWords ? 'row marks said' : 'marks'} data-scene={id} role="group" aria-label="Mark">
      {markNames.map((mark) => {
        const { key, sign, act } = marks[mark];
        return (
          <button
            key={mark}
            type="button"
            class={mark}
            aria-label={act}
            title={`${act} (${key.toUpperCase()})`}
            aria-pressed={of(id) === mark}
            onClick={() => toggle(id, mark)}
          >
            {hasWords ? `${sign} ${act}` : sign}
          </button>
        );
      })}
    </div>
  );
}

export const markKeys = markNames.map((mark): KeyWords => [
  marks[mark].key.toUpperCase(),
  marks[mark].act.toLowerCase(),
]);

type KeyWords = [key: string, does: string];

export function KeyHint({ keys }: { keys: KeyWords[] }): JSX.Element {
  return (
    <small class="keys">
      {keys.map(([key, does]) => (
        <span key={key}>
          <kbd>{key}</kbd> {does}
        </span>
      ))}
    </small>
  );
}

interface BarProps {
  kept: Marks;
  /** Arguments that name the batch in commands. */
  batch: string;
  /** Mark whose scenes are shown; empty for all scenes. */
  shown: Mark | '';
  onShow(mark: Mark | ''): void;
  /** Elements before the counts; null for none. */
  children: JSX.Element | null;
}

/** Counts of marked scenes. A count shows its scenes and a way to get their ids. Null if nothing is marked. */
export function MarkBar({ kept, batch, shown, onShow, children }: BarProps): JSX.Element | null {
  const lists = markNames.map((mark) => ({ ...marks[mark], mark, ids: kept.ids(mark) }));
  const some = lists.filter(({ mark, ids }) => ids.length > 0 || mark === shown);
  if (some.length === 0 && children === null) return null;
  const chosen = some.find(({ mark }) => mark === shown);
  return (
    <aside class="stack marked" aria-label="Marked scenes">
      <div class="row">
        {children}
        {some.map(({ mark, sign, word, ids }) => (
          <button
            key={mark}
            type="button"
            class={mark}
            aria-label={`${countWords(ids.length)} ${word}`}
            aria-pressed={shown === mark}
            onClick={() => onShow(shown === mark ? '' : mark)}
          >
            {sign} {countWords(ids.length)} <span>{word}</span>
          </button>
        ))}
        {chosen !== undefined && (
          <button type="button" onClick={() => download(chosen.file, chosen.ids)}>
            Download {chosen.file}
          </button>
        )}
      </div>
      {chosen?.mark === 'again' && (
        <Copyable
          label="In the folder of the list (--new-seed for other pictures)"
          text={`nightrender retry ${batch} --ids ${chosen.file} --again`}
        />
      )}
      {chosen?.mark === 'star' && (
        <Copyable
          label="In the folder of the list (a list for another batch)"
          text={`nightrender list ${batch} --ids ${chosen.file} --csv > starred.csv`}
        />
      )}
      {!kept.isKept && <p class="hint">This browser keeps no marks: download them before you leave.</p>}
    </aside>
  );
}

function download(name: string, ids: string[]): void {
  const link = document.createElement('a');
  link.download = name;
  link.href = URL.createObjectURL(new Blob([`${ids.join('\n')}\n`], { type: 'text/plain' }));
  link.click();
  URL.revokeObjectURL(link.href);
}

/**
 * Marks of a batch in local storage. The key includes its first submission, so batches of the same title have
 * separate marks.
 */
class Marks {
  /** False if the browser refuses to store the marks; they are lost with the page then. */
  isKept = true;
  readonly #title: string;
  /** Epoch ms; null before the first submission. */
  #begunAt: number | null;
  /** Marks by scene id, in the order in which they were set. */
  #marks: Map<string, Mark>;

  constructor(title: string, begunAt: number | null) {
    this.#title = title;
    this.#begunAt = begunAt;
    this.#marks = this.#read() ?? new Map();
  }

  /** Sets the start of a watched batch. Marks made before it are kept. */
  begin(begunAt: number | null): void {
    if (begunAt === this.#begunAt) return;
    const early = this.#begunAt === null ? this.#marks : new Map<string, Mark>();
    if (early.size > 0) this.#write([]);
    this.#begunAt = begunAt;
    this.#marks = new Map([...early, ...(this.#read() ?? [])]);
    if (early.size > 0) this.#write();
  }

  get #name(): string {
    return `nightrender marks ${this.#begunAt ?? 0} ${this.#title}`;
  }

  of(id: string | undefined): Mark | undefined {
    return id === undefined ? undefined : this.#marks.get(id);
  }

  ids(mark: Mark): string[] {
    return [...this.#marks].flatMap(([id, each]) => (each === mark ? [id] : []));
  }

  /** Reads the marks again, because another tab may have changed them. */
  readAgain(): void {
    this.#marks = this.#read() ?? this.#marks;
  }

  /** Sets the only mark of a scene, or removes it if it is set. */
  toggle(id: string, mark: Mark): void {
    this.readAgain();
    const isMarked = this.#marks.get(id) === mark;
    this.#marks.delete(id);
    if (!isMarked) this.#marks.set(id, mark);
    this.#write();
  }

  #write(marked: Iterable<[string, Mark]> = this.#marks): void {
    try {
      localStorage.setItem(this.#name, JSON.stringify([...marked]));
      this.isKept = true;
    } catch {
      this.isKept = false;
    }
  }

  /** Undefined if the stored marks cannot be read. */
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

/** True if a click set the focus; the focused element shows where the pointer was, then. */
let isFocusOfPointer = false;

/** Notes in `data-aim` whether the pointer or the focus was used last. Keys and marks.css depend on it. */
function followAim(signal: AbortSignal): void {
  const { dataset } = document.documentElement;
  let [isPressed, place] = [false, ''];
  const lead = (by: 'pointer' | 'focus'): void => {
    if (dataset['aim'] !== by) dataset['aim'] = by;
  };
  const onPointer = ({ type, buttons, screenX, screenY }: PointerEvent): void => {
    const now = `${screenX} ${screenY}`;
    // A page that scrolls under a resting pointer sends the same event, so the position is compared.
    if (now !== place || type === 'pointerdown') lead('pointer');
    [isPressed, place] = [buttons !== 0, now];
  };
  const options = { capture: true, signal };
  for (const type of ['pointermove', 'pointerdown', 'pointerup', 'pointercancel'] as const)
    addEventListener(type, onPointer, options);
  addEventListener(
    'focusin',
    () => {
      isFocusOfPointer = isPressed;
      if (!isPressed) lead('focus');
    },
    options,
  );
  addEventListener('keydown', ({ key }) => /^(Tab$|Arrow)/.test(key) && lead('focus'), options);
}

/**
 * Returns the element that a key applies to. That is the only one in an open dialog, or else the hovered or
 * focused one, whichever was used last.
 */
function elementOfKey(event: KeyboardEvent, selector: string): HTMLElement | undefined {
  if (!isPlainKey(event)) return undefined;
  const within = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
  const all = within.querySelectorAll<HTMLElement>(selector);
  if (all.length === 1 && within !== document) return all[0];
  const hovered = within.querySelector<HTMLElement>(`:is(${selector}):hover`) ?? undefined;
  const focused = document.activeElement?.closest<HTMLElement>(selector) ?? undefined;
  if (document.documentElement.dataset['aim'] !== 'pointer') return focused ?? hovered;
  return hovered ?? (isFocusOfPointer ? undefined : focused);
}

/** True if the key is not typed into a field and not a shortcut of the browser. */
export function isPlainKey({ target, altKey, ctrlKey, metaKey }: KeyboardEvent): boolean {
  const isTyping = target instanceof Element && target.closest('input:not([type=range]), select, textarea');
  return !isTyping && !altKey && !ctrlKey && !metaKey;
}

/** Picks two to four pictures for a comparison. */
export interface Picking {
  picked: Side[];
  /** Picks a picture if there are less than four, or drops it if it is picked. */
  toggle(side: Side): void;
  compare(sides: Side[]): void;
  clear(): void;
}

/** Letter of a picture in a comparison. */
export function letterOf(position: number): string {
  return 'ABCD'.charAt(position);
}

/**
 * Returns the picks and handles their keys. `P` picks the open scene or that of `elementOfKey`; `C` compares
 * all picks.
 */
export function usePicks({ sides }: Place, go: (change: Partial<Place>) => void): Picking {
  const [picked, setPicked] = useState<Side[]>([]);
  const toggle = (side: Side): void =>
    setPicked((before) => {
      const others = before.filter((each) => !isSame(each, side));
      return others.length < before.length ? others : [...before, side].slice(0, maxSides);
    });
  const compare = (compared: Side[]): void => {
    if (compared.length > 1) go({ sides: compared });
  };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const key = event.key.toLowerCase();
      if ((key !== 'p' && key !== 'c') || sides.length > 0 || !isPlainKey(event)) return;
      if (key === 'c') return compare(picked);
      const place = elementOfKey(event, '.pictures > li, .viewer > .stack');
      place?.querySelector<HTMLElement>('.pick')?.click();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  });
  return { picked, toggle, compare, clear: () => setPicked([]) };
}

interface ButtonProps {
  picking: Picking;
  side: Side;
  hasWords?: boolean;
}

export function PickButton({ picking, side, hasWords = false }: ButtonProps): JSX.Element {
  const at = picking.picked.findIndex((each) => isSame(each, side));
  const words = 'Pick to compare';
  return (
    <button
      type="button"
      class="pick"
      aria-label={words}
      title={`${words} (P)`}
      aria-pressed={at !== -1}
      disabled={at === -1 && picking.picked.length === maxSides}
      onClick={() => picking.toggle(side)}
    >
      {at === -1 ? '◫' : letterOf(at)}
      {hasWords && ` ${at === -1 ? words : 'Picked'}`}
    </button>
  );
}

export function PickedButtons({ picked, compare, clear }: Picking): JSX.Element | null {
  if (picked.length === 0) return null;
  return (
    <>
      <button type="button" class="primary" disabled={picked.length < 2} onClick={() => compare(picked)}>
        ◫ {picked.length === 1 ? 'Pick another to compare' : `Compare ${picked.length}`}
      </button>
      <button type="button" onClick={clear}>
        Clear
      </button>
    </>
  );
}

function isSame(a: Side, b: Side): boolean {
  return a.number === b.number && a.id === b.id && a.picture === b.picture;
}
