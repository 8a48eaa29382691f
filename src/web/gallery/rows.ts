/** The rows of a report, loaded from their files when they are looked at. */
import type { GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';

/** Files whose rows are kept: some hundred thousand rows. */
const maxKept = 400;

type Arrived = (rows: GalleryRow[]) => void;

const awaited = new Map<number, Arrived>();

/** What the files of rows call. */
Object.assign(globalThis, {
  nightrenderRows: (number: number, rows: GalleryRow[]) => awaited.get(number)?.(rows),
});

export class Rows {
  readonly total: number;
  /** How many files there are. */
  readonly chunks: number;
  readonly #folder: string;
  /** Where pictures are that are not beside the page. */
  readonly #picturesAt: string | null;
  /** The number of the first row of each file. */
  readonly #starts: number[] = [];
  readonly #kept = new Map<number, Promise<GalleryRow[]>>();

  constructor({ chunks: { folder, rows }, picturesAt }: Pick<GalleryData, 'chunks' | 'picturesAt'>) {
    this.#folder = folder;
    this.#picturesAt = location.protocol === 'file:' ? picturesAt : null;
    let total = 0;
    for (const count of rows) {
      this.#starts.push(total);
      total += count;
    }
    this.total = total;
    this.chunks = rows.length;
  }

  /** Rejects where the file is not there any more, because the report was written anew. */
  chunk(index: number): Promise<GalleryRow[]> {
    const kept = this.#kept.get(index) ?? this.#load(index);
    // The one that was used last is the last to go.
    this.#kept.delete(index);
    this.#kept.set(index, kept);
    kept.catch(() => this.#kept.delete(index));
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest);
    return kept;
  }

  async #load(index: number): Promise<GalleryRow[]> {
    const rows = await load(`${this.#folder}/${index + 1}.js`, index + 1);
    if (this.#picturesAt !== null)
      for (const link of rows.flatMap(({ pictures = [], files = [] }) => [...pictures, ...files]))
        link.file = link.file.replace('../images/', this.#picturesAt);
    return rows;
  }

  startOf(chunk: number): number {
    return this.#starts[chunk] ?? 0;
  }

  async at(index: number): Promise<GalleryRow | undefined> {
    if (index < 0 || index >= this.total) return undefined;
    const next = this.#starts.findIndex((start) => start > index);
    const chunk = (next === -1 ? this.chunks : next) - 1;
    return (await this.chunk(chunk))[index - this.startOf(chunk)];
  }
}

/** As a script: a page of the file system may read nothing else. */
function load(address: string, number: number): Promise<GalleryRow[]> {
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
