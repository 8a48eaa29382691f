/** Marking scenes, and the lists of those that are marked. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Dialog } from '../shared/dialog.tsx';
import { countWords } from '../shared/number-words.ts';
import { Copyable } from '../shared/text.tsx';
import { markOfKey, Marks } from './kept-marks.ts';
import { markNames, marks, type Mark } from './marks.ts';

/** What the views are given. */
export interface Marking {
  of(id: string | undefined): Mark | undefined;
  toggle(id: string, mark: Mark): void;
}

/** The marks of a batch, by keys too; renders anew with every change. */
export function useMarks(name: string): { kept: Marks; marking: Marking } {
  const [kept] = useState(() => new Marks(name));
  const [, setChanges] = useState(0);
  const toggle = (id: string, mark: Mark): void => {
    kept.toggle(id, mark);
    setChanges((before) => before + 1);
  };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const asked = markOfKey(event);
      if (asked !== undefined) toggle(asked.id, asked.mark);
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
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

export function KeyHint(): JSX.Element {
  return (
    <small class="keys">
      {markNames.map((mark) => (
        <span key={mark}>
          <kbd>{marks[mark].key.toUpperCase()}</kbd> {marks[mark].act.toLowerCase()}
        </span>
      ))}
    </small>
  );
}

interface BarProps {
  kept: Marks;
  /** The command that options follow. */
  retry: string;
  /** The mark whose scenes are shown; empty for all scenes. */
  shown: Mark | '';
  onShow(mark: Mark | ''): void;
}

/** How many are marked, each count a filter; only where there are any. */
export function MarkBar({ kept, retry, shown, onShow }: BarProps): JSX.Element | null {
  const [isOpen, setOpen] = useState(false);
  const lists = markNames.flatMap((mark) => {
    const ids = kept.ids(mark);
    return ids.length > 0 || shown === mark ? [{ mark, ids }] : [];
  });
  if (lists.length === 0) return null;
  return (
    <aside class="row marked" aria-label="Marked scenes">
      {lists.map(({ mark, ids }) => (
        <button
          key={mark}
          type="button"
          class={mark}
          aria-pressed={shown === mark}
          onClick={() => onShow(shown === mark ? '' : mark)}
        >
          {marks[mark].sign} {countWords(ids.length)} <span>{marks[mark].word}</span>
        </button>
      ))}
      <button type="button" onClick={() => setOpen(true)}>
        Export
      </button>
      {isOpen && <Lists lists={lists} kept={kept} retry={retry} onClose={() => setOpen(false)} />}
    </aside>
  );
}

type ListsProps = Pick<BarProps, 'kept' | 'retry'> & {
  lists: { mark: Mark; ids: string[] }[];
  onClose(): void;
};

function Lists({ lists, kept, retry, onClose }: ListsProps): JSX.Element {
  const close = (
    <button type="button" aria-label="Close" onClick={onClose}>
      ✕
    </button>
  );
  return (
    <Dialog title="Export lists of ids" bar={close} onClose={onClose} attributes={{ class: 'lists' }}>
      {lists.map(({ mark, ids }) => (
        <section key={mark} class="stack">
          <div class="row">
            <h3>
              {marks[mark].sign} {countWords(ids.length)} {marks[mark].word}
            </h3>
            <button type="button" onClick={() => download(marks[mark].file, ids)}>
              Download {marks[mark].file}
            </button>
          </div>
          {mark === 'again' && (
            <Copyable
              label="Then, in the folder of the list (--new-seed for another picture)"
              text={`${retry} --ids ${marks[mark].file} --again`}
            />
          )}
        </section>
      ))}
      <p class="hint">
        {kept.isKept
          ? 'Marks are kept in this browser.'
          : 'This browser keeps no marks: download the lists before you close the page.'}
      </p>
    </Dialog>
  );
}

/** One id a line. */
function download(name: string, ids: string[]): void {
  const link = document.createElement('a');
  link.download = name;
  link.href = URL.createObjectURL(new Blob([`${ids.join('\n')}\n`], { type: 'text/plain' }));
  link.click();
  URL.revokeObjectURL(link.href);
}
