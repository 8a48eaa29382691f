/** The cells of a grid, found in all rows: what is in each, or why there is nothing. */
import type { GalleryRow } from '../../runner/core/gallery-data.ts';
import { inOrder, type Axis, type ChosenAxes } from './grid-axes.ts';
import { matchingOf, type Scene } from './pictures-view.tsx';
import { matcher } from './query.ts';
import type { ViewProps } from './scene-dialog.tsx';
import { scanRows, useSearch, type Selected, type Watch } from './use-selection.ts';

export interface Cell {
  count: number;
  shown: Scene[];
  /** Why there is nothing. */
  why: string;
}

/** All values of an axis, and those that are shown: a page of them, or one. */
export interface Values {
  axis: Axis;
  /** Whether it is one at a time. */
  isStep: boolean;
  shown: string[];
  page: number;
  pages: number;
}

export interface Grid {
  /** Rows, columns, steps. */
  values: Values[];
  at(down: string, across: string): Cell;
  /** Scenes of all pages and steps. */
  count: number;
}

/** Pictures of a whole grid: so many buttons a page bears well. */
const mostPictures = 2000;

/** Rows of a page, and columns. */
const pageSize = 50;

/** Scans all rows, since any may belong to any cell. What was found before stays until then. */
export function useGrid(props: ViewProps, chosen: ChosenAxes): Selected & { grid: Grid | undefined } {
  const { rows, place } = props;
  const axes = [chosen.down, chosen.across, ...chosen.steps];
  const matches = matcher(place.query, matchingOf(props));
  const search = async (watch: Watch): Promise<Grid | undefined> => {
    // In the order of all rows, whichever are asked for.
    const seen = axes.map(() => new Map<string, boolean>());
    let count = 0;
    const note = (row: GalleryRow, of: string[]): void => {
      const isWanted = matches(row);
      if (isWanted) count += 1;
      // A row that could not be read has no place.
      if (row.values === undefined) return;
      for (const [i, value] of of.entries())
        if (isWanted || !seen[i]?.has(value)) seen[i]?.set(value, isWanted);
    };
    if (!(await scanAxes(axes, props, watch, note))) return undefined;
    const values = axes.map((axis, i) => {
      const wanted = [...(seen[i] ?? [])].flatMap(([value, isWanted]) => (isWanted ? [value] : []));
      return pageOf(axis, i > 1, wanted, place.at[i] ?? 1);
    });
    const cells = new Cells(values, matches);
    const quiet = { ...watch, onPart: () => undefined };
    if (!(await scanAxes(axes, props, quiet, (row, of, index) => cells.add(row, of, index))))
      return undefined;
    return { values, at: (down, across) => cells.at(down, across), count };
  };
  const asked = JSON.stringify([place.query, axes.map(({ name }) => name), place.at]);
  const { found, isLatest, ...rest } = useSearch(rows, asked, search);
  const selection = { count: found?.count ?? 0, at: () => undefined, positionOf: () => -1 };
  return { grid: found, selection: isLatest ? selection : undefined, ...rest };
}

type Visit = (row: GalleryRow, of: string[], index: number) => void;

/** `of`: the value of the row on each axis. */
function scanAxes(axes: Axis[], { rows }: ViewProps, watch: Watch, visit: Visit): Promise<boolean> {
  const readers = axes.map((axis) => axis.reader());
  const read = (row: GalleryRow, index: number): void =>
    visit(
      row,
      readers.map((of) => of(row)),
      index,
    );
  return scanRows(rows, () => true, read, watch);
}

function pageOf(axis: Axis, isStep: boolean, all: string[], wanted: number): Values {
  const size = isStep ? 1 : pageSize;
  const values = inOrder(all);
  const pages = Math.max(1, Math.ceil(values.length / size));
  const page = Math.min(wanted, pages);
  return { axis, isStep, shown: values.slice((page - 1) * size, page * size), page, pages };
}

class Cells {
  readonly #cells = new Map<string, Cell>();
  readonly #shown: Set<string>[];
  readonly #most: number;
  readonly #matches: (row: GalleryRow) => boolean;

  constructor(values: Values[], matches: (row: GalleryRow) => boolean) {
    this.#shown = values.map(({ shown }) => new Set(shown));
    const [down = 1, across = 1] = values.map(({ shown }) => shown.length);
    this.#most = Math.max(1, Math.min(9, Math.floor(mostPictures / (down * across))));
    this.#matches = matches;
  }

  add(row: GalleryRow, of: string[], index: number): void {
    if (row.values === undefined || !this.#shown.every((shown, i) => shown.has(of[i] ?? ''))) return;
    const key = keyOf(of);
    const cell = this.#cells.get(key) ?? { count: 0, shown: [], why: 'not selected' };
    this.#cells.set(key, cell);
    if (!this.#matches(row)) {
      if (row.state === 'unneeded') cell.why = 'not needed';
      return;
    }
    cell.count += 1;
    if (cell.shown.length < this.#most) cell.shown.push({ row, index });
  }

  at(down: string, across: string): Cell {
    return this.#cells.get(keyOf([down, across])) ?? { count: 0, shown: [], why: 'no such scene' };
  }
}

function keyOf([down, across]: string[]): string {
  return JSON.stringify([down, across]);
}
