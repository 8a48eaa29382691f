/** What an open scene can be compared with at a click: itself before an edit, other seeds, other values of one list. */
import type { JSX } from 'preact';
import type { GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';
import { useLoaded } from '../shared/hooks.ts';
import type { Picking } from './picks.tsx';
import type { Side } from './place.ts';
import { textOf } from './query.ts';
import type { Rows } from './rows.ts';
import { pictureBefore, standIn } from './scene-picture.ts';

interface Props {
  row: GalleryRow;
  side: Side;
  data: GalleryData;
  rows: Rows;
  picking: Picking;
}

interface Other {
  words: string;
  side: Side;
}

/** So many buttons are still read. */
const mostOffered = 24;

export function CompareWith({ row, side, data, rows, picking }: Props): JSX.Element | null {
  const found = useLoaded([rows], () => othersOf(row, side, data, rows)) ?? [];
  const others = [...ownPictures(row, side, data), ...found];
  if (others.length === 0) return null;
  return (
    <section aria-label="Compare with" class="stack">
      <h3>Compare with</h3>
      <div class="row">
        {others.slice(0, mostOffered).map((other) => (
          <button
            key={`${other.side.number}.${other.side.picture}`}
            type="button"
            class="small"
            onClick={() => picking.compare([other.side, side])}
          >
            <bdi>{other.words}</bdi>
          </button>
        ))}
      </div>
    </section>
  );
}

/** Those that the scene has besides, and the one that it was made from. */
function ownPictures(row: GalleryRow, side: Side, data: GalleryData): Other[] {
  const { pictures = [] } = row;
  const others = pictures.flatMap((_, index) =>
    index + 1 === side.picture
      ? []
      : [{ words: `picture ${index + 1}`, side: { ...side, picture: index + 1 } }],
  );
  const hasBefore = pictures.length > 0 && pictureBefore(row, data) !== undefined;
  return hasBefore ? [{ words: 'the picture before', side: { ...side, picture: 0 } }, ...others] : others;
}

/** Files of withdrawn rows that are looked through. */
const mostFiles = 20;

/** Rows of one row of the list stand together, those that were edited or taken out of it at the end. */
async function othersOf(row: GalleryRow, { number }: Side, data: GalleryData, rows: Rows): Promise<Other[]> {
  const { withdrawn = 0 } = data.scenes;
  const here = rows.chunkOf(number - 1);
  const ends = withdrawn === 0 ? rows.chunks : rows.chunkOf(rows.total - withdrawn);
  const last = Array.from({ length: rows.chunks - ends }, (_, index) => ends + index).slice(0, mostFiles);
  const near = new Set([here - 1, here, here + 1, ...last]);
  const edits: Other[] = [];
  const variants: (Other & { by: string[] })[] = [];
  for (const chunk of [...near].filter((each) => each >= 0 && each < rows.chunks))
    for (const [offset, other] of (await rows.chunk(chunk)).entries()) {
      const index = rows.startOf(chunk) + offset;
      if (index === number - 1 || (other.pictures === undefined && standIn(other, data) === undefined))
        continue;
      const side: Side = { number: index + 1, id: other.id ?? '', picture: 1 };
      const isWithdrawn = other.state === 'withdrawn';
      if (other.id !== undefined && other.id === row.id)
        edits.push({ words: `${isWithdrawn ? 'before' : 'after'} the edit`, side });
      const by = isWithdrawn || row.state === 'withdrawn' ? undefined : differing(row, other, data);
      if (by !== undefined) variants.push({ words: wordsOf(other, by, data), side, by });
    }
  return [...edits, ...variants.filter(({ by }) => !variants.some((one) => isLess(one.by, by)))];
}

const seeds = new Set(['seed', 'seed_number']);

/** The lists of `scenes` that tell two rows apart; undefined where it is something else. */
function differing(row: GalleryRow, other: GalleryRow, { columns, axes }: GalleryData): string[] | undefined {
  const names = columns.flatMap(({ name, isValue = false }, index) =>
    name === 'id' || isValue || textOf(row.values?.[index]) === textOf(other.values?.[index]) ? [] : [name],
  );
  return names.every((name) => axes.includes(name) || seeds.has(name)) ? names : undefined;
}

/** Lists of a `zip` only ever differ together; those of a `matrix` also one by one, which is what is compared. */
function isLess(some: string[], all: string[]): boolean {
  return some.length > 0 && some.length < all.length && some.every((name) => all.includes(name));
}

function wordsOf({ values, pictures, id }: GalleryRow, by: string[], { columns }: GalleryData): string {
  const seed = pictures?.[0]?.seed;
  if (by.length === 0) return seed === undefined ? (id ?? 'the same again') : `seed ${seed}`;
  const shown = by.filter((name) => name !== 'seed_number' || !by.includes('seed'));
  const valueOf = (name: string): string =>
    textOf(values?.[columns.findIndex((column) => column.name === name)]);
  return shown.map((name) => `${name} ${valueOf(name)}`).join(', ');
}
