/** One job: its states and times, what went in and came out, and what its worker wrote. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobView } from '../../protocol/console-data.ts';
import { durationWords, exactInstantWords } from '../shared/number-words.ts';
import { useNow } from '../shared/use-now.ts';
import { JobActions } from './job-actions.tsx';
import { JobPictures } from './job-pictures.tsx';
import { delayWords, deletionWords, executionWords, statusWords } from './job-words.ts';
import { LongText } from './long-text.tsx';
import { Mark } from './mark.tsx';
import { NothingHere } from './nothing-here.tsx';
import { to } from './route.ts';
import { useService } from './service.ts';
import { usePolled } from './use-polled.ts';

export function JobPage({ id }: { id: string }): JSX.Element {
  const { overview } = useService();
  const [isSettled, setIsSettled] = useState(false);
  const {
    data: job,
    refused,
    refresh,
  } = usePolled<JobView>(`jobs/${encodeURIComponent(id)}`, isSettled ? 30_000 : 1_000);
  const settled = job !== undefined && statusWords(job.status).isSettled;
  if (settled !== isSettled) setIsSettled(settled);
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
      <p class="crumbs">
        <a href={to.jobs}>Jobs</a>
        {job !== undefined && (
          <>
            {' · '}
            <a href={to.endpoint(job.endpointId)}>endpoint {job.endpointId}</a>
          </>
        )}
      </p>
      <div class="page-head">
        <h1>
          Job <span class="job-id">{id}</span>
        </h1>
        {job !== undefined && <JobActions job={job} onDone={refresh} />}
      </div>
      {refused !== undefined && <p class="notice bad">{refused.message}</p>}
      {job === undefined ? <p class="soft">Looking …</p> : <Job job={job} />}
    </>
  );
}

function Job({ job }: { job: JobView }): JSX.Element {
  const { overview, aheadMs } = useService();
  const now = useNow(aheadMs, 1_000);
  const { word, mood } = statusWords(job.status);
  const deletion = deletionWords(job, overview.retentionMs, now);
  return (
    <div class="stack wide">
      <section class="panel stack" aria-label="State">
        {job.summary !== '' && (
          <p class="lead">
            <bdi>{job.summary}</bdi>
          </p>
        )}
        <p class="job-state" role="status">
          <Mark mood={mood}>{word}</Mark>
        </p>
        {job.error !== null && <LongText label="Error" text={job.error} isBad />}
        <Facts job={job} now={now} />
        {deletion !== null && <p class="soft">{deletion}</p>}
      </section>
      {job.pictures.length > 0 && (
        <section class="panel" aria-label="Pictures">
          <JobPictures job={job} />
        </section>
      )}
      <div class="halves">
        <TextPanel title="Input" text={job.input} missing="Deleted, or too large to be shown." />
        <TextPanel title="Output" text={job.output} missing={outputAbsence(job.status)} />
      </div>
      <section class="panel stack" aria-labelledby="log">
        <h2 id="log">Log of the worker</h2>
        {job.log.length === 0 ? (
          <p class="soft">No output.</p>
        ) : (
          <LongText label="Log" text={job.log.join('\n')} />
        )}
      </section>
    </div>
  );
}

function outputAbsence(status: string): string {
  if (status === 'COMPLETED') return 'Deleted, or too large to be shown.';
  return statusWords(status).isSettled ? 'None: the job did not complete.' : 'None yet.';
}

function TextPanel({
  title,
  text,
  missing,
}: {
  title: string;
  text: string | null;
  missing: string;
}): JSX.Element {
  return (
    <section class="panel stack" aria-label={title}>
      <h2>{title}</h2>
      {text === null ? <p class="soft">{missing}</p> : <LongText label={title} text={indented(text)} />}
    </section>
  );
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

function Facts({ job, now }: { job: JobView; now: number }): JSX.Element {
  const rows: [string, string | null][] = [
    ['accepted', exactInstantWords(job.acceptedAt)],
    ['waited', delayWords(job, now)],
    ['started', job.startedAt === null ? null : exactInstantWords(job.startedAt)],
    ['execution', executionWords(job, now)],
    ['ended', job.endedAt === null ? null : exactInstantWords(job.endedAt)],
    ['worker', job.workerId],
    ['retries', job.retries === 0 ? null : String(job.retries)],
    ['submitted with', job.key === null ? null : `key ${job.key}`],
  ];
  return (
    <dl class="facts">
      {rows.map(([name, text]) =>
        text === null ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <bdi>{text}</bdi>
            </dd>
          </div>
        ),
      )}
    </dl>
  );
}
