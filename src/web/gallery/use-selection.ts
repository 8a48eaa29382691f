/** The rows that a reader asked for, found in all files while the page goes on. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { GalleryData } from '../../runner/core/gallery-data.ts';
import { isEverything, matcher, type Query } from './query.ts';
import type { Rows } from './rows.ts';
import { selectRows } from './select-rows.ts';

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
  const [found, setFound] = useState({
    asked: '',
    numbers: undefined as number[] | undefined,
    done: 0,
    hasFailed: false,
  });
  useEffect(() => {
    if (isEverything(query)) return;
    const stopped = new AbortController();
    const onPart = (done: number): void => setFound({ asked, numbers: undefined, done, hasFailed: false });
    const matches = matcher(query, (column) => data.columns[column]?.choices !== null);
    const look = async (): Promise<void> => {
      const watch = { signal: stopped.signal, onPart };
      const numbers = await selectRows(rows, matches, query.order, watch);
      if (numbers !== undefined) setFound({ asked, numbers, done: rows.total, hasFailed: false });
    };
    look().catch(() => setFound({ asked, numbers: undefined, done: 0, hasFailed: true }));
    return () => stopped.abort();
  }, [asked]);
  return useMemo(() => {
    if (isEverything(query)) return { selection: everyRow(rows.total), done: rows.total, hasFailed: false };
    const current = found.asked === asked ? found : { numbers: undefined, done: 0, hasFailed: false };
    return {
      selection: current.numbers && those(current.numbers),
      done: current.done,
      hasFailed: current.hasFailed,
    };
  }, [asked, found]);
}

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
