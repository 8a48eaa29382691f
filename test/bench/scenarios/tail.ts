/** The end of a batch, when only the last scenes are still running. */
import { comparing } from '../compare-sides.ts';
import type { Load } from '../load.ts';
import type { Results } from '../measures.ts';
import type { Scenario } from '../scenario.ts';
import { fixedPolling, simulate } from '../simulate.ts';
import { median } from '../statistics.ts';
import { target, type Target } from '../target.ts';

export const tail: Scenario = {
  name: 'tail',
  load: {
    scenes: 75,
    inFlight: 75,
    pictureBytes: 1_000,
    work: { kind: 'workers', workers: 50, medianMs: 8_000, sigma: 0.35 },
    seed: 1,
    settings: [],
  },
  quick: {},
  rounds: 3,
  warmUps: 0,
  run: comparing({ turns: 'at once', isDrawnAnew: true, judge }),
};

const comparedPollMs = 250;

function judge({ ours, peer }: Results, load: Load): Target[] {
  const late = (results: Results['ours']): number[] =>
    results.map(({ service }, i) => {
      const reached = simulate({ ...load, seed: load.seed + i }, fixedPolling(comparedPollMs));
      return service.spanMs - reached;
    });
  const [ourLate, peerLate] = [late(ours), late(peer)];
  const inLags = ourLate.map((ms, i) => ms / (ours[i]?.service.lagMs.median ?? 0));
  return [
    target('last collection behind fixed 250 ms polling, in median lags', { atMost: 1 }, median(inLags), {
      unit: '',
      digits: 2,
      from: `${median(ourLate).toFixed(0)} ms`,
      peer: `${median(peerLate).toFixed(0)} ms`,
    }),
  ];
}
