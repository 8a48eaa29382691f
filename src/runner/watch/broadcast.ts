/** Reads the watched batch once a second for all its viewers, and not at all without any. */
import type { ArrivedScene, LiveNews, LiveState } from '../core/live-batch.ts';
import type { GalleryData, GalleryRow } from '../core/gallery-data.ts';

/** Nothing here changes the batch. */
export interface WatchedBatch {
  /** The folder of its pictures; absolute. */
  imagesDir: string;
  /** Reads a picture or a thumbnail that is not on this machine. Returns undefined if there is none, or the files are here. */
  readElsewhere?: (kind: 'picture' | 'thumbnail', file: string) => Promise<Buffer | undefined>;
  /** The folder of their thumbnails; absolute. */
  thumbnailsDir: string;
  /** How it stands, problems included; cheap where nothing has changed. One call at a time. */
  read(): Promise<BatchReading>;
  /** Of a piece of the list, from 0 on; undefined where there is no such piece. Throws where they cannot be read. */
  rows(piece: number): GalleryRow[] | undefined;
}

/** The very same parts as in the reading before where they are as they were. */
export interface BatchReading {
  state: LiveState;
  /** Null where there is none. */
  list: ReadList | null;
  /** Counted some time ago; null where that is yet to be done. */
  gallery: GalleryData | null;
}

export interface ReadList {
  /** How many rows each piece has; another object where rows may have moved, or any may be others. */
  rows: number[];
  /** The pieces that are others than before. */
  changed: number[];
  /** The latest pictures, the newest first. */
  arrived: ArrivedScene[];
}

export interface Broadcast {
  /**
   * What is newer than this revision, about a second old at most; 0 for all. Where nothing is, what comes next, or after some
   * time that nothing has. `leave` is given what is to be called where nobody waits for it any more.
   */
  newsSince(revision: number, leave: (gone: () => void) => void): Promise<LiveNews>;
  close(): void;
}

/** Longer than this no answer is awaited: a connection on which nothing moves is closed on many a way. */
const longestWaitMs = 15_000;

/** A reading may take this share of one processor: the longer one takes, the later comes the next. */
const shareOfTime = 0.05;

/** Reads the batch at most once every `readEveryMs`. */
export function startBroadcast(batch: Pick<WatchedBatch, 'read'>, readEveryMs = 1_000): Broadcast {
  const latest = new LatestNews();
  const waiting = new Set<() => void>();
  let freshUntil = 0;
  let underWay: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const readOnce = async (): Promise<void> => {
    const before = process.cpuUsage();
    const hasNews = latest.take(await batch.read());
    // What a busy machine makes it wait for is no work of its own.
    const { user, system } = process.cpuUsage(before);
    freshUntil = performance.now() + Math.max(readEveryMs, (user + system) / 1000 / shareOfTime);
    if (hasNews) for (const wake of waiting) wake();
  };
  const read = (): Promise<void> =>
    (underWay ??= readOnce().finally(() => {
      underWay = undefined;
    }));
  const keepReading = (): void => {
    if (timer !== undefined || isClosed || waiting.size === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      // Problems are part of what is read; an error is a bug, and answered to the next request.
      void read().then(keepReading, keepReading);
    }, freshUntil - performance.now());
  };
  const news = (leave: (gone: () => void) => void): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(longest);
        waiting.delete(wake);
        resolve();
      };
      const longest = setTimeout(wake, longestWaitMs);
      waiting.add(wake);
      leave(wake);
      keepReading();
    });

  return {
    newsSince: async (revision, leave) => {
      if (performance.now() >= freshUntil) await read();
      if (revision === latest.revision && !isClosed) await news(leave);
      return latest.since(revision);
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      for (const wake of waiting) wake();
    },
  };
}

/** What was read last, and when each part of it changed: by revisions, which rise, also over a new start of the server. */
class LatestNews {
  revision = 0;
  #reading: BatchReading | undefined;
  #state = '';
  #listAt = 0;
  #galleryAt = 0;
  readonly #changedAt = new Map<number, number>();
  #arrived: { scene: ArrivedScene; at: number }[] = [];

  /** Whether there is anything new in it. */
  take(reading: BatchReading): boolean {
    const { state, list, gallery } = reading;
    const before = this.#reading;
    const text = JSON.stringify(state);
    if (text === this.#state && list === before?.list && gallery === before.gallery) return false;
    this.revision = Math.max(Date.now(), this.revision + 1);
    if (list !== before?.list) this.#takeList(list, before?.list?.rows);
    if (gallery !== before?.gallery) this.#galleryAt = this.revision;
    this.#state = text;
    this.#reading = reading;
    return true;
  }

  #takeList(list: ReadList | null, rowsBefore: number[] | undefined): void {
    const at = this.revision;
    const isMoved = list?.rows !== rowsBefore;
    if (isMoved) {
      this.#listAt = at;
      this.#changedAt.clear();
    }
    for (const piece of list?.changed ?? []) this.#changedAt.set(piece, at);
    // Their numbers of rows are those of the list.
    const knownAt = new Map(this.#arrived.map((one) => [one.scene.picture, one.at]));
    this.#arrived = (list?.arrived ?? []).map((scene) => ({
      scene,
      at: isMoved ? at : (knownAt.get(scene.picture) ?? at),
    }));
  }

  /** All of it where the page has it from another server whose clock was ahead. */
  since(asked: number): LiveNews {
    if (this.#reading === undefined) throw new Error('nothing was read yet');
    const revision = asked > this.revision ? 0 : asked;
    const { state, list, gallery } = this.#reading;
    const isMoved = this.#listAt > revision;
    const changed = [...this.#changedAt].filter(([, at]) => at > revision).map(([piece]) => piece);
    const chunks = { folder: `rows/${this.#listAt.toString(36)}`, rows: list?.rows ?? [] };
    return {
      now: Date.now(),
      revision: this.revision,
      ...state,
      arrived: this.#arrived.filter(({ at }) => at > revision).map(({ scene }) => scene),
      changed: isMoved ? [] : changed,
      ...(isMoved && { chunks }),
      ...(gallery !== null && this.#galleryAt > revision && { gallery }),
    };
  }
}
