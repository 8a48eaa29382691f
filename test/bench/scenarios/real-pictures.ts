/**
 * Pictures like rendered ones. Measures the cost of checking and keeping them beyond the work that cannot be avoided.
 */
import { comparing } from '../compare-sides.ts';
import type { Load } from '../load.ts';
import { medianOf, workMs, type Results } from '../measures.ts';
import { measureParts } from '../parts.ts';
import type { Scenario } from '../scenario.ts';
import { target, type Target } from '../target.ts';
import { cpuTarget, lookAtOnce, rateOutOfTheWay } from './overhead.ts';

export const realPictures: Scenario[] = [
  picturesOf('real pictures', [], inParts(16)),
  picturesOf('without thumbnails', ['report: {thumbnails: false}'], inParts(13)),
  picturesOf('real pictures, same work', [], (results, load) => [saveRate(1.1, results, load)], true),
];

type Judge = (results: Results, load: Load, picture: Buffer) => Target[] | Promise<Target[]>;

function picturesOf(name: string, settings: string[], judge: Judge, isPeerCareful = false): Scenario {
  return {
    name,
    load: {
      scenes: 350,
      inFlight: 64,
      pictureBytes: 1_500_000,
      work: { kind: 'instant' },
      seed: 1,
      isPeerCareful,
      settings: [...settings, lookAtOnce, rateOutOfTheWay],
    },
    quick: { scenes: 150 },
    rounds: 3,
    warmUps: 1,
    run: comparing({ turns: 'in turn', judge }),
  };
}

function inParts(mostCpuMs: number): Judge {
  return async (results, load, picture) => {
    const ourMs = medianOf(results.ours, workMs);
    const peerMs = medianOf(results.peer, workMs);
    const parts = await measureParts(load, picture, results.ours.length);
    const sumMs = parts.reduce((sum, { ms }) => sum + ms, 0);
    const each = parts.map(({ name, ms }) => `${name} ${(ms / load.scenes).toFixed(1)}`).join(' + ');
    return [
      saveRate(1.2, results, load),
      target('time to the sum of the unavoidable parts', { atMost: 1.3 }, ourMs / sumMs, {
        unit: ' ×',
        digits: 2,
        from: `${(ourMs / load.scenes).toFixed(1)} ms a picture; ${each}`,
        peer: `${(peerMs / sumMs).toFixed(2)} ×`,
      }),
      cpuTarget(mostCpuMs, results, load),
    ];
  };
}

function saveRate(atLeast: number, { ours, peer }: Results, load: Load): Target {
  const [ourMs, peerMs] = [medianOf(ours, workMs), medianOf(peer, workMs)];
  const rate = (ms: number): string => ((load.scenes * 1_000) / ms).toFixed(1);
  return target('jobs a second to the peer, until all is on the disk', { atLeast }, peerMs / ourMs, {
    unit: ' ×',
    digits: 2,
    from: rate(ourMs),
    peer: rate(peerMs),
  });
}
