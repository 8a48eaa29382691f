/** The number of pictures in a row, which the reader can choose and the browser keeps. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isPlainKey } from './mark-buttons.tsx';

export interface TileSize {
  perRow: number;
  /** Maximum on this screen. */
  most: number;
  /** True if there is no space for captions. */
  isTight: boolean;
  /** True if the reader chose the size. Pictures are then sharp, even if more must be loaded. */
  isChosen: boolean;
  choose(perRow: number): void;
}

const storedAs = 'nightrender pictures in a row';

/** Returns the size of pictures. It follows the width of the window and the keys `+` and `-`. */
export function useTileSize(): TileSize {
  const [width, setWidth] = useState(innerWidth);
  const [chosen, setChosen] = useState(storedChoice);
  const most = Math.min(12, Math.max(2, Math.round(width / 65)));
  const usual = Math.max(2, Math.round(Math.min(width, 1680) / 260));
  const perRow = Math.min(most, chosen ?? usual);
  const choose = (wanted: number): void => {
    const next = Math.min(most, Math.max(1, wanted));
    setChosen(next);
    try {
      localStorage.setItem(storedAs, String(next));
    } catch {
      // If the browser stores nothing, the choice is lost with the page.
    }
  };
  useEffect(() => {
    const onResize = (): void => setWidth(innerWidth);
    const onKeyDown = (event: KeyboardEvent): void => {
      if (!isPlainKey(event) || document.querySelector('dialog[open]') !== null) return;
      if (event.key === '+' || event.key === '=') choose(perRow - 1);
      else if (event.key === '-') choose(perRow + 1);
    };
    addEventListener('resize', onResize);
    addEventListener('keydown', onKeyDown);
    return () => {
      removeEventListener('resize', onResize);
      removeEventListener('keydown', onKeyDown);
    };
  });
  const isTight = Math.min(width, 1680) / perRow < 150;
  return { perRow, most, isTight, isChosen: chosen !== undefined, choose };
}

/** A slider; further right, pictures are larger. */
export function SizeSlider({ perRow, most, choose }: TileSize): JSX.Element {
  return (
    <input
      class="size"
      type="range"
      min="1"
      max={most}
      value={most + 1 - perRow}
      aria-label="How large pictures are"
      aria-valuetext={`${perRow} in a row`}
      title={`${perRow} in a row (+ and −)`}
      onInput={(event) => choose(most + 1 - event.currentTarget.valueAsNumber)}
    />
  );
}

function storedChoice(): number | undefined {
  try {
    const text = localStorage.getItem(storedAs) ?? '';
    return /^([1-9]|1[0-2])$/.test(text) ? Number(text) : undefined;
  } catch {
    return undefined;
  }
}
