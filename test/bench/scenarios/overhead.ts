/** What a job costs besides its work: an instant service and tiny pictures. */
import { comparing } from '../compare-sides.ts';
import type { Load } from '../load.ts';
import { cpuMsPerJob, jobsPerSecond, medianOf, type Results } from '../measures.ts';
import type { Scenario } from '../scenario.ts';
import { target, type Target } from '../target.ts';

export const lookAtOnce = 'polling: {shortest: 1ms}';
/** With the defaults it is the limit of 100 submissions a second that is measured. */
export const rateOutOfTheWay =
  'rate: {submit: {atOnce: 200, perTenSeconds: 1000000}, status: {atOnce: 400, perTenSeconds: 1000000}}';

export const overhead: Scenario = {
  name: 'overhead',
  load: {
    scenes: 5_000,
    inFlight: 64,
    pictureBytes: 1_000,
    work: { kind: 'instant' },
    seed: 1,
    settings: [lookAtOnce, rateOutOfTheWay],
  },
  quick: { scenes: 1_000 },
  rounds: 3,
  warmUps: 1,
  run: comparing({ turns: 'in turn', judge }),
};

function judge({ ours, peer }: Results, load: Load): Target[] {
  const rates = [ours, peer].map((results) => medianOf(results, (result) => jobsPerSecond(result, load)));
  const cpu = [ours, peer].map((results) => medianOf(results, (result) => cpuMsPerJob(result, load)));
  const [ourRate = 0, peerRate = 0] = rates;
  const [ourCpu = 0, peerCpu = 0] = cpu;
  return [
    target('jobs a second to the peer', { atLeast: 1.5, aim: 3 }, ourRate / peerRate, {
      unit: ' ×',
      digits: 2,
      from: ourRate.toFixed(0),
      peer: peerRate.toFixed(0),
    }),
    target('CPU a job to the peer', { atMost: 1 }, ourCpu / peerCpu, {
      unit: ' ×',
      digits: 2,
      from: `${ourCpu.toFixed(2)} ms`,
      peer: `${peerCpu.toFixed(2)} ms`,
    }),
  ];
}
