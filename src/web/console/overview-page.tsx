/** The page of all endpoints, with their workers and queues. */
import type { JSX } from 'preact';
import type { EndpointView } from '../../protocol/console-data.ts';
import { Tile } from '../shared/facts.tsx';
import { countWords } from '../shared/number-words.ts';
import {
  gpuWords,
  machineSentence,
  originWords,
  endpointState,
  workerCounts,
  workerStates,
} from './endpoint-words.ts';
import { History } from './history.tsx';
import { Thumbnail } from './job-parts.tsx';
import { Card, Mark } from './pieces.tsx';
import { to } from './route.ts';
import { useService, useWorkload } from './service.ts';

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
      <JobCounts jobs={endpoint.jobs} />
    </article>
  );
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
export function JobCounts({ jobs }: { jobs: EndpointView['jobs'] }): JSX.Element {
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
          tone={count > 0 && isBad(name) ? 'bad' : undefined}
        />
      ))}
    </dl>
  );
}
