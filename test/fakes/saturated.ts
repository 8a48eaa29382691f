/** One operation that always has more to send, through its gate to a service with limits, in virtual time. */
import { setMaxListeners } from 'node:events';
import { fullJitterMs, orRetryAfterMs } from '../../src/runner/core/backoff.ts';
import { RequestThrottle } from '../../src/runner/pipeline/request-throttle.ts';
import { tooMuch } from './load.ts';
import { seeded, type Limit } from './limited-service.ts';
import { VirtualClock } from './virtual-clock.ts';
import { defaultSettings } from './world.ts';

export interface Saturated {
  /** When requests were taken and refused (virtual ms). */
  taken: number[];
  refused: number[];
}

export interface SaturatedOptions {
  seed: number;
  /** What pipeline.yaml says. */
  perSecond: number;
  limit: (random: () => number) => Limit;
  lastsMs: number;
  lanes?: number;
  /** Between two requests of one lane. */
  restMs?: number;
  retryAfterMs?: number;
  /** There and back, on top of the usual 20 to 100 ms. */
  latencyMs?: number;
}

const unstopped = new AbortController().signal;
setMaxListeners(0, unstopped);

export async function saturate(options: SaturatedOptions): Promise<Saturated> {
  const { seed, perSecond, lastsMs, lanes = 100, restMs = 0, retryAfterMs, latencyMs = 0 } = options;
  const clock = new VirtualClock(0);
  const random = seeded(seed * 7_919);
  const isOneTooMany = options.limit(random);
  const gate = new RequestThrottle({ atOnce: 200, perTenSeconds: 10 * perSecond }, clock);
  const taken: number[] = [];
  const refused: number[] = [];
  const request = async () => {
    await clock.sleep(latencyMs / 2 + 10 + 40 * random(), unstopped);
    const isTooMuch = isOneTooMany(clock.elapsed());
    (isTooMuch ? refused : taken).push(clock.elapsed());
    await clock.sleep(latencyMs / 2 + 10 + 40 * random(), unstopped);
    return isTooMuch ? tooMuch(retryAfterMs) : ({ kind: 'taken' } as const);
  };
  const lane = async (): Promise<void> => {
    for (let tries = 1; clock.elapsed() < lastsMs; tries++) {
      const reply = await gate.pass(unstopped, request);
      if (reply?.kind === 'taken') {
        tries = 0;
        if (restMs > 0) await clock.sleep(restMs * (0.5 + random()), unstopped);
        continue;
      }
      const ownMs = fullJitterMs(tries, defaultSettings.retry, random());
      await clock.sleep(orRetryAfterMs(retryAfterMs, ownMs), unstopped);
    }
  };
  for (let i = 0; i < lanes; i++) void lane();
  while (clock.elapsed() < lastsMs && clock.advance()) await new Promise((resolve) => setImmediate(resolve));
  return { taken, refused };
}
