/** Many large answers are ready at the same moment. Measures how much of them is in memory at once. */
import { comparing } from '../compare-sides.ts';
import type { Load } from '../load.ts';
import { medianOf, workMs, type Results } from '../measures.ts';
import type { Result } from '../run-side.ts';
import type { Scenario } from '../scenario.ts';
import { target, type Target } from '../target.ts';

export const largePictures: Scenario = {
  name: 'large pictures',
  load: {
    scenes: 256,
    inFlight: 256,
    pictureBytes: 8_000_000,
    work: { kind: 'at once' },
    seed: 1,
    settings: [],
  },
  quick: {},
  rounds: 1,
  warmUps: 0,
  run: comparing({ turns: 'in turn', mayPeerFail: true, judge }),
};

function judge({ ours, peer }: Results, load: Load): Target[] {
  const megabytes = (results: Result[]): number => medianOf(results, ({ peakBytes }) => peakBytes / 1e6);
  const rate = (results: Result[]): string =>
    `${((load.scenes * 1_000) / medianOf(results, workMs)).toFixed(1)} jobs a second`;
  return [
    target('peak memory', { atMost: 450 }, megabytes(ours), {
      unit: ' MB',
      digits: 0,
      from: rate(ours),
      peer: peer.length === 0 ? 'did not get through' : `${megabytes(peer).toFixed(0)} MB (${rate(peer)})`,
    }),
  ];
}
