/** Charts of jobs over time: how many ended and how, the queue, and the worker seconds. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobHistoryView } from '../../protocol/console-data.ts';
import { Bars, type Bar } from '../shared/charts.tsx';
import { clockTicks } from '../shared/chart-axes.ts';
import { Choices } from '../shared/choices.tsx';
import { Tile } from '../shared/facts.tsx';
import { countWords, counted, durationWords, hourWords, instantWords } from '../shared/number-words.ts';
import { usePolled, Waiting } from './polled.tsx';

const ranges = [
  ['hour', 'Hour'],
  ['day', 'Day'],
] as const;

type Step = JobHistoryView['steps'][number];

/** History of one endpoint, or of all if `endpoint` is null. */
export function History({ endpoint }: { endpoint: string | null }): JSX.Element {
  const [range, setRange] = useState<'hour' | 'day'>('hour');
  const query = new URLSearchParams({ range, ...(endpoint !== null && { endpoint }) });
  const polled = usePolled<JobHistoryView>(`history?${query}`, () => (range === 'hour' ? 10_000 : 60_000));
  return (
    <section class="card stack" aria-label="Over time">
      <div class="row">
        <h2>{range === 'hour' ? 'The last hour' : 'The last day'}</h2>
        <Choices label="Range" options={ranges} chosen={range} onChoose={setRange} />
      </div>
      <Waiting polled={polled} />
      {polled.data !== undefined && <Charts view={polled.data} range={range} />}
    </section>
  );
}

function Charts({ view, range }: { view: JobHistoryView; range: 'hour' | 'day' }): JSX.Element {
  const { steps, stepMs, since, delay, execution } = view;
  const sum = (of: (step: Step) => number): number => steps.reduce((all, step) => all + of(step), 0);
  const failed = sum((step) => step.failed);
  const longest = Math.max(0, ...steps.map((step) => step.queue));
  const per = range === 'hour' ? 'a minute' : 'in 15 minutes';
  const charts: [label: string, unit: string, (step: Step) => Bar][] = [
    [
      `${counted(
        sum(({ completed }) => completed),
        'job',
      )} completed, ${countWords(failed)} failed`,
      `jobs ${per}`,
      ({ completed, failed: bad }) => ({
        value: completed,
        bad,
        title: `${countWords(completed)} completed, ${countWords(bad)} failed`,
      }),
    ],
    [
      longest === 0 ? 'No job waited in the queue' : `Up to ${counted(longest, 'job')} in the queue`,
      'jobs',
      ({ queue }) => ({ value: queue, title: `up to ${countWords(queue)} in the queue` }),
    ],
    [
      `${secondsWords(sum(({ gpuMs }) => gpuMs))} worker seconds`,
      `seconds ${per}`,
      ({ gpuMs }) => ({ value: gpuMs / 1_000, title: `${secondsWords(gpuMs)} worker seconds` }),
    ],
  ];
  const times = [
    ['waited, p50', delay?.p50],
    ['waited, p95', delay?.p95],
    ['execution, p50', execution?.p50],
    ['execution, p95', execution?.p95],
  ] as const;
  const start = steps[0]?.at ?? since;
  const isEmpty = steps.every((step) => step.completed + step.failed + step.queue + step.gpuMs === 0);
  const counting = `counted since ${instantWords(since)}${since > start ? ', when the service was started' : ''}`;
  if (isEmpty) return <p class="soft">No jobs yet, {counting}.</p>;
  return (
    <>
      <div class="charts">
        {charts.map(([label, unit, bar]) => (
          <figure key={unit}>
            <figcaption>{label}</figcaption>
            <Bars
              label={label}
              unit={unit}
              bars={steps.map((step) => titled(step, bar(step)))}
              ticks={clockTicks(start, start + steps.length * stepMs)}
            />
          </figure>
        ))}
      </div>
      {execution !== null && (
        <dl class="tiles">
          {times.map(([name, ms]) => (
            <Tile key={name} name={name} value={ms === undefined ? '–' : durationWords(ms)} />
          ))}
        </dl>
      )}
      <p class="hint">Jobs by when they ended, {counting}.</p>
    </>
  );
}

function titled({ at }: Step, bar: Bar): Bar {
  return { ...bar, title: `${hourWords(at)}: ${bar.title}` };
}

function secondsWords(ms: number): string {
  return countWords(Number((ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)));
}
