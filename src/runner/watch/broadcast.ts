/** Reads the watched batch once a second for all its viewers, and not at all without any. */
import type { LiveBatch, LivePicture, PictureStory } from '../core/live-batch.ts';

export interface Broadcast {
  /** The latest reading, about a second old at most. */
  latest(): Promise<LiveBatch>;
  /** Returns how to leave. */
  join(listener: Listener): () => void;
  close(): void;
}

export interface Listener {
  /** Called with every change; `earlier` is what was sent last. */
  hear: (batch: LiveBatch, earlier: LiveBatch | undefined) => void;
  /** Called now and then while nothing changes. */
  beat: () => void;
}

const secondMs = 1_000;
const beatMs = 15_000;

/** A reading may take this share of one processor: the longer one takes, the later comes the next. */
const shareOfTime = 0.05;

interface Reading {
  batch: LiveBatch;
  json: string;
  freshUntil: number;
}

export function startBroadcast(batch: Pick<WatchedBatch, 'read'>): Broadcast {
  const listeners = new Set<Listener>();
  let latest: Reading | undefined;
  let underWay: Promise<LiveBatch> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let lastSentAt = 0;
  let isClosed = false;

  const forEachListener = (say: (listener: Listener) => void): void => {
    lastSentAt = performance.now();
    for (const listener of listeners) say(listener);
  };
  const readOnce = async (): Promise<LiveBatch> => {
    const earlier = latest;
    latest = await timedReading(batch);
    const { batch: now, json } = latest;
    if (earlier?.json !== json) forEachListener((listener) => listener.hear(now, earlier?.batch));
    else if (performance.now() - lastSentAt > beatMs) forEachListener((listener) => listener.beat());
    return now;
  };
  const read = (): Promise<LiveBatch> =>
    (underWay ??= readOnce().finally(() => {
      underWay = undefined;
    }));
  const keepReading = (): void => {
    if (timer !== undefined || isClosed || listeners.size === 0) return;
    const waitMs = (latest?.freshUntil ?? 0) - performance.now();
    timer = setTimeout(() => {
      timer = undefined;
      // Problems are part of what is read; an error is a bug, and answered to the next request.
      void read().then(keepReading, keepReading);
    }, waitMs);
  };

  return {
    latest: async () =>
      latest !== undefined && performance.now() < latest.freshUntil ? latest.batch : await read(),
    join: (listener) => {
      listeners.add(listener);
      keepReading();
      return () => void listeners.delete(listener);
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

async function timedReading(source: Pick<WatchedBatch, 'read'>): Promise<Reading> {
  const before = performance.now();
  const batch = await source.read();
  const after = performance.now();
  const restMs = Math.max(secondMs, (after - before) / shareOfTime);
  return { batch, json: JSON.stringify(batch), freshUntil: after + restMs };
}

/** Nothing here changes the batch. */
export interface WatchedBatch {
  /** The folder of its pictures; absolute. */
  imagesDir: string;
  /** Where they are in a bucket, reads a picture (`images/…`) or a thumbnail (`report/thumbnails/…`); undefined where there is none. */
  readBucket?: (key: string) => Promise<Buffer | undefined>;
  /** The folder of their thumbnails; absolute. */
  thumbnailsDir: string;
  /** The present state, problems included; cheap where nothing has changed. One call at a time. */
  read(): Promise<LiveBatch>;
  /** The newest of those before this id. Throws where they cannot be read. */
  picturesBefore(id: number): LivePicture[];
  /** Undefined where there is no such picture. Throws as above. */
  story(id: number): PictureStory | undefined;
}
