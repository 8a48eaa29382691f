/** Picking two to four pictures, to see them side by side. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { elementOfKey, isPlainKey } from './mark-buttons.tsx';
import { maxSides, type Place, type Side } from './place.ts';

/** What the views are given. */
export interface Picking {
  picked: Side[];
  /** Takes one more while there is room for it; one that is picked is let go. */
  toggle(side: Side): void;
  compare(sides: Side[]): void;
  clear(): void;
}

/** What a picture is called where several are compared. */
export function letterOf(position: number): string {
  return 'ABCD'.charAt(position);
}

/** By keys too: `P` for the scene that is open or that `elementOfKey` returns, `C` for all that are picked. */
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

/** Only where something is picked. */
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
