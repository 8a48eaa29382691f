/** The view of pictures, in pages. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';
import { NumberInput } from '../shared/choices.tsx';
import { useKeyDown, useLoaded } from '../shared/hooks.ts';
import { counted, countWords, durationWords, moneyWords } from '../shared/number-words.ts';
import { PictureGrid } from '../shared/picture-grid.tsx';
import { isPlainKey } from './key-target.ts';
import { KeyHint, MarkButtons, markKeys, PickButton } from './mark-buttons.tsx';
import { columnOf, kindOf, marks, type Matching } from './query.ts';
import { type Rows, type Selected, type Selection, useSelection } from './rows.ts';
import { openedAt, OpenScene, type ViewProps } from './scene-dialog.tsx';
import { scenePicture, seedCount, seedWords, standIn } from './scene-picture.ts';

export function matchingOf({ data, marking }: Pick<ViewProps, 'data' | 'marking'>): Matching {
  return { kindOf: (column) => kindOf(data.columns[column]), markOf: (id) => marking.of(id) };
}

/** Scenes on a page: a few screens. */
const pageSize = 60;

export function PicturesView(props: ViewProps & { tiles: TileSize }): JSX.Element {
  const { rows, place, go } = props;
  const selected = useSelection(rows, place.query, matchingOf(props), unneededOf(props.data) === 0);
  const { selection } = selected;
  const pages = Math.max(1, Math.ceil((selection?.count ?? 0) / pageSize));
  const page = Math.min(place.page, pages);
  const first = (page - 1) * pageSize;
  const turn = (next: number): void => {
    go({ page: next });
    scrollTo({ top: 0 });
  };
  // The previous page stays until the next one is loaded.
  const { shown, isGone } = useLoaded([rows, selection, first], () => rowsOf(rows, selection, first)) ?? none;
  return (
    <section aria-label="Pictures">
      <Found {...selected} {...props} hasFailed={selected.hasFailed || isGone} rows={rows} />
      <ScenePictures {...props} shown={shown} by={columnOf(place.query.order)} />
      {pages > 1 && <Pages page={page} pages={pages} onPage={turn} />}
      <OpenScene
        {...props}
        order={selection}
        pageOf={(index) => {
          const position = selection?.positionOf(index) ?? -1;
          return position < 0 ? page : Math.floor(position / pageSize) + 1;
        }}
      />
    </section>
  );
}

export interface Scene {
  row: GalleryRow;
  index: number;
}

type ScenesProps = Pick<ViewProps, 'data' | 'marking' | 'picking' | 'go'> & {
  shown: Scene[];
  tiles?: TileSize;
  isSmall?: boolean;
  /** Index of the column that scenes are sorted by. */
  by?: number | undefined;
};

export function ScenePictures({ isSmall = false, ...props }: ScenesProps): JSX.Element {
  const { data, shown, marking, picking, tiles, by, go } = props;
  return (
    <PictureGrid
      isSmall={isSmall}
      perRow={tiles?.perRow}
      isTight={tiles?.isTight}
      isSharp={tiles?.isChosen}
      pictures={shown.map(({ row, index }) =>
        scenePicture(row, index, { by, before: standIn(row, data), seed: seedWords(row, data) }),
      )}
      onOpen={(position) => {
        const chosen = shown[position];
        if (chosen !== undefined) go(openedAt(chosen.index, chosen.row));
      }}
      extra={({ id, key }) => {
        const mark = marking.of(id);
        return (
          <>
            <PickButton picking={picking} side={{ number: Number(key), id: id ?? '', picture: 1 }} />
            {id !== undefined && !isSmall && <MarkButtons {...marking} id={id} />}
            {isSmall && mark !== undefined && <span class={`mark ${mark}`}>{marks[mark].sign}</span>}
          </>
        );
      }}
    />
  );
}

const otherKeys: ReturnType<typeof markKeys> = [
  ['P', 'pick'],
  ['C', 'compare'],
  ['+ −', 'size'],
];

type FoundProps = Selected & Pick<ViewProps, 'data' | 'rows' | 'marking'>;

/** Number of scenes found, announced to screen readers when it changes. */
export function Found({ selection, data, done, hasFailed, rows, marking }: FoundProps): JSX.Element {
  const { total } = rows;
  const isEvery = selection?.count === total - unneededOf(data);
  return (
    <div class="row above">
      <p class={isEvery ? 'found every' : 'found'} role="status">
        {hasFailed && rows.isLive && 'These scenes cannot be read just now; the page tries again.'}
        {hasFailed && !rows.isLive ? (
          <>
            A newer report was written.{' '}
            <button type="button" onClick={() => location.reload()}>
              Reload
            </button>
          </>
        ) : (
          <span class="soft">
            {selection === undefined
              ? `Looking through ${counted(total, 'scene')}: ${Math.floor((100 * done) / Math.max(1, total))} %`
              : foundWords(selection, total, data)}
          </span>
        )}
      </p>
      <KeyHint keys={[...markKeys(marking), ...otherKeys]} />
    </div>
  );
}

/** Number of seeds that were not sent, and are shown only if their state is selected. */
function unneededOf({ scenes: { unneeded = 0 } }: GalleryData): number {
  return unneeded;
}

