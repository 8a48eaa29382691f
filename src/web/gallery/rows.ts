/** The rows of a batch: loaded in chunks when they are needed, from files of a report or responses of a server, and searched without blocking the page. */
import { ownHeaders } from './watch-session.ts';
import type { GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isEverything, matcher, sortKey, type Matching, type Order, type Query } from './query.ts';

/** Maximum number of rows kept in memory. */
const maxKept = 200_000;

type Load = (folder: string, number: number) => Promise<GalleryRow[]>;

type Kept = Map<number, Promise<GalleryRow[]>>;

export class Rows {
  readonly total: number;
  readonly chunks: number;
  /** True if rows may change while they are shown. */
  readonly isLive: boolean;
  readonly #of: GalleryData['chunks'];
  readonly #load: Load;
  /** Index of the first row of each chunk. */
  readonly #starts: number[] = [];
  readonly #maxKeptChunks: number;
  readonly #kept: Kept;

  constructor(of: GalleryData['chunks'], load: Load, isLive: boolean, kept: Kept = new Map()) {
    this.#of = of;
    this.#load = load;
    this.isLive = isLive;
    this.#kept = kept;
    let total = 0;
    for (const count of of.rows) {
      this.#starts.push(total);
      total += count;
    }
    this.total = total;
    this.chunks = of.rows.length;
    this.#maxKeptChunks = Math.ceil((maxKept * this.chunks) / Math.max(1, total));
  }

  /** Folder of the chunks. If it changes, all rows may have changed. */
  get folder(): string {
    return this.#of.folder;
  }

  /** True if all chunks fit in memory. */
  get areKept(): boolean {
    return this.chunks <= this.#maxKeptChunks;
  }

  /** Returns the rows without the chunks that have changed. In another folder, all have changed. */
  renewed(of: GalleryData['chunks'] = this.#of, changed: number[] = []): Rows {
    if (of.folder !== this.#of.folder) return new Rows(of, this.#load, this.isLive);
    for (const index of changed) this.#kept.delete(index);
    return new Rows(of, this.#load, this.isLive, this.#kept);
  }

  /** Loads a chunk or returns the kept one. Rejects if a newer report replaced it, or without an answer. */
  chunk(index: number): Promise<GalleryRow[]> {
    const kept = this.#kept.get(index) ?? this.#load(this.#of.folder, index + 1);
    // Moves the chunk to the end, because the least recently used one is dropped first.
    this.#kept.delete(index);
    this.#kept.set(index, kept);
    kept.catch(() => this.#kept.get(index) === kept && this.#kept.delete(index));
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#maxKeptChunks && oldest !== undefined) this.#kept.delete(oldest);
    return kept;
  }

  startOf(chunk: number): number {
    return this.#starts[chunk] ?? 0;
  }

  chunkOf(index: number): number {
    const next = this.#starts.findIndex((start) => start > index);
    return (next === -1 ? this.chunks : next) - 1;
  }

  async at(index: number): Promise<GalleryRow | undefined> {
    if (index < 0 || index >= this.total) return undefined;
    const chunk = this.chunkOf(index);
    return (await this.chunk(chunk))[index - this.startOf(chunk)];
  }
}

export function reportRows({ chunks, picturesAt }: GalleryData): Rows {
  // Place of pictures that are not beside the page; only a page opened from disk needs it.
  const elsewhere = location.protocol === 'file:' ? picturesAt : null;
  const loadHere = async (folder: string, number: number): Promise<GalleryRow[]> => {
    const rows = await loadScript(`${folder}/${number}.js`, number);
    if (elsewhere !== null)
      for (const link of rows.flatMap(({ pictures = [], files = [] }) => [...pictures, ...files]))
        link.file = link.file.replace('../images/', elsewhere);
    return rows;
  };
  return new Rows(chunks, loadHere, false);
}

type Arrived = (rows: GalleryRow[]) => void;

const awaited = new Map<number, Arrived>();

/** Files of rows call this function. */
Object.assign(globalThis, {
  nightrenderRows: (number: number, rows: GalleryRow[]) => awaited.get(number)?.(rows),
});

/** Loads a chunk as a script, because a page opened from disk can read no other files. */
function loadScript(address: string, number: number): Promise<GalleryRow[]> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    const leave = (): void => {
      awaited.delete(number);
      script.remove();
    };
    awaited.set(number, resolve);
    script.addEventListener('load', leave);
    script.addEventListener('error', () => {
      leave();
      reject(new Error(`${address} cannot be loaded`));
    });
    script.src = address;
    document.head.append(script);
  });
}

/** Returns the rows of a server as JSON. Pages of other sites could run a script and so read it. */
export function servedRows(chunks: GalleryData['chunks']): Rows {
  const load = async (folder: string, number: number): Promise<GalleryRow[]> => {
    const response = await fetch(`${folder}/${number}.json`, { headers: ownHeaders() });
    if (!response.ok) throw new Error(`${response.url} answered ${response.status}`);
    return (await response.json()) as GalleryRow[];
  };
  return new Rows(chunks, load, true);
}

/** Indexes of the matching rows, in display order. */
export interface Selection {
  count: number;
  /** Total execution time of the rows' jobs in ms; undefined if all rows are selected without a search. */
  executionMs?: number;
  at(position: number): number | undefined;
  /** Returns -1 if the row isn't selected. */
  positionOf(row: number): number;
}

export interface Selected {
  /** Undefined until the search has finished. */
  selection: Selection | undefined;
  /** Number of rows searched so far. */
  done: number;
  hasFailed: boolean;
}

