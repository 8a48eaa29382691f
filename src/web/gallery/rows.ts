/** The rows of a batch, loaded in files when they are looked at: from the report's folder, or from a server that knows what is new. */
import type { GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';

/** Rows that are kept. */
const maxKept = 200_000;

/** `number`: of the file, from 1. */
type Load = (folder: string, number: number) => Promise<GalleryRow[]>;

type Kept = Map<number, Promise<GalleryRow[]>>;

export class Rows {
  readonly total: number;
  /** How many files there are. */
  readonly chunks: number;
  /** Whether they change while they are looked at. */
  readonly isLive: boolean;
  readonly #of: GalleryData['chunks'];
  readonly #load: Load;
  /** The number of the first row of each file. */
  readonly #starts: number[] = [];
  readonly #mostKept: number;
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
    this.#mostKept = Math.ceil((maxKept * this.chunks) / Math.max(1, total));
  }

  /** With another one, they may be other rows. */
  get folder(): string {
    return this.#of.folder;
  }

  /** Whether all of them stay where they were loaded once. */
  get areKept(): boolean {
    return this.chunks <= this.#mostKept;
  }

  /** The same without the files that are others now; without all where they are in another folder. */
  renewed(of: GalleryData['chunks'] = this.#of, changed: number[] = []): Rows {
    if (of.folder !== this.#of.folder) return new Rows(of, this.#load, this.isLive);
    for (const index of changed) this.#kept.delete(index);
    return new Rows(of, this.#load, this.isLive, this.#kept);
  }

  /** Rejects where the file is not there any more, because the report was written anew, or the server does not answer. */
  chunk(index: number): Promise<GalleryRow[]> {
    const kept = this.#kept.get(index) ?? this.#load(this.#of.folder, index + 1);
    // The one that was used last is the last to go.
    this.#kept.delete(index);
    this.#kept.set(index, kept);
    kept.catch(() => this.#kept.get(index) === kept && this.#kept.delete(index));
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#mostKept && oldest !== undefined) this.#kept.delete(oldest);
    return kept;
  }

  startOf(chunk: number): number {
    return this.#starts[chunk] ?? 0;
  }

  /** The number of the file that a row is in. */
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

/** Of a report. */
export function reportRows({ chunks, picturesAt }: GalleryData): Rows {
  // Where pictures are that are not beside the page.
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

/** What the files of rows call. */
Object.assign(globalThis, {
  nightrenderRows: (number: number, rows: GalleryRow[]) => awaited.get(number)?.(rows),
});

/** A page of the file system may read nothing else. */
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
      reject(new Error(`${address} is not there`));
    });
    script.src = address;
    document.head.append(script);
  });
}

/** Of a server: no script, which pages of other sites could run. */
export function servedRows(chunks: GalleryData['chunks']): Rows {
  const load = async (folder: string, number: number): Promise<GalleryRow[]> => {
    const response = await fetch(`${folder}/${number}.json`);
    if (!response.ok) throw new Error(`${response.status} came for ${response.url}`);
    return (await response.json()) as GalleryRow[];
  };
  return new Rows(chunks, load, true);
}
