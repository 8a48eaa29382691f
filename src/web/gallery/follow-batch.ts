/** Follows a batch that a server watches, and finds it again after it was lost. */
import type { LiveNews } from '../../runner/core/live-batch.ts';

export interface Follower {
  hear(news: LiveNews): void;
  lose(isLost: boolean): void;
}

/** The server answers within 15 s; what it says may get stuck on the way without an end. */
const silenceMs = 40_000;

const pauseMs = 2_000;

/** Each request asks for what is newer, and is answered when there is any. While the page cannot be seen nothing is asked. Returns how to stop. */
export function followBatch({ hear, lose }: Follower): () => void {
  let asking = new AbortController();
  let revision = 0;
  const ask = async (signal: AbortSignal): Promise<void> => {
    const answer = await fetch(`data.json?since=${revision}`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(silenceMs)]),
    });
    if (!answer.ok) throw new Error(`${answer.status} came for ${answer.url}`);
    const news = (await answer.json()) as LiveNews;
    if (signal.aborted) return;
    revision = news.revision;
    lose(false);
    hear(news);
  };
  const follow = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        await ask(signal);
      } catch {
        if (!signal.aborted) lose(true);
        await new Promise((resume) => setTimeout(resume, pauseMs));
      }
    }
  };
  const begin = (): void => {
    asking.abort();
    asking = new AbortController();
    if (document.visibilityState !== 'hidden') void follow(asking.signal);
  };
  document.addEventListener('visibilitychange', begin);
  begin();
  return () => {
    document.removeEventListener('visibilitychange', begin);
    asking.abort();
  };
}
