/** Workers leave and come back, and the service lets few jobs wait for each of them. */
import { comparing } from '../compare-sides.ts';
import type { WorkerChange } from '../load.ts';
import { medianOf, shareTooMuch, type Results } from '../measures.ts';
import type { Result } from '../run-side.ts';
import type { Scenario } from '../scenario.ts';
import { target, type Target } from '../target.ts';

const workers = (changes: WorkerChange[]) =>
  ({ kind: 'workers', workers: 8, medianMs: 1_000, sigma: 0.35, changes }) as const;

export const changingWorkers: Scenario = {
  name: 'changing workers',
  load: {
    // Even at the highest possible speed, there is work for some seconds after the last measured instant.
    scenes: 850,
    inFlight: 64,
    pictureBytes: 1_000,
    work: workers([
      { atMs: 20_000, workers: 2, judgedMs: 60_000 },
      { atMs: 80_000, workers: 8, judgedMs: 60_000 },
    ]),
    bears: { queuedPerWorker: 1 },
    seed: 1,
    settings: [],
  },
  quick: {
    scenes: 240,
    work: workers([
      { atMs: 5_000, workers: 2, judgedMs: 15_000 },
      { atMs: 20_000, workers: 8, judgedMs: 15_000 },
    ]),
  },
  rounds: 1,
  warmUps: 0,
  run: comparing({ turns: 'at once', judge }),
};

function judge({ ours, peer }: Results, { work }: Scenario['load']): Target[] {
  const changes = work.kind === 'workers' ? (work.changes ?? []) : [];
  const tooMuch = (results: Result[]): string =>
    `${(100 * medianOf(results, shareTooMuch)).toFixed(0)} % of the answers 429`;
  return changes.map((change, i) => {
    const use = (results: Result[]): number =>
      100 * medianOf(results, ({ service }) => service.usesAfterChanges[i]?.share ?? Number.NaN);
    const measure = `work done within ${change.judgedMs / 1_000} s of the change to ${change.workers} workers`;
    return target(measure, { atLeast: 85 }, use(ours), {
      unit: ' %',
      digits: 0,
      from: tooMuch(ours),
      peer: `${use(peer).toFixed(0)} % (${tooMuch(peer)})`,
    });
  });
}
