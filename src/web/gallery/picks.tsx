/** Picks two to four pictures for a comparison. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { elementOfKey, isPlainKey } from './mark-buttons.tsx';
import { maxSides, type Place, type Side } from './place.ts';

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
