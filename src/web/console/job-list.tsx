/** Jobs, newest first, a page of them at a time. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobRow } from '../../protocol/console-data.ts';
import { Select } from '../shared/choices.tsx';
import { useNow } from '../shared/hooks.ts';
import { exactInstantWords } from '../shared/number-words.ts';
import { useFocusKept } from './form.tsx';
import { delayWords, executionWords, statusNames, statusWords } from './job-words.ts';
import { Mark } from './pieces.tsx';
import { usePolled, Waiting } from './polled.tsx';
import { to } from './route.ts';
import { useService } from './service.ts';

/** As many as the service tells at once. */
const pageLength = 50;

/** Of one endpoint, or of all. */
export function JobList({ endpoint }: { endpoint: string | null }): JSX.Element {
  const [status, setStatus] = useState('');
  /** The last job of the page before; empty for the newest. */
  const [before, setBefore] = useState('');
  const query = Object.entries({ endpoint: endpoint ?? '', status, before }).filter(
    ([, text]) => text !== '',
  );
  const polled = usePolled<JobRow[]>(`jobs?${new URLSearchParams(query)}`, () => 2_000);
  const jobs = polled.data;
  const statuses = statusNames.map((name): [string, string] => [name, statusWords(name).word]);
  const now = useNow(useService().aheadMs);
  const place = useFocusKept<HTMLDivElement>();
  return (
    <section class="card stack" aria-label={endpoint === null ? 'Jobs of all endpoints' : 'Jobs'}>
      <div class="row end">
        {endpoint !== null && <h2>Jobs</h2>}
        <label class="row">
          <small>Status</small>
          <Select
            options={[['', 'any'], ...statuses]}
            chosen={status}
            onChoose={(chosen) => {
              setStatus(chosen);
              setBefore('');
            }}
          />
        </label>
      </div>
      <Waiting polled={polled} />
      {jobs?.length === 0 && (
        <p class="soft">{before === '' && status === '' ? 'No jobs yet.' : 'No such jobs.'}</p>
      )}
      {jobs !== undefined && jobs.length > 0 && (
        <ul class="list">
          {jobs.map((job) => (
            <li key={job.id}>
              <Row job={job} now={now} hasEndpoint={endpoint === null} />
            </li>
          ))}
        </ul>
      )}
      <div ref={place} class="row" role="group" aria-label="Further jobs" tabIndex={-1}>
        {before !== '' && (
          <button type="button" onClick={() => setBefore('')}>
            Newest
          </button>
        )}
        {jobs?.length === pageLength && (
          <button type="button" onClick={() => setBefore(jobs.at(-1)?.id ?? '')}>
            Older
          </button>
        )}
      </div>
    </section>
  );
}

function Row({ job, now, hasEndpoint }: { job: JobRow; now: number; hasEndpoint: boolean }): JSX.Element {
  const { word, tone } = statusWords(job.status);
  const took = executionWords(job, now);
  return (
    <a class="job" href={to.job(job.id)}>
      <Mark tone={tone}>{word}</Mark>
      <span class="job-summary">
        <bdi>{job.summary === '' ? job.id : job.summary}</bdi>
      </span>
      <span class="row hint job-facts">
        {hasEndpoint && <span>{job.endpointId}</span>}
        <span>waited {delayWords(job, now)}</span>
        {took !== null && <span>{took}</span>}
        {job.retries > 0 && <span>retries {job.retries}</span>}
        {job.workerId !== null && <span>worker {job.workerId}</span>}
        <span>{exactInstantWords(job.acceptedAt)}</span>
      </span>
    </a>
  );
}
