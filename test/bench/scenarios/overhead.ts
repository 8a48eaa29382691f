/** The cost of a job besides its work: an instant service and tiny pictures. */
import { comparing } from '../compare-sides.ts';
import { cpuMsPerJob, jobsPerSecond, medianOf, type Results } from '../measures.ts';
import type { Load } from '../load.ts';
import type { Scenario } from '../scenario.ts';
import { target, type Target } from '../target.ts';

export const lookAtOnce = 'polling: {shortest: 1ms}';
/** Raises the limit of requests, because the default of 100 submissions a second would be measured instead. */
export const rateOutOfTheWay =
  'rate: {submit: {atOnce: 200, perTenSeconds: 1000000}, status: {atOnce: 400, perTenSeconds: 1000000}}';

export const overhead: Scenario[] = [
  overheadOf('defaults', 5_000, [], (results, load) => [rateTarget(1, results, load)]),
  overheadOf('overhead', 5_000, [lookAtOnce], (results, load) => [rateTarget(1.3, results, load)]),
  overheadOf('overhead, 20,000 scenes', 20_000, [lookAtOnce], (results, load) => [
    cpuTarget(0.75, results, load),
  ]),
  overheadOf('same work', 5_000, [], (results, load) => [rateTarget(1.3, results, load)], true),
];

function overheadOf(
  name: string,
  scenes: number,
  settings: string[],
  judge: (results: Results, load: Load) => Target[],
  isPeerCareful = false,
): Scenario {
  return {
    name,
    load: {
      scenes,
      inFlight: 64,
      pictureBytes: 1_000,
      work: { kind: 'instant' },
      seed: 1,
      isPeerCareful,
      settings: [...settings, rateOutOfTheWay],
    },
    quick: { scenes: scenes / 5 },
    rounds: 3,
    warmUps: 1,
    run: comparing({ turns: 'in turn', judge }),
  };
}

function rateTarget(atLeast: number, { ours, peer }: Results, load: Load): Target {
  const [our = 0, their = 0] = [ours, peer].map((results) =>
    medianOf(results, (result) => jobsPerSecond(result, load)),
  );
  const shown = { unit: ' ×', digits: 2, from: our.toFixed(0), peer: their.toFixed(0) };
  return target('jobs a second to the peer', { atLeast }, our / their, shown);
}

/** Returns the target for CPU time a job. It includes the start of the program, which matters if there are few jobs. */
export function cpuTarget(atMost: number, { ours, peer }: Results, load: Load): Target {
  const [our = 0, their = 0] = [ours, peer].map((results) =>
    medianOf(results, (result) => cpuMsPerJob(result, load)),
  );
  const shown = { unit: ' ms', digits: 2, peer: `${their.toFixed(2)} ms` };
  return target('CPU a job', { atMost }, our, shown);
}
