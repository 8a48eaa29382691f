/** A service that accepts a limited number of requests a second. Measures how much of the limit is used. */
import { comparing } from '../compare-sides.ts';
import type { Results } from '../measures.ts';
import { medianOf, shareTooMuch } from '../measures.ts';
import type { Result } from '../run-side.ts';
import type { Scenario } from '../scenario.ts';
import { mean } from '../statistics.ts';
import { target, type Target } from '../target.ts';
import { lookAtOnce } from './overhead.ts';

const perSecond = 200;

export const rateLimit: Scenario = {
  name: 'rate limit',
  load: {
    scenes: 4_000,
    inFlight: 64,
    pictureBytes: 1_000,
    work: { kind: 'instant' },
    bears: { requests: { perSecond, burst: 20 } },
    seed: 1,
    // Ten times the limit of the service, so that only the service limits the requests.
    settings: [
      lookAtOnce,
      'rate: {submit: {atOnce: 200, perTenSeconds: 10000}, status: {atOnce: 400, perTenSeconds: 10000}}',
    ],
  },
  quick: { scenes: 1_500 },
  rounds: 1,
  warmUps: 0,
  run: comparing({ turns: 'at once', judge }),
};

function judge({ ours, peer }: Results): Target[] {
  const used = (results: Result[]): number => (100 * medianOf(results, servedInTheMiddle)) / perSecond;
  const tooMuch = (results: Result[]): string =>
    `${(100 * medianOf(results, shareTooMuch)).toFixed(0)} % of the answers 429`;
  return [
    target('of what the limit allows, in the middle of the run', { atLeast: 90 }, used(ours), {
      unit: ' %',
      digits: 0,
      from: tooMuch(ours),
      peer: `${used(peer).toFixed(0)} % (${tooMuch(peer)})`,
    }),
  ];
}

/** Returns the number of accepted requests a second, without the first and the last fifth of the time. */
function servedInTheMiddle({ service: { seconds } }: Result): number {
  const edge = Math.ceil(seconds.length / 5);
  return mean(seconds.slice(edge, -edge).map(({ served }) => served));
}
