/** Buttons and keys that mark scenes or pick them for a comparison, and the bar that uses the marks. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type GalleryData, type Mark, markNames } from '../../runner/core/gallery-data.ts';
import { useKeyDown } from '../shared/hooks.ts';
import { countWords } from '../shared/number-words.ts';
import { Copyable, downloadLines } from '../shared/text.tsx';
import { elementOfKey, isPlainKey } from './key-target.ts';
import type { Marking } from './kept-marks.ts';
import { marks } from './query.ts';
import { maxSides, type Place, type Side } from './page-location.ts';

type ButtonsProps = Marking & { id: string; hasWords?: boolean };

export function MarkButtons({ id, of, toggle, allowed, hasWords = false }: ButtonsProps): JSX.Element {
  return (
    <div class={hasWords ? 'row marks said' : 'marks'} data-scene={id} role="group" aria-label="Mark">
      {allowed.map((mark) => {
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

export function markKeys({ allowed }: Marking): KeyWords[] {
  return allowed.map((mark) => [marks[mark].key.toUpperCase(), marks[mark].act.toLowerCase()]);
}

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
  marking: Marking;
  data: GalleryData;
  /** Mark whose scenes are shown; empty for all scenes. */
  shown: Mark | '';
  onShow(mark: Mark | ''): void;
  /** Elements before the counts; null for none. */
  children: JSX.Element | null;
}

/** Counts of marked scenes. A count shows its scenes and what can be done with them. Null if nothing is marked. */
export function MarkBar({ marking, data, shown, onShow, children }: BarProps): JSX.Element | null {
  const { ids: idsOf, allowed, keeper, own, download: pictures, problem } = marking;
  const lists = markNames.map((mark) => ({ ...marks[mark], mark, ids: idsOf(mark) }));
  const some = lists.filter(({ mark, ids }) => ids.length > 0 || mark === shown);
  if (some.length === 0 && children === null && own === undefined && problem === undefined) return null;
  const chosen = some.find(({ mark }) => mark === shown);
  // A viewer has neither the program nor the files of the batch.
  const isViewer = allowed.length < markNames.length;
  const commands = chosen === undefined || isViewer ? [] : commandsFor(chosen.mark, data, keeper);
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
        {chosen?.mark === 'star' && pictures !== undefined && chosen.ids.length > 0 && (
          <button type="button" class="primary" onClick={pictures}>
            Download the pictures (ZIP)
          </button>
        )}
        {chosen !== undefined && (
          <button type="button" onClick={() => downloadLines(chosen.file, chosen.ids)}>
            Download {chosen.file}
          </button>
        )}
        {own !== undefined && (
          <button type="button" class="primary" onClick={own.handOver}>
            Keep {countWords(own.count)} {own.count === 1 ? 'mark' : 'marks'} of this browser with the batch
          </button>
        )}
      </div>
      {commands.map(({ label, text }) => (
        <Copyable key={label} label={label} text={text} />
      ))}
      {keeper === 'nobody' && (
        <p class="hint">This browser keeps no marks: download them before you leave.</p>
      )}
      {problem !== undefined && <p class="message bad">{problem}</p>}
    </aside>
  );
}

/** Returns what people want next with scenes of this mark, as commands. */
function commandsFor(
  mark: Mark,
  { batch, sendsSeed }: GalleryData,
  keeper: Marking['keeper'],
): { label: string; text: string }[] {
  const isWithBatch = keeper === 'batch';
  const { file } = marks[mark];
  const newSeed = sendsSeed === true ? ' --new-seed' : '';
  switch (mark) {
    case 'star':
      return isWithBatch
        ? [
            {
              label: 'A folder of them',
              text: `nightrender export ${batch} chosen --to imagefolder --starred`,
            },
            {
              label: 'Larger ones: in the pipeline.yaml of a stage',
              text: `scenes: { from: ${batch}, ids: marks }`,
            },
            {
              label: 'A list for another batch',
              text: `nightrender list ${batch} --starred --csv > starred.csv`,
            },
          ]
        : [
            {
              label: 'In the folder of the list (a list for another batch)',
              text: `nightrender list ${batch} --ids ${file} --csv > starred.csv`,
            },
          ];
    case 'again':
      return [
        isWithBatch
          ? {
              label: sendsSeed === true ? 'Render them again, with other seeds' : 'Render them again',
              text: `nightrender retry ${batch} --marked${newSeed}`,
            }
          : {
              label:
                sendsSeed === true
                  ? 'In the folder of the list, with other seeds'
                  : 'In the folder of the list',
              text: `nightrender retry ${batch} --ids ${file} --again${newSeed}`,
            },
      ];
    case 'reject':
      return [];
  }
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

/** Returns the picks and handles their keys: `P` picks, `C` compares all picks. */
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
  useKeyDown((event) => {
    const key = event.key.toLowerCase();
    if ((key !== 'p' && key !== 'c') || sides.length > 0 || !isPlainKey(event)) return;
    if (key === 'c') return compare(picked);
    const place = elementOfKey(event, '.pictures > li, .viewer > .stack');
    place?.querySelector<HTMLElement>('.pick')?.click();
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
