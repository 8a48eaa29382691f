/** One endpoint: a job to try it with, its jobs, its workers, and how it is used. */
import type { JSX } from 'preact';
import type { EndpointView } from '../../protocol/console-data.ts';
import { counted } from '../shared/number-words.ts';
import { ask } from './ask.ts';
import { gpuWords, standing, workloadWords } from './endpoint-words.ts';
import { useSending } from './form.tsx';
import { History } from './history.tsx';
import { JobForm } from './job-form.tsx';
import { JobList } from './job-list.tsx';
import { JobCounts } from './overview-page.tsx';
import { Card, Mark, NothingHere } from './pieces.tsx';
import { Question } from './question.tsx';
import { to } from './route.ts';
import { useEndpoint, useService } from './service.ts';
import { UseIt } from './use-it.tsx';
import { Workers } from './workers.tsx';

export function EndpointPage({ id }: { id: string }): JSX.Element {
  const endpoint = useEndpoint(id);
  if (endpoint === undefined)
    return <NothingHere title={`Endpoint ${id}`} text="There is no such endpoint." back={to.overview} />;
  return (
    <>
      <Head endpoint={endpoint} />
      <div class="columns">
        <div class="stack wide">
          <Card title="Submit a job">
            <JobForm key={id} settings={endpoint.settings} />
          </Card>
        </div>
        <div class="stack wide">
          <Card title="Workers">
            <Workers endpoint={endpoint} />
          </Card>
          <Card title="Use it">
            <UseIt settings={endpoint.settings} />
          </Card>
        </div>
      </div>
      <History endpoint={id} />
      <JobList endpoint={id} />
    </>
  );
}

function Head({ endpoint }: { endpoint: EndpointView }): JSX.Element {
  const { settings, origin, trouble, jobs } = endpoint;
  const { overview } = useService();
  const { tone, word } = standing(endpoint);
  const gpu = gpuWords(settings, overview);
  return (
    <div class="stack">
      <div class="row">
        <h1>
          <bdi>{settings.name}</bdi>
        </h1>
        <div class="row">
          <Pause endpoint={endpoint} />
          {origin === 'console' && (
            <>
              <a class="button" href={to.edit(settings.id)}>
                Edit
              </a>
              <Remove endpoint={endpoint} />
            </>
          )}
        </div>
      </div>
      <p class="soft">
        <Mark tone={tone}>{word}</Mark> · <code>{settings.id}</code> · <bdi>{workloadWords(settings)}</bdi>
        {gpu !== null && (
          <>
            {' · '}
            <bdi>{gpu}</bdi>
          </>
        )}
      </p>
      {origin === 'file' && (
        <p class="soft">
          {overview.file === null ? (
            <>
              A service that starts without a file has this endpoint. <code>nightrender init --service</code>{' '}
              writes a file, in which you choose the endpoints yourself.
            </>
          ) : (
            <>
              It is defined in <bdi>{overview.file}</bdi>: edit that file, then restart the service.
            </>
          )}
        </p>
      )}
      {trouble !== null && <p class="message bad">{trouble}</p>}
      <JobCounts jobs={jobs} />
    </div>
  );
}

/** Jobs at work go on; nothing is lost by it, so that it is done at once. */
function Pause({ endpoint: { settings, isPaused } }: { endpoint: EndpointView }): JSX.Element {
  const { refresh, say } = useService();
  const sending = useSending(async () => {
    await ask('POST', `endpoints/${encodeURIComponent(settings.id)}/${isPaused ? 'resume' : 'pause'}`);
    say(
      isPaused
        ? `Endpoint “${settings.name}” takes jobs again.`
        : `Endpoint “${settings.name}” is paused: new jobs wait, running ones continue.`,
    );
    void refresh();
  });
  return (
    <button type="button" aria-disabled={sending.isBusy} onClick={() => sending.send()}>
      {isPaused ? 'Resume' : 'Pause'}
    </button>
  );
}

function Remove({ endpoint: { settings, jobs } }: { endpoint: EndpointView }): JSX.Element {
  const { refresh, say } = useService();
  const remove = async (): Promise<void> => {
    await ask('DELETE', `endpoints/${encodeURIComponent(settings.id)}`);
    say(`Endpoint “${settings.name}” is removed.`, to.overview);
    location.hash = to.overview;
    void refresh();
  };
  return (
    <Question
      button="Remove"
      question="Remove endpoint"
      name={settings.name}
      action="Remove it"
      onYes={remove}
    >
      <p>
        Programs that use <code>/v2/{settings.id}</code> get 404 from then on.
      </p>
      {jobs.inQueue + jobs.inProgress > 0 && (
        <p>
          It has {counted(jobs.inQueue, 'job')} in the queue and {jobs.inProgress} in progress.
        </p>
      )}
    </Question>
  );
}
