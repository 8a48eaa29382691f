/** Pictures that lie at the service itself: they come with its key and from wherever it is; all others are downloaded later. */
import type { Failure } from '../core/failure.ts';
import type { FoundPicture } from '../core/picture.ts';
import type { Hold, StatusReply } from '../pipeline/ports.ts';
import type { Outcome } from './exchange.ts';

/** `fetch`: an address, of which so many are still to come; what comes is held by `hold`. */
export async function fetchOwnPictures(
  found: readonly FoundPicture[],
  hold: Hold,
  isOwn: (url: string) => boolean,
  fetch: (url: string, bodies: number) => Promise<Outcome>,
): Promise<StatusReply> {
  // Nothing of the answer that named them is of use any more.
  if (found.every((picture) => 'url' in picture)) hold.release();
  const bodies = found.filter((picture) => 'url' in picture && isOwn(picture.url)).length;
  const pictures: FoundPicture[] = [];
  for (const picture of found) {
    if (!('url' in picture) || !isOwn(picture.url)) {
      pictures.push(picture);
      continue;
    }
    const { url, ...rest } = picture;
    const outcome = await fetch(url, bodies);
    if (outcome.kind === 'broken') return failed({ kind: 'poll-failed', text: `${outcome.why} (${url})` });
    if (outcome.kind === 'too-large')
      return ended({
        kind: 'result-too-large',
        text: `the picture at ${url} is larger than \`limits.body\``,
      });
    const { status, bytes, headers } = outcome.answer;
    const { location } = headers;
    if (status >= 300 && status <= 399 && location !== undefined && URL.canParse(location, url)) {
      pictures.push({ url: new URL(location, url).href, ...rest });
      continue;
    }
    if (status > 299) {
      const text = `the picture at ${url} was answered ${status}`;
      return status >= 500 || status === 429
        ? failed({ kind: 'poll-failed', text })
        : ended({ kind: 'download-failed', text });
    }
    pictures.push({ bytes, ...rest });
  }
  return { kind: 'completed', status: '', pictures, hold };
}

function failed(failure: Failure): StatusReply {
  return { kind: 'failure', failure };
}

function ended(failure: Failure): StatusReply {
  return { kind: 'ended', status: '', failure };
}