/** Number of listed scenes, as the head and the line above the pictures count them. */
export function listedOf(scenes: GalleryData['scenes']): number {
  const all = Object.values(scenes).reduce((sum, count) => sum + count, 0);
  return all - (scenes['withdrawn'] ?? 0) - (scenes['unneeded'] ?? 0);
}

/** Text with the number of scenes, their execution time, and the share of the cost by that time. */
function foundWords({ count, executionMs = 0 }: Selection, total: number, data: GalleryData): string {
  const { times, cost, scenes } = data;
  const { withdrawn = 0 } = scenes;
  const unneeded = unneededOf(data);
  // Same number as in the head of the page.
  const listed = counted(listedOf(scenes), 'scene');
  const others = [
    withdrawn === 0 ? '' : `${countWords(withdrawn)} withdrawn`,
    unneeded === 0 ? '' : `${countWords(unneeded)} not needed`,
  ].filter((part) => part !== '');
  const all = [listed, ...others].join(' and ');
  if (count === total - unneeded) return all;
  if (count === 0) return 'No scene matches';
  const share = cost === null ? 0 : (cost.spent * executionMs) / Math.max(1, times.executionTimeMs);
  return [
    `${countWords(count)} of ${all}`,
    executionMs === 0 ? '' : `${durationWords(executionMs)} of execution`,
    cost === null || share === 0 ? '' : `about ${moneyWords(share, cost.currency)}`,
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

const none: { shown: Scene[]; isGone: boolean } = { shown: [], isGone: false };

/** Loads a page of rows. `isGone` is true if they cannot be loaded. Undefined without a selection. */
async function rowsOf(
  rows: Rows,
  selection: Selection | undefined,
  first: number,
): Promise<typeof none | undefined> {
  if (selection === undefined) return undefined;
  const numbers = Array.from({ length: pageSize }, (_, i) => selection.at(first + i));
  try {
    const all = await Promise.all(numbers.map(async (index) => ({ index, row: await rows.at(index ?? -1) })));
    const shown = all.flatMap(({ index = 0, row }) => (row === undefined ? [] : [{ index, row }]));
    return { shown, isGone: false };
  } catch {
    return { shown: [], isGone: true };
  }
}

interface PagesProps {
  /** Name of the pages, such as `Page`. */
  name?: string;
  /** True for small buttons beside the content. */
  isSmall?: boolean;
  page: number;
  pages: number;
  onPage(page: number): void;
}

export function Pages({ name = 'Page', isSmall = false, page, pages, onPage }: PagesProps): JSX.Element {
  const turn = (next: number): void => {
    if (Number.isInteger(next) && next >= 1 && next <= pages && next !== page) onPage(next);
  };
  const button = (words: string, sign: string, by: 1 | -1): JSX.Element => (
    <button
      type="button"
      class={isSmall ? 'small' : ''}
      aria-label={words}
      disabled={page + by < 1 || page + by > pages}
      onClick={() => turn(page + by)}
    >
      {isSmall ? sign : words}
    </button>
  );
  return (
    <nav aria-label={`${name}s`} class={isSmall ? 'row pages small' : 'row pages'}>
      {button('Previous', '‹', -1)}
      <label>
        <span class={isSmall ? 'unseen' : ''}>{name} </span>
        <NumberInput min="1" max={pages} value={String(page)} onText={(text) => turn(Number(text))} /> of{' '}
        {countWords(pages)}
      </label>
      {button('Next', '›', 1)}
    </nav>
  );
}

/** Number of pictures in a row, which the reader can choose and the browser keeps. */
interface TileSize {
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

/** Minimum width of pictures that have captions, in CSS pixels. */
const minWidth = 150;

/** Returns the usual number of pictures in a row: one that shows the seeds of a prompt side by side, if that is about as large. */
function usualPerRow(width: number, most: number, seeds: number): number {
  const plain = Math.max(2, Math.round(width / 260));
  const all = Array.from({ length: most }, (_, index) => index + 1);
  const fitting = all.filter(
    (count) =>
      (count % seeds === 0 || seeds % count === 0) &&
      count >= plain / 1.5 &&
      count <= plain * 1.5 &&
      width / count >= minWidth,
  );
  const distance = (count: number): number => Math.abs(count - plain);
  return fitting.toSorted((a, b) => distance(a) - distance(b))[0] ?? plain;
}

/** Returns the size of pictures. It follows the width of the window and the keys `+` and `-`. */
export function useTileSize(data: GalleryData): TileSize {
  const [width, setWidth] = useState(innerWidth);
  const [chosen, setChosen] = useState(storedChoice);
  const most = Math.min(12, Math.max(2, Math.round(width / 65)));
  const usual = usualPerRow(Math.min(width, 1680), most, seedCount(data));
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
    addEventListener('resize', onResize);
    return () => removeEventListener('resize', onResize);
  }, []);
  useKeyDown((event) => {
    if (!isPlainKey(event) || document.querySelector('dialog[open]') !== null) return;
    if (event.key === '+' || event.key === '=') choose(perRow - 1);
    else if (event.key === '-') choose(perRow + 1);
  });
  const isTight = Math.min(width, 1680) / perRow < minWidth;
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
