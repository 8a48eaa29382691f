/** Marks of scenes: kept with the batch if somebody is signed in at `nightrender watch`, otherwise in this browser, over those of the report. */
import { useEffect, useState } from 'preact/hooks';
import { type GalleryData, type Mark, type MarkChange, markNames } from '../../runner/core/gallery-data.ts';
import { useKeyDown } from '../shared/hooks.ts';
import { elementOfKey, followAim } from './key-target.ts';
import { marks } from './query.ts';

/** Marks that the server of `watch` keeps with the batch. */
export interface BatchMarks {
  /** As the server last sent them, in the order in which they were set. */
  sent: [id: string, mark: Mark][];
  /** Marks that this session may set. */
  allowed: readonly Mark[];
  /** Rejects with the reason, in words. */
  send(changes: MarkChange[], isLeaving?: boolean): Promise<void>;
  /** Begins a download of the starred pictures. Rejects with the reason, in words. */
  download(): Promise<void>;
}

export interface Marking {
  of(id: string | undefined): Mark | undefined;
  ids(mark: Mark): string[];
  toggle(id: string, mark: Mark): void;
  /** Marks that can be set here. */
  allowed: readonly Mark[];
  /** `batch` if commands find all marks there. `nobody` if the browser refuses to store marks: they are lost with the page. */
  keeper: 'batch' | 'browser' | 'nobody';
  /** Marks of this browser that the batch does not have; undefined if there are none, or nobody is signed in. */
  own: { count: number; handOver(): void } | undefined;
  /** Downloads the starred pictures; undefined if nobody is signed in. */
  download: (() => void) | undefined;
  /** Why the last change was not kept, or the download refused. */
  problem: string | undefined;
}

/** Returns the marks of a batch, and handles their keys. Renders again after each change. `batch`: undefined if nobody is signed in. */
export function useMarks(
  { title, times: { firstSubmittedAt: begunAt }, marks: given = [] }: GalleryData,
  batch: BatchMarks | undefined,
): Marking {
  const [browser] = useState(() => new BrowserMarks(title, begunAt, given));
  browser.begin(begunAt);
  const [, setChanges] = useState(0);
  const renderAgain = (): void => setChanges((before) => before + 1);
  const [batchStore] = useState(() => new SentMarks(renderAgain));
  batchStore.hear(batch);
  const allowed = batch?.allowed ?? markNames;
  const toggle = (id: string, mark: Mark): void => {
    if (!allowed.includes(mark)) return;
    if (batch === undefined) browser.toggle(id, mark);
    else batchStore.change([{ id, mark: batchStore.of(id) === mark ? null : mark }]);
    renderAgain();
  };
  useKeyDown((event) => {
    const mark = markNames.find((each) => marks[each].key === event.key.toLowerCase());
    const id = mark && elementOfKey(event, '[data-scene]')?.dataset['scene'];
    if (mark !== undefined && id !== undefined) toggle(id, mark);
  });
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    followAim(signal);
    const onStored = (): void => {
      browser.readAgain();
      renderAgain();
    };
    addEventListener('pagehide', () => batchStore.leave(), { signal });
    // Fires if another tab changed the marks.
    addEventListener('storage', onStored, { signal });
    // A tab in the background may miss it.
    document.addEventListener('visibilitychange', () => document.hidden || onStored(), { signal });
    return () => left.abort();
  }, []);
  if (batch === undefined)
    return {
      of: (id) => browser.of(id),
      ids: (mark) => browser.ids(mark),
      toggle,
      allowed,
      keeper: !browser.isKept ? 'nobody' : browser.areOfBatch ? 'batch' : 'browser',
      own: undefined,
      download: undefined,
      problem: undefined,
    };
  const extra = allowed.flatMap((mark) =>
    browser.ids(mark).flatMap((id) => (batchStore.of(id) === undefined ? [{ id, mark }] : [])),
  );
  const handOver = (): void => {
    batchStore.change(extra, () => browser.forget(extra.map(({ id }) => id)));
    renderAgain();
  };
  return {
    of: (id) => batchStore.of(id),
    ids: (mark) => batchStore.ids(mark),
    toggle,
    allowed,
    keeper: 'batch',
    own: extra.length === 0 ? undefined : { count: extra.length, handOver },
    download: () => batchStore.download(),
    problem: batchStore.problem,
  };
}

/** Marks of the server, with the changes that it has not sent back yet. */
class SentMarks {
  problem: string | undefined;
  readonly #renderAgain: () => void;
  #batch: BatchMarks | undefined;
  #marks = new Map<string, Mark>();
  /** `isSent`: the server has them, so its next news counts. */
  readonly #pending = new Map<string, { mark: Mark | null; isSent: boolean }>();
  /** Changes are sent one after the other, so that the last one of a scene counts. */
  #sending: Promise<void> = Promise.resolve();

  constructor(renderAgain: () => void) {
    this.#renderAgain = renderAgain;
  }

