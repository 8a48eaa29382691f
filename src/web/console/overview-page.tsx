/** The page of all endpoints, with their workers, their queues and charts of jobs over time. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EndpointView, JobHistoryView, Overview } from '../../protocol/console-data.ts';
import { type Bar, Bars } from '../shared/charts.tsx';
import { Choices } from '../shared/choices.tsx';
import { Tile } from '../shared/facts.tsx';
import {
  clockTicks,
  counted,
  countWords,
  durationWords,
  hourWords,
  instantWords,
} from '../shared/number-words.ts';
import { usePolled } from './ask.ts';
import { endpointState, gpuWords, machineSentence, workerCounts, workerStates } from './endpoint-words.ts';
import { Thumbnail } from './job-page.tsx';
import { Card, Mark, Waiting } from './pieces.tsx';
import { to, useService, useWorkload } from './route.ts';

export function OverviewPage(): JSX.Element {
  const { endpoints, gpus } = useService().overview;
  return (
    <>
      <div class="row">
        <h1>Endpoints</h1>
        <a class="button primary" href={to.new}>
          New endpoint
        </a>
      </div>
      {gpus !== null && <p class="soft">{machineSentence(gpus)}</p>}
      {endpoints.length === 0 ? <FirstSteps /> : <Cards endpoints={endpoints} />}
      {endpoints.length > 0 && <History endpoint={null} />}
    </>
  );
}

function FirstSteps(): JSX.Element {
  return (
    <Card title="No endpoints yet">
      <p>
        An endpoint is an address that takes jobs, and workers that do them. Begin with a quick deploy: the{' '}
        <em>scene-renderer</em> needs no GPU and turns a sentence into a picture at once.
      </p>
      <p>
        <a class="button" href={to.new}>
          Create the first endpoint
        </a>
      </p>
    </Card>
  );
}

function Cards({ endpoints }: { endpoints: EndpointView[] }): JSX.Element {
  return (
    <ul class="cards">
      {endpoints.map((endpoint) => (
        <li key={endpoint.settings.id}>
          <EndpointCard endpoint={endpoint} />
        </li>
      ))}
    </ul>
  );
}

function EndpointCard({ endpoint }: { endpoint: EndpointView }): JSX.Element {
  const { settings, trouble } = endpoint;
  const { overview } = useService();
  const { workload } = useWorkload(endpoint);
  const { tone, word } = endpointState(endpoint, workload);
  const origin = originWords(endpoint, overview);
  return (
    <article class="card stack endpoint">
      <div class="row">
        <h2>
          <a href={to.endpoint(settings.id)}>
            <bdi>{settings.name}</bdi>
          </a>
        </h2>
        <Mark tone={tone}>{word}</Mark>
      </div>
      <p class="hint">
        <code>{settings.id}</code> · <bdi>{endpoint.runs}</bdi>
        {[gpuWords(endpoint, workload, overview), origin].map(
          (words) =>
            words !== null && (
              <span key={words}>
                {' · '}
                <bdi>{words}</bdi>
              </span>
            ),
        )}
      </p>
      {trouble !== null && <p class="message bad">{trouble}</p>}
      <WorkerCounts endpoint={endpoint} />
      <div class="latest">
        {endpoint.latest.map((id) => (
          <Thumbnail key={id} id={id} />
        ))}
      </div>
      <JobCounts endpoint={endpoint} />
    </article>
  );
}

/** Origin of an endpoint that was not created in the console; null for others. */
function originWords({ origin }: EndpointView, { file }: Overview): string | null {
  if (origin === 'console') return null;
  return file === null ? 'default' : `from ${file}`;
}

function WorkerCounts({ endpoint: { workers } }: { endpoint: EndpointView }): JSX.Element {
  return (
    <ul class="row" aria-label="Workers">
      {workers.length === 0 && <li class="hint">no workers</li>}
      {workerCounts(workers).map(([state, count]) => (
        <li key={state}>
          <Mark tone={workerStates[state].tone}>
            {countWords(count)} {workerStates[state].word}
          </Mark>
        </li>
      ))}
    </ul>
  );
}

/** Job counts of an endpoint. The less usual ones are only shown if they are not 0. */
export function JobCounts({ endpoint: { jobs, isFailing } }: { endpoint: EndpointView }): JSX.Element {
  const always: [string, number][] = [
    ['in the queue', jobs.inQueue],
    ['in progress', jobs.inProgress],
    ['completed', jobs.completed],
    ['failed', jobs.failed],
  ];
  const some: [string, number][] = [
    ['timed out', jobs.timedOut],
    ['cancelled', jobs.cancelled],
    ['retried', jobs.retried],
  ];
  const isBad = (name: string): boolean => name === 'failed' || name === 'timed out';
  return (
    <dl class="tiles">
      {[...always, ...some.filter(([, count]) => count > 0)].map(([name, count]) => (
        <Tile
          key={name}
          name={name}
          value={countWords(count)}
          tone={isFailing && count > 0 && isBad(name) ? 'bad' : undefined}
        />
      ))}
    </dl>
  );
}

const ranges = [
  ['hour', 'Hour'],
  ['day', 'Day'],
] as const;

type Step = JobHistoryView['steps'][number];

/** Charts of ended jobs, queue and worker seconds over time. `endpoint`: null for all. */
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
      <p class="hint">Jobs by the time they ended, {counting}.</p>
    </>
  );
}

function titled({ at }: Step, bar: Bar): Bar {
  return { ...bar, title: `${hourWords(at)}: ${bar.title}` };
}

function secondsWords(ms: number): string {
  return countWords(Number((ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)));
}
