/** Jobs, newest first, a page of them at a time. */
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { JobRow } from '../../protocol/console-data.ts';
import { exactInstantWords } from '../shared/number-words.ts';
import { useNow } from '../shared/use-now.ts';
import { delayWords, executionWords, statusNames, statusWords } from './job-words.ts';
import { Mark } from './mark.tsx';
import { to } from './route.ts';
import { useService } from './service.ts';
import { useFocusKept } from './use-focus-kept.ts';
import { usePolled } from './use-polled.ts';

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
  const { data: jobs, refused } = usePolled<JobRow[]>(`jobs?${new URLSearchParams(query)}`, 2_000);
  const statusId = useId();
  const place = useFocusKept<HTMLDivElement>();
  return (
    <>
      <div class="list-head">
        <label for={statusId}>Status</label>
        <select
          id={statusId}
          value={status}
          onChange={(event) => {
            setStatus(event.currentTarget.value);
            setBefore('');
          }}
        >
          <option value="">any</option>
          {statusNames.map((name) => (
            <option key={name} value={name}>
              {statusWords(name).word}
            </option>
          ))}
        </select>
      </div>
      {refused !== undefined && <p class="notice bad">{refused.message}</p>}
      {jobs === undefined && refused === undefined && <p class="soft">Looking …</p>}
      {jobs?.length === 0 && (
        <p class="soft">{before === '' && status === '' ? 'No jobs yet.' : 'No such jobs.'}</p>
      )}
      {jobs !== undefined && jobs.length > 0 && <Rows jobs={jobs} hasEndpoint={endpoint === null} />}
      <div ref={place} class="buttons" role="group" aria-label="Further jobs" tabIndex={-1}>
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
    </>
  );
}

function Rows({ jobs, hasEndpoint }: { jobs: JobRow[]; hasEndpoint: boolean }): JSX.Element {
  const { aheadMs } = useService();
  const now = useNow(aheadMs);
  return (
    <ul class="jobs">
      {jobs.map((job) => (
        <li key={job.id}>
          <Row job={job} now={now} hasEndpoint={hasEndpoint} />
        </li>
      ))}
    </ul>
  );
}

function Row({ job, now, hasEndpoint }: { job: JobRow; now: number; hasEndpoint: boolean }): JSX.Element {
  const { word, mood } = statusWords(job.status);
  const took = executionWords(job, now);
  return (
    <a class="job" href={to.job(job.id)}>
      <Mark mood={mood}>{word}</Mark>
      <span class="job-summary">
        <bdi>{job.summary === '' ? job.id : job.summary}</bdi>
      </span>
      <span class="job-facts soft">
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
