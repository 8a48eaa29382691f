/** The rows that a reader asked for, found in all files while the page goes on. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { GalleryData } from '../../runner/core/gallery-data.ts';
import { isEverything, matcher, type Query } from './query.ts';
import type { Rows } from './rows.ts';
import { selectRows, type Watch } from './select-rows.ts';

/** The numbers of rows from 0, in the order they are shown in. */
export interface Selection {
  count: number;
  at(position: number): number | undefined;
  /** -1 where it is not among them. */
  positionOf(row: number): number;
}

export interface Selected {
  /** Undefined until it is found. */
  selection: Selection | undefined;
  /** Rows looked at so far. */
  done: number;
  hasFailed: boolean;
}

export function useSelection(rows: Rows, data: GalleryData, query: Query): Selected {
  const asked = JSON.stringify(query);
  const every = useMemo(() => (isEverything(query) ? everyRow(rows.total) : undefined), [asked]);
  const { found, isLatest, done, hasFailed } = useSearch(asked, async (watch) => {
    if (every !== undefined) return every;
    const matches = matcher(query, (column) => data.columns[column]?.choices !== null);
    const numbers = await selectRows(rows, matches, query.order, watch);
    return numbers && those(numbers);
  });
  return { selection: every ?? (isLatest ? found : undefined), done, hasFailed };
}

interface Search<T> {
  /** What was found last, for what is asked now only where `isLatest`. */
  found: T | undefined;
  isLatest: boolean;
  done: number;
  hasFailed: boolean;
}

/** Searches all rows, and leaves off where something else is asked for. */
export function useSearch<T>(asked: string, search: (watch: Watch) => Promise<T | undefined>): Search<T> {
  const [state, setState] = useState({ asked, ...nothing, found: undefined as T | undefined });
  useEffect(() => {
    const stopped = new AbortController();
    const { signal } = stopped;
    const tell = (change: Partial<Search<T>>): void =>
      setState((before) => ({ ...before, ...nothing, asked, ...change }));
    search({ signal, onPart: (done) => tell({ done }) }).then(
      (found) => signal.aborted || tell({ found, isLatest: true }),
      () => signal.aborted || tell({ hasFailed: true }),
    );
    return () => stopped.abort();
  }, [asked]);
  return state.asked === asked ? state : { ...nothing, found: state.found };
}

const nothing = { isLatest: false, done: 0, hasFailed: false };

function everyRow(total: number): Selection {
  const within = (number: number): boolean => number >= 0 && number < total;
  return {
    count: total,
    at: (position) => (within(position) ? position : undefined),
    positionOf: (row) => (within(row) ? row : -1),
  };
}

export function those(numbers: number[]): Selection {
  return {
    count: numbers.length,
    at: (position) => numbers[position],
    positionOf: (row) => numbers.indexOf(row),
  };
}
