/** Pictures that lie at the service itself: they come with its key and from wherever it is; all others are downloaded later. */
import type { Failure } from '../core/failure.ts';
import type { FoundPicture } from '../core/picture.ts';
import type { Hold, StatusReply } from '../pipeline/ports.ts';
import { redirectOf, type Outcome } from './exchange.ts';
import { isSameOrigin } from './http-requests.ts';

/**
 * `fetch`: an address, of which so many are still to come; what comes is held by `hold`. A picture that does not come is asked
 * for again with its job, so that a refused key shows.
 */
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
    const { status, bytes } = outcome.answer;
    const target = redirectOf(outcome, url);
    // Within the origin it was followed as often as it may be.
    if (target !== undefined && URL.canParse(target) && !isSameOrigin(target, url)) {
      pictures.push({ url: target, ...rest });
      continue;
    }
    if (status > 299) {
      const isRefused = status === 401 || status === 403;
      const kind = status >= 500 || status === 429 ? 'poll-failed' : 'download-failed';
      return failed({
        kind: isRefused ? 'picture-refused' : kind,
        text: `the picture at ${url} was answered ${status}`,
      });
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
