/** A long run. Measures whether memory, open files or time a scene grow with the number of finished scenes. */
import { comparing } from '../compare-sides.ts';
import { medianOf, type Results } from '../measures.ts';
import type { Result } from '../run-side.ts';
import type { Sample } from '../samples.ts';
import type { Scenario } from '../scenario.ts';
import { slope } from '../statistics.ts';
import { target, type Target } from '../target.ts';
import { lookAtOnce, rateOutOfTheWay } from './overhead.ts';

export const longRun: Scenario = {
  name: 'long run',
  load: {
    scenes: 100_000,
    inFlight: 64,
    pictureBytes: 1_000,
    work: { kind: 'instant' },
    seed: 1,
    settings: [lookAtOnce, rateOutOfTheWay],
  },
  quick: { scenes: 10_000 },
  rounds: 1,
  warmUps: 0,
  run: comparing({ turns: 'ours alone', sideOptions: { samplesEveryMs: 250 }, judge }),
};

function judge({ ours }: Results): Target[] {
  const megabytes = medianOf(ours, (result) => growth(result, ({ residentBytes }) => residentBytes / 1e6));
  const files = medianOf(ours, (result) => growth(result, ({ openFiles }) => openFiles));
  const fifth = (index: number): number => medianOf(ours, ({ service }) => service.fifths[index] ?? 0);
  const ends = `${fifth(1).toFixed(0)} → ${fifth(4).toFixed(0)} jobs a second`;
  return [
    target('growth of memory over the last 80 %', { atMost: 10 }, megabytes, {
      unit: ' MB',
      digits: 1,
      from: `${edges(ours, ({ residentBytes }) => residentBytes / 1e6)} MB`,
    }),
    target('growth of open files over the last 80 %', { atMost: 1 }, files, {
      unit: '',
      digits: 1,
      from: edges(ours, ({ openFiles }) => openFiles),
    }),
    target('speed of the last fifth to the second', { atLeast: 0.9 }, fifth(4) / fifth(1), {
      unit: ' ×',
      digits: 2,
      from: ends,
    }),
  ];
}

function growth(result: Result, value: (sample: Sample) => number): number {
  const samples = lastFourFifths(result);
  const lastedMs = (samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0);
  return lastedMs * slope(samples.map((sample) => ({ x: sample.at, y: value(sample) })));
}

/** Returns the lowest and the highest value of the first round as text. */
function edges([result]: Result[], value: (sample: Sample) => number): string {
  const values = result === undefined ? [] : lastFourFifths(result).map(value);
  return `${Math.min(...values).toFixed(0)}–${Math.max(...values).toFixed(0)}`;
}

/**
 * Returns samples between the first submission and the last collection, without the first fifth. Start and report are
 * excluded.
 */
function lastFourFifths({ samples, service: { firstSubmissionAt, spanMs } }: Result): Sample[] {
  const from = firstSubmissionAt + spanMs / 5;
  return samples.filter(({ at }) => at >= from && at <= firstSubmissionAt + spanMs);
}
