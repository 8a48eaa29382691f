/** The step from a picture that an output names by address to its bytes. */
import type { SubmittedAttempt } from '../core/attempt.ts';
import { failureRules, type Failure } from '../core/failure.ts';
import type { FoundPicture, HeldPicture } from '../core/picture.ts';
import { growingWaitMs } from '../core/waiting.ts';
import type { Hold } from './ports.ts';
import type { Run } from './run.ts';

/** Picture hosts hiccup, and the job is paid for: more than one try, and not so many that the night goes by. */
const mostTries = 4;

/** `left` where the run is ending: the attempt stays as it is, and the next run collects it. */
export async function download(
  run: Run,
  attempt: SubmittedAttempt,
  picture: FoundPicture,
  hold?: Hold,
): Promise<HeldPicture | Failure | 'left'> {
  if (!('url' in picture)) return picture;
  const { url, ...rest } = picture;
  for (let tries = 1; ; tries++) {
    const reply = await run.ports.downloads.fetch(url, run.abandoned, hold);
    if ('bytes' in reply) return { ...rest, ...reply };
    if (failureRules[reply.kind].next === 'stop') {
      run.stopFor(reply);
      return 'left';
    }
    if (reply.kind !== 'download-failed') return reply;
    if (run.stop.leaving.aborted) return 'left';
    if (tries === mostTries) return reply;
    await waitForNextTry(run, attempt, reply, tries);
    if (run.stop.leaving.aborted) return 'left';
  }
}

async function waitForNextTry(
  run: Run,
  attempt: SubmittedAttempt,
  { kind, text, retryAfterMs = 0 }: Failure,
  tries: number,
): Promise<void> {
  const { clock, random, tell } = run.ports;
  const waitMs = Math.max(retryAfterMs, growingWaitMs(tries, run.settings.retry, random()));
  tell({ type: 'request-troubled', scene: attempt.sceneId, kind, text, waitMs });
  await clock.sleep(waitMs, run.stop.leaving);
}
