/** The page of one job: its status and times, input and output, and the log of its worker. */
import type { JSX } from 'preact';
import type { JobView } from '../../protocol/console-data.ts';
import { Facts } from '../shared/facts.tsx';
import { useNow } from '../shared/hooks.ts';
import { durationWords, exactInstantWords } from '../shared/number-words.ts';
import { LongText } from '../shared/text.tsx';
import { JobActions, JobPictures, useJob } from './job-parts.tsx';
import { delayWords, deletionWords, executionWords, statusWords } from './job-words.ts';
import { Card, Mark, NothingHere } from './pieces.tsx';
import { Waiting } from './polled.tsx';
import { to } from './route.ts';
import { useService } from './service.ts';

export function JobPage({ id }: { id: string }): JSX.Element {
  const { overview } = useService();
  const polled = useJob(id);
  const { data: job, refused, refresh } = polled;
  if (refused?.status === 404) {
    return (
      <NothingHere
        title={`Job ${id}`}
        text={`${refused.message} Jobs are deleted ${durationWords(overview.retentionMs)} after they ended.`}
        back={to.jobs}
      />
    );
  }
  return (
    <>
      <p class="hint crumbs">
        <a href={to.jobs}>Jobs</a>
        {job !== undefined && (
          <>
            {' · '}
            <a href={to.endpoint(job.endpointId)}>endpoint {job.endpointId}</a>
          </>
        )}
      </p>
      <div class="row">
        <h1>
          Job <code>{id}</code>
        </h1>
        {job !== undefined && <JobActions job={job} onDone={refresh} />}
      </div>
      <Waiting polled={polled} />
      {job !== undefined && <Job job={job} />}
    </>
  );
}

function Job({ job }: { job: JobView }): JSX.Element {
  const { overview, aheadMs } = useService();
  const now = useNow(aheadMs, 1_000);
  const { word, tone } = statusWords(job.status);
  const deletion = deletionWords(job, overview.retentionMs, now);
  return (
    <>
      <div class="columns">
        {job.pictures.length > 0 && (
          <section class="card" aria-label="Pictures">
            <JobPictures job={job} />
          </section>
        )}
        <section class="card stack" aria-label="State">
          {job.summary !== '' && (
            <p class="prompt">
              <bdi>{job.summary}</bdi>
            </p>
          )}
          <p role="status">
            <strong>
              <Mark tone={tone}>{word}</Mark>
            </strong>
          </p>
          {job.error !== null && <LongText label="Error" text={job.error} isBad />}
          <Facts
            facts={[
              ['accepted', exactInstantWords(job.acceptedAt)],
              ['waited', delayWords(job, now)],
              ['started', job.startedAt === null ? null : exactInstantWords(job.startedAt)],
              ['execution', executionWords(job, now)],
              ['ended', job.endedAt === null ? null : exactInstantWords(job.endedAt)],
              ['worker', job.workerId],
              ['retries', job.retries === 0 ? null : job.retries],
              ['submitted with', job.key === null ? null : `key ${job.key}`],
            ]}
          />
          {deletion !== null && <p class="soft">{deletion}</p>}
        </section>
      </div>
      <div class="columns even">
        <TextPanel title="Input" text={job.input} missing="Deleted, or too large to be shown." />
        <TextPanel title="Output" text={job.output} missing={outputAbsence(job.status)} />
      </div>
      <Card title="Log of the worker">
        {job.log.length === 0 ? (
          <p class="soft">No output.</p>
        ) : (
          <LongText label="Log" text={job.log.join('\n')} />
        )}
      </Card>
    </>
  );
}

function outputAbsence(status: string): string {
  if (status === 'COMPLETED') return 'Deleted, or too large to be shown.';
  return statusWords(status).isSettled ? 'None: the job did not complete.' : 'None yet.';
}

interface TextProps {
  title: string;
  text: string | null;
  missing: string;
}

function TextPanel({ title, text, missing }: TextProps): JSX.Element {
  return (
    <Card title={title}>
      {text === null ? <p class="soft">{missing}</p> : <LongText label={title} text={indented(text)} />}
    </Card>
  );
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
