/** The rows of a batch, loaded in chunks when they are needed: files of a report, or responses of a server. */
import { ownHeaders } from './watch-session.ts';
import type { GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';

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
