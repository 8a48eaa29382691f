/**
 * A whole run against a service with a limit, in virtual time. Records when the service accepted and refused
 * submissions.
 */
import type { PipelineConfig } from '../../src/runner/pipeline/pipeline-config.ts';
import { seeded } from './limited-service.ts';
import { manifestOf, World } from './world.ts';

export interface LoadOptions {
  seed: number;
  /** True if the service refuses a submission that arrives at `now` while it has `open` jobs. */
  isOneTooMany: (now: number, open: number, random: () => number) => boolean;
  executionMs: number;
  settings: Partial<PipelineConfig>;
  /** Number of scenes. Must be enough to last `lastsMs`. */
  scenes: number;
  lastsMs: number;
  retryAfterMs?: number;
}

export interface Load {
  /** Instants of accepted submissions, in ms since the start. */
  accepted: number[];
  refused: number[];
  world: World;
}

export async function load(options: LoadOptions): Promise<Load> {
  const { seed, isOneTooMany, executionMs, settings, scenes, lastsMs, retryAfterMs } = options;
  const world = new World(() => ({ queueMs: 0, executionMs }));
  const chance = seeded(seed * 7_919);
  world.random = seeded(seed);
  const accepted: number[] = [];
  const refused: number[] = [];
  /** Instants at which open jobs end, ascending. */
  const ends: number[] = [];
  world.service.instead.submit = () => {
    const now = world.clock.elapsed();
    while ((ends[0] ?? Infinity) <= now) ends.shift();
    if (isOneTooMany(now, ends.length, chance)) {
      refused.push(now);
      return tooMuch(retryAfterMs);
    }
    accepted.push(now);
    ends.push(now + executionMs);
    return undefined;
  };
  const list = Array.from({ length: scenes }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]);
  await world.run({ manifest: manifestOf(list), settings, until: lastsMs });
  return { accepted, refused, world };
}

/** Returns how many of the instants are at or after `from` and before `to`. */
export function within(instants: number[], from: number, to: number): number {
  return instants.filter((at) => at >= from && at < to).length;
}

/** Returns a reply of a service that answers 429. */
export function tooMuch(retryAfterMs?: number) {
  const failure = {
    kind: 'overloaded',
    text: '429',
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  } as const;
  return { kind: 'failure', failure } as const;
}