  hear(batch: BatchMarks | undefined): void {
    const isNews = batch?.sent !== this.#batch?.sent;
    this.#batch = batch;
    if (!isNews) return;
    this.#marks = new Map(batch?.sent);
    for (const [id, { mark, isSent }] of this.#pending)
      if (isSent || (this.#marks.get(id) ?? null) === mark) this.#pending.delete(id);
  }

  of(id: string | undefined): Mark | undefined {
    if (id === undefined) return undefined;
    const pending = this.#pending.get(id);
    return pending === undefined ? this.#marks.get(id) : (pending.mark ?? undefined);
  }

  ids(mark: Mark): string[] {
    return [...new Set([...this.#marks.keys(), ...this.#pending.keys()])].filter(
      (id) => this.of(id) === mark,
    );
  }

  change(changes: MarkChange[], onKept: () => void = () => undefined): void {
    const batch = this.#batch;
    if (batch === undefined) return;
    for (const { id, mark } of changes) this.#pending.set(id, { mark, isSent: false });
    this.#sending = this.#sending.then(() => this.#send(batch, changes, onKept)).finally(this.#renderAgain);
  }

  /** Begins a download when the server has all changes. */
  download(): void {
    const begin = async (): Promise<void> => {
      try {
        await this.#batch?.download();
        this.problem = undefined;
      } catch (error) {
        this.problem = `Not downloaded: ${wordsOf(error)}.`;
      }
    };
    this.#sending = this.#sending.then(begin).finally(this.#renderAgain);
  }

  /** Sends what the server may not have, because leaving the page ends requests that are under way. */
  leave(): void {
    const unsent = [...this.#pending].flatMap(([id, { mark, isSent }]) => (isSent ? [] : [{ id, mark }]));
    if (unsent.length > 0) void this.#batch?.send(unsent, true).catch(() => undefined);
  }

  async #send(batch: BatchMarks, changes: MarkChange[], onKept: () => void): Promise<void> {
    try {
      await batch.send(changes);
      this.problem = undefined;
      for (const { id, mark } of changes)
        if (this.#pending.get(id)?.mark === mark) this.#pending.set(id, { mark, isSent: true });
      onKept();
    } catch (error) {
      for (const { id, mark } of changes) if (this.#pending.get(id)?.mark === mark) this.#pending.delete(id);
      this.problem = `Not kept: ${wordsOf(error)}.`;
    }
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Marks that a report contains, with the time of each in epoch ms. */
type GivenMarks = NonNullable<GalleryData['marks']>;

interface OwnMark {
  /** Null if a mark of the report was removed here. */
  mark: Mark | null;
  /** Epoch ms. 0 if an earlier version stored the mark. */
  at: number;
}

/**
 * Marks of a batch in local storage, over those that the report contains: the later one of a scene counts. The key includes
 * the first submission, so batches of the same title have separate marks.
 */
class BrowserMarks {
  /** False if the browser refuses to store the marks; they are lost with the page then. */
  isKept = true;
  readonly #title: string;
  /** Epoch ms; null before the first submission. */
  #begunAt: number | null;
  readonly #given: ReadonlyMap<string, { mark: Mark; at: number }>;
  /** Marks of this browser by scene id, in the order in which they were set. */
  #own: Map<string, OwnMark>;

  constructor(title: string, begunAt: number | null, given: GivenMarks) {
    this.#title = title;
    this.#begunAt = begunAt;
    this.#given = new Map(given.map(([id, mark, at]) => [id, { mark, at }]));
    this.#own = this.#read() ?? new Map();
  }

  /** Sets the start of a watched batch. Marks made before it are kept. */
  begin(begunAt: number | null): void {
    if (begunAt === this.#begunAt) return;
    const early = this.#begunAt === null ? this.#own : new Map<string, OwnMark>();
    if (early.size > 0) this.#write([]);
    this.#begunAt = begunAt;
    this.#own = new Map([...early, ...(this.#read() ?? [])]);
    if (early.size > 0) this.#write();
  }

  get #name(): string {
    return `nightrender marks ${this.#begunAt ?? 0} ${this.#title}`;
  }

  /** True if all marks are those of the batch, so that commands find them there. */
  get areOfBatch(): boolean {
    const isAsGiven = (id: string): boolean => this.of(id) === this.#given.get(id)?.mark;
    return this.#given.size > 0 && [...this.#own.keys()].every(isAsGiven);
  }

  of(id: string | undefined): Mark | undefined {
    if (id === undefined) return undefined;
    const [own, given] = [this.#own.get(id), this.#given.get(id)];
    if (own === undefined || (given?.at ?? -1) > own.at) return given?.mark;
    return own.mark ?? undefined;
  }

  ids(mark: Mark): string[] {
    return [...new Set([...this.#given.keys(), ...this.#own.keys()])].filter((id) => this.of(id) === mark);
  }

  forget(ids: string[]): void {
    this.readAgain();
    for (const id of ids) this.#own.delete(id);
    this.#write();
  }

  /** Reads the marks again, because another tab may have changed them. */
  readAgain(): void {
    this.#own = this.#read() ?? this.#own;
  }

  /** Sets the only mark of a scene, or removes it if it is set. */
  toggle(id: string, mark: Mark): void {
    this.readAgain();
    const isMarked = this.of(id) === mark;
    const given = this.#given.get(id);
    this.#own.delete(id);
    const at = Math.max(Date.now(), (given?.at ?? 0) + 1);
    if (!isMarked || given !== undefined) this.#own.set(id, { mark: isMarked ? null : mark, at });
    this.#write();
  }

  #write(marked: Iterable<[string, OwnMark]> = this.#own): void {
    try {
      const stored = [...marked].map(([id, { mark, at }]) => [id, mark, at]);
      localStorage.setItem(this.#name, JSON.stringify(stored));
      this.isKept = true;
    } catch {
      this.isKept = false;
    }
  }

  /** Undefined if the stored marks cannot be read. */
  #read(): Map<string, OwnMark> | undefined {
    if (!this.isKept) return undefined;
    try {
      const kept = JSON.parse(localStorage.getItem(this.#name) ?? '[]') as [string, Mark | null, number?][];
      return new Map(
        kept.flatMap(([id, mark, at = 0]) => (mark === null || mark in marks ? [[id, { mark, at }]] : [])),
      );
    } catch {
      this.isKept = false;
      return undefined;
    }
  }
}
