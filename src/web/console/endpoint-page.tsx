/** One endpoint: a job to try it with, its jobs, its workers, and how it is used. */
import type { JSX } from 'preact';
import type { EndpointView, EndpointForm } from '../../protocol/console-data.ts';
import { counted } from '../shared/number-words.ts';
import { Copyable } from '../shared/text.tsx';
import { ask } from './ask.ts';
import { gpuWords, isPainting, standing, workloadWords } from './endpoint-words.ts';
import { JobForm } from './job-form.tsx';
import { JobList } from './job-list.tsx';
import { JobCounts } from './overview-page.tsx';
import { Card, Mark, NothingHere, RendererNotice } from './pieces.tsx';
import { Question } from './question.tsx';
import { to } from './route.ts';
import { useEndpoint, useService } from './service.ts';
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
            <JobForm endpointId={id} />
          </Card>
          <JobList endpoint={id} />
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
    </>
  );
}

function Head({ endpoint }: { endpoint: EndpointView }): JSX.Element {
  const { settings, origin, trouble, jobs } = endpoint;
  const { overview } = useService();
  const { tone, word } = standing(endpoint, overview);
  return (
    <div class="stack">
      <div class="row">
        <h1>
          <bdi>{settings.name}</bdi>
        </h1>
        <div class="row">
          <PurgeQueue endpoint={endpoint} />
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
        <Mark tone={tone}>{word}</Mark> · <code>{settings.id}</code> · <bdi>{workloadWords(settings)}</bdi> ·{' '}
        <bdi>{gpuWords(settings)}</bdi>
      </p>
      {origin === 'file' && (
        <p class="soft">
          {overview.file === null ? (
            <>
              The service makes it where it is started without a file. <code>nightrender init --service</code>{' '}
              writes one, in which you choose the endpoints yourself.
            </>
          ) : (
            <>
              It stands in <bdi>{overview.file}</bdi> and is edited there: change the file and start the
              service again.
            </>
          )}
        </p>
      )}
      {isPainting(endpoint, overview) && <RendererNotice />}
      {trouble !== null && <p class="message bad">{trouble}</p>}
      <JobCounts jobs={jobs} />
    </div>
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

function PurgeQueue({ endpoint: { settings, jobs } }: { endpoint: EndpointView }): JSX.Element {
  const { refresh, say } = useService();
  const purge = async (): Promise<void> => {
    const path = `endpoints/${encodeURIComponent(settings.id)}/purge-queue`;
    const { removed } = await ask<{ removed: number }>('POST', path);
    say(`${counted(removed, 'job')} removed from the queue.`);
    void refresh();
  };
  return (
    <Question
      button="Purge queue"
      isIdle={jobs.inQueue === 0}
      question="Purge the queue of"
      name={settings.name}
      action="Purge it"
      onYes={purge}
    >
      <p>
        {counted(jobs.inQueue, 'job')} waiting for a worker will not be done, whoever submitted them. Jobs in
        progress go on.
      </p>
    </Question>
  );
}

/** How programs use an endpoint: lines to copy. */
function UseIt({ settings: { id, workload } }: { settings: EndpointForm }): JSX.Element {
  const { url } = useService().overview;
  const base = url.replace(/\/+$/, '');
  return (
    <>
      <Copyable label="Address to submit to" text={`${base}/v2/${id}/run`} />
      <Copyable label="In a terminal" text={curlLines(base, id)} />
      <Copyable label="In pipeline.yaml" text={yamlLines(base, id)} />
      {workload.kind === 'remote' && (
        <>
          <p class="hint">
            A worker elsewhere pulls jobs with a key of the kind <em>worker</em> and these variables in its
            environment.
          </p>
          <Copyable label="For workers" text={workerLines(base, id)} />
        </>
      )}
    </>
  );
}

function curlLines(base: string, id: string): string {
  return [
    `curl -X POST '${base}/v2/${id}/run' \\`,
    `  -H "Authorization: Bearer $NIGHTRENDER_API_KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"input": {"scene": "A lighthouse on a cliff at dusk", "seed": 7}}'`,
  ].join('\n');
}

function yamlLines(base: string, id: string): string {
  return ['endpoint:', `  baseUrl: ${base}`, `  id: ${id}`, '  apiKey: ${NIGHTRENDER_API_KEY}'].join('\n');
}

/** As the open-source worker SDK reads them; `$ID` and `$RUNPOD_POD_ID` are filled in by the worker. */
function workerLines(base: string, id: string): string {
  const at = `${base}/v2/${id}`;
  return [
    `export RUNPOD_ENDPOINT_ID='${id}'`,
    `export RUNPOD_POD_ID="$(hostname)"`,
    `export RUNPOD_AI_API_KEY="$NIGHTRENDER_WORKER_KEY"`,
    `export RUNPOD_WEBHOOK_GET_JOB='${at}/job-take/$ID?gpu=any'`,
    `export RUNPOD_WEBHOOK_POST_OUTPUT='${at}/job-done/$RUNPOD_POD_ID/$ID?gpu=any'`,
    `export RUNPOD_WEBHOOK_POST_STREAM='${at}/job-stream/$RUNPOD_POD_ID/$ID?gpu=any'`,
    `export RUNPOD_WEBHOOK_PING='${at}/ping/$RUNPOD_POD_ID?gpu=any'`,
  ].join('\n');
}