/** Returns the rows that match a query. `isAny`: an empty query matches all, without a search. */
export function useSelection(rows: Rows, query: Query, matching: Matching, isAny: boolean): Selected {
  const asked = JSON.stringify(query);
  const every = useMemo(
    () => (isAny && isEverything(query) ? everyRow(rows.total) : undefined),
    [asked, rows.total, isAny],
  );
  const { found, isLatest, done, hasFailed } = useSearch(rows, asked, async (watch) => {
    if (every !== undefined) return every;
    const matches = matcher(query, matching);
    const chosen = await selectRows(rows, matches, query.order, watch);
    return chosen && { ...selectionOf(chosen.numbers), executionMs: chosen.executionMs };
  });
  return { selection: every ?? (isLatest ? found : undefined), done, hasFailed };
}

interface Search<T> {
  /** Latest result. It belongs to the current query only if `isLatest` is true. */
  found: T | undefined;
  isLatest: boolean;
  done: number;
  hasFailed: boolean;
}

/** Maximum share of time for repeated searches while rows change. */
const shareOfTime = 0.05;

/** Searches all rows until the query changes, and again after rows changed, if all chunks are in memory. */
export function useSearch<T>(
  rows: Rows,
  asked: string,
  search: (watch: Watch) => Promise<T | undefined>,
): Search<T> {
  const [state, setState] = useState({ asked, ...nothing, found: undefined as T | undefined });
  const [turn, setTurn] = useState(0);
  const latest = useRef({ asked: '', rows, isUnderWay: false, restsUntil: 0 });
  useEffect(() => {
    const stopped = new AbortController();
    const { signal } = stopped;
    const isAgain = latest.current.asked === asked;
    const tell = (change: Partial<Search<T>>): void =>
      setState((before) => ({ ...before, ...nothing, asked, ...change }));
    const begun = performance.now();
    latest.current = { asked, rows, isUnderWay: true, restsUntil: 0 };
    const end = (change: Partial<Search<T>>): void => {
      if (signal.aborted) return;
      const now = performance.now();
      latest.current.isUnderWay = false;
      latest.current.restsUntil = now + (now - begun) / shareOfTime;
      tell(change);
    };
    search({ signal, onPart: (done) => isAgain || tell({ done }) }).then(
      (found) => end({ found, isLatest: true }),
      () => end({ hasFailed: true }),
    );
    return () => stopped.abort();
  }, [asked, turn]);
  useEffect(() => {
    const { isUnderWay, restsUntil, rows: searched } = latest.current;
    const isToBeFound = rows.areKept || state.hasFailed || rows.folder !== searched.folder;
    if (isUnderWay || searched === rows || !isToBeFound) return;
    const timer = setTimeout(() => setTurn((before) => before + 1), restsUntil - performance.now());
    return () => clearTimeout(timer);
  }, [rows, state]);
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

export function selectionOf(numbers: number[]): Selection {
  return {
    count: numbers.length,
    at: (position) => numbers[position],
    positionOf: (row) => numbers.indexOf(row),
  };
}

/** Number of chunks loaded in parallel. */
const atOnce = 8;

export interface Watch {
  signal: AbortSignal;
  /** Called with the number of rows searched so far. */
  onPart(done: number): void;
}

/** Visits every row that matches. Resolves to false if `signal` aborts first. */
export async function scanRows(
  rows: Rows,
  matches: (row: GalleryRow) => boolean,
  visit: (row: GalleryRow, index: number) => void,
  { signal, onPart }: Watch,
): Promise<boolean> {
  for (let first = 0; first < rows.chunks; first += atOnce) {
    const numbers = Array.from({ length: Math.min(atOnce, rows.chunks - first) }, (_, i) => first + i);
    const chunks = await Promise.all(numbers.map((number) => rows.chunk(number)));
    // Chunks in memory resolve at once, so a pause lets the page handle input.
    await new Promise((resume) => setTimeout(resume));
    if (signal.aborted) return false;
    for (const [i, chunk] of chunks.entries()) {
      const start = rows.startOf(first + i);
      for (const [offset, row] of chunk.entries()) if (matches(row)) visit(row, start + offset);
    }
    onPart(rows.startOf(first + chunks.length - 1) + (chunks.at(-1)?.length ?? 0));
  }
  return true;
}

interface Found {
  index: number;
  key: string | number | undefined;
}

/** Returns the indexes of matching rows in order. Undefined if `signal` aborts first. */
async function selectRows(
  rows: Rows,
  matches: (row: GalleryRow) => boolean,
  order: Order,
  watch: Watch,
): Promise<{ numbers: number[]; executionMs: number } | undefined> {
  const found: Found[] = [];
  let executionMs = 0;
  const visit = (row: GalleryRow, index: number): void => {
    executionMs += row.executionMs ?? 0;
    found.push({ index, key: sortKey(row, order) });
  };
  if (!(await scanRows(rows, matches, visit, watch))) return undefined;
  if (order !== 'listed') found.sort(byKey);
  return { numbers: found.map(({ index }) => index), executionMs };
}

const words = new Intl.Collator('en', { numeric: true });

function byKey(a: Found, b: Found): number {
  if (a.key === undefined || b.key === undefined)
    return Number(a.key === undefined) - Number(b.key === undefined) || a.index - b.index;
  const isNumber = typeof a.key === 'number' && typeof b.key === 'number';
  const difference = isNumber ? Number(a.key) - Number(b.key) : words.compare(String(a.key), String(b.key));
  return difference || a.index - b.index;
}
