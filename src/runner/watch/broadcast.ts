/** Reads the watched batch once a second for all viewers, and not at all while there are none. */
import type {
  ArrivedScene,
  GalleryData,
  GalleryRow,
  LiveNews,
  LiveState,
  Mark,
  MarkChange,
  ReadMarks,
} from '../core/gallery-data.ts';

/** A batch as the page of `watch` reads it. Marks are all that changes. */
export interface WatchedBatch {
  /** Absolute path of the folder of pictures. */
  imagesDir: string;
  /** Reads a picture or a thumbnail that is not on this machine. Null if there is none, undefined if the files are here. */
  readElsewhere?: (kind: 'picture' | 'thumbnail', file: string) => Promise<Buffer | null | undefined>;
  /** Opens a clip that is not on this machine, like `readElsewhere`. */
  openElsewhere?: (file: string) => Promise<ClipElsewhere | null | undefined>;
  /** Absolute path of the folder of thumbnails. */
  thumbnailsDir: string;
  /** Returns the state of the batch, with its problems. Cheap if nothing has changed. The previous call must have ended. */
  read(): Promise<BatchReading>;
  /** Returns the marks, by scene id: the same object as before if they have not changed. */
  marks(): ReadMarks['marks'];
  /** Name of the batch for people, such as `night/out`. */
  name: string;
  /** Returns the files of the pictures that a scene has now. Empty if it has none. */
  picturesOf(id: string): string[];
  /** Keeps changes of marks with the batch. `by`: set for those of a viewer. Returns what prevents it, in words. */
  setMarks(changes: MarkChange[], by?: 'viewer'): string | undefined;
  /** Returns the rows of a piece of the list, counted from 0. Undefined if there is no such piece. Throws if they cannot be read. */
  rows(piece: number): GalleryRow[] | undefined;
}

/** A clip in a bucket, which may be too large for memory. */
export interface ClipElsewhere {
  /** Size in bytes. */
  length: number;
  /** Returns `length` bytes from `at` on. Fewer if the object has become shorter. */
  read(at: number, length: number): Promise<Buffer>;
}

/** Parts that have not changed are the same objects as in the previous reading. */
export interface BatchReading {
  state: LiveState;
  /** Null if there is no list. */
  list: ReadList | null;
  marks: ReadMarks['marks'];
  /** Result of the latest count, which may be some time ago. Null before the first count. */
  gallery: GalleryData | null;
}

export interface ReadList {
  /** Number of rows of each piece. A new object if rows may have moved or been replaced. */
  rows: number[];
  changed: number[];
  /** Latest pictures, newest first. */
  arrived: ArrivedScene[];
}

export interface Broadcast {
  /**
   * Returns changes after this revision (0: all), or waits up to `longestWaitMs`. `leave` gets a function
   * that
   * ends the wait.
   */
  newsSince(revision: number, leave: (gone: () => void) => void): Promise<LiveNews>;
  /** Reads the batch now, so that those who wait hear of a change at once. */
  readAgain(): Promise<void>;
  close(): void;
}

/** Maximum wait for news. Proxies and tunnels close connections without traffic. */
const longestWaitMs = 15_000;

/** Share of one processor that readings may take. The longer one takes, the later the next begins. */
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
    // Waiting on a busy machine does not count, only CPU time does.
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
      // Problems are part of the reading. An error is a bug, and the next request reports it.
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
    readAgain: async () => {
      // A reading that is under way may have begun before the change.
      await underWay;
      await read();
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      for (const wake of waiting) wake();
    },
  };
}

/** The latest reading, and the revision at which each part changed. Revisions rise, also over restarts of the server. */
class LatestNews {
  revision = 0;
  #reading: BatchReading | undefined;
  #state = '';
  #listAt = 0;
  #galleryAt = 0;
  #marksAt = 0;
  readonly #changedAt = new Map<number, number>();
  #arrived: { scene: ArrivedScene; at: number }[] = [];

  /** Takes a reading. Returns true if it has changes. */
  take(reading: BatchReading): boolean {
    const { state, list, gallery, marks } = reading;
    const before = this.#reading;
    const text = JSON.stringify(state);
    const isSame = text === this.#state && list === before?.list && gallery === before.gallery;
    if (isSame && marks === before.marks) return false;
    this.revision = Math.max(Date.now(), this.revision + 1);
    if (list !== before?.list) this.#takeList(list, before?.list?.rows);
    if (gallery !== before?.gallery) this.#galleryAt = this.revision;
    if (marks !== before?.marks) this.#marksAt = this.revision;
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
    // They name rows by their numbers in the list.
    const knownAt = new Map(this.#arrived.map((one) => [one.scene.picture, one.at]));
    this.#arrived = (list?.arrived ?? []).map((scene) => ({
      scene,
      at: isMoved ? at : (knownAt.get(scene.picture) ?? at),
    }));
  }

  /** Returns the whole state if the revision comes from another server whose clock was ahead. */
  since(asked: number): LiveNews {
    if (this.#reading === undefined) throw new Error('nothing was read yet');
    const revision = asked > this.revision ? 0 : asked;
    const { state, list, gallery, marks } = this.#reading;
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
      ...(this.#marksAt > revision && {
        marks: [...marks].map(([id, { mark }]) => [id, mark] as [string, Mark]),
      }),
      ...(gallery !== null && this.#galleryAt > revision && { gallery }),
    };
  }
}
