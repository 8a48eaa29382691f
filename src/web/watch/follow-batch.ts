/** Follows a batch over server-sent events, and finds it again after it was lost. */
import type { LiveBatch, PictureStory, LivePicture } from '../../runner/core/live-batch.ts';

/** `now` is the server's clock, epoch ms. */
export type News = LiveBatch & { now: number };

export interface Follower {
  hear: (news: News) => void;
  lose: (isLost: boolean) => void;
}

/** The server says something every 15 s at least; what it says may get stuck on the way without an end. */
const silenceMs = 40_000;

/** While the page cannot be seen nothing is fetched. Returns how to stop. */
export function followBatch(follower: Follower): () => void {
  let events: EventSource | undefined;
  let watchdog: number | undefined;
  const close = (): void => {
    clearTimeout(watchdog);
    events?.close();
    events = undefined;
  };
  const open = (): void => {
    close();
    if (document.visibilityState === 'hidden') return;
    events = new EventSource('events');
    const hear = ({ data }: MessageEvent<string>): void => {
      heard();
      follower.hear(JSON.parse(data) as News);
    };
    events.addEventListener('batch', hear);
    events.addEventListener('change', hear);
    events.addEventListener('beat', heard);
    events.addEventListener('error', () => {
      follower.lose(true);
      // The browser gives up where something else answers under the address.
      if (events?.readyState === EventSource.CLOSED) expect(3_000);
    });
    expect(silenceMs);
  };
  const heard = (): void => {
    follower.lose(false);
    expect(silenceMs);
  };
  const expect = (ms: number): void => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => void lookAgain(), ms);
  };
  /** Where events do not come through at all, this is how the page stays fresh. */
  const lookAgain = async (): Promise<void> => {
    open();
    try {
      follower.hear(await fetchData<News>(''));
      follower.lose(false);
    } catch {
      follower.lose(true);
    }
  };
  document.addEventListener('visibilitychange', open);
  open();
  return () => {
    document.removeEventListener('visibilitychange', open);
    close();
  };
}

export async function fetchNewest(): Promise<LivePicture[]> {
  return (await fetchData<News>('')).newest;
}

export async function fetchBefore(id: number): Promise<LivePicture[]> {
  return (await fetchData<{ pictures: LivePicture[] }>(`?before=${id}`)).pictures;
}

export function fetchStory(id: number): Promise<PictureStory> {
  return fetchData<PictureStory>(`?picture=${id}`);
}

async function fetchData<T>(query: string): Promise<T> {
  const response = await fetch(`data.json${query}`);
  if (!response.ok) throw new Error(`${response.status} came for data.json${query}`);
  return (await response.json()) as T;
}
