/** A paged list of jobs, newest first, with filters and actions on all jobs that match. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { BulkCount, JobAction, JobPage, JobRow } from '../../protocol/console-data.ts';
import { Select } from '../shared/choices.tsx';
import { useNow, useTypedText } from '../shared/hooks.ts';
import { exactInstantWords, counted } from '../shared/number-words.ts';
import { ConfirmDialog, useFocusKept, useSending } from './form.tsx';
import { Thumbnail } from './job-page.tsx';
import { delayWords, executionWords, statusNames, statusWords } from './endpoint-words.ts';
import { Mark, Waiting } from './pieces.tsx';
import { ask, usePolled } from './ask.ts';
import { to, useService } from './route.ts';

const anyJob = { endpoint: '', status: '', text: '' };

type Filter = typeof anyJob;

/** Poll intervals. A search costs the service more than a page of the newest jobs. */
const pauseMs = 2_000;
const searchPauseMs = 5_000;

export function JobList({ endpoint }: { endpoint: string | null }): JSX.Element {
  const [filter, setFilter] = useState({ ...anyJob, endpoint: endpoint ?? '' });
  /** Id of the last job on the previous page; empty for the first page. */
  const [before, setBefore] = useState('');
  const isSearch = filter.text.trim() !== '';
  const path = `jobs?${queryOf({ ...filter, before })}`;
  const polled = usePolled<JobPage>(path, () => (isSearch ? searchPauseMs : pauseMs));
  const { jobs, next = null } = polled.data ?? {};
  const now = useNow(useService().aheadMs);
  const place = useFocusKept<HTMLDivElement>();
  const change = (part: Partial<Filter>): void => {
    setFilter({ ...filter, ...part });
    setBefore('');
  };
  const isAny = before === '' && filter.status === '' && !isSearch;
  return (
    <section class="card stack" aria-label={endpoint === null ? 'Jobs of all endpoints' : 'Jobs'}>
      {endpoint !== null && <h2>Jobs</h2>}
      <Filters filter={filter} hasEndpoint={endpoint === null} onChange={change} />
      <BulkActions filter={filter} onDone={polled.refresh} />
      <Waiting polled={polled} />
      {jobs?.length === 0 && <p class="soft">{absenceWords(isAny, next !== null)}</p>}
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
        {next !== null && (
          <button type="button" onClick={() => setBefore(next)}>
            {isSearch ? 'Search older jobs' : 'Older'}
          </button>
        )}
      </div>
    </section>
  );
}

function queryOf(values: Record<string, string>): URLSearchParams {
  const trimmed = Object.entries(values).map(([name, text]) => [name, text.trim()]);
  return new URLSearchParams(trimmed.filter(([, text]) => text !== ''));
}

function absenceWords(isAny: boolean, isFurther: boolean): string {
  if (isFurther) return 'No match among these 20,000 jobs.';
  return isAny ? 'No jobs yet.' : 'No matching jobs.';
}

interface FilterProps {
  filter: Filter;
  hasEndpoint: boolean;
  onChange(part: Partial<Filter>): void;
}

/** Delay after the last keystroke before a search starts. */
const typingMs = 300;

function Filters({ filter: { endpoint, status, text }, hasEndpoint, onChange }: FilterProps): JSX.Element {
  const { endpoints } = useService().overview;
  const [typed, type] = useTypedText(text, typingMs, (all) => onChange({ text: all }));
  const names = endpoints.map(({ settings: { id, name } }): [string, string] => [id, name]);
  const statuses = statusNames.map((name): [string, string] => [name, statusWords(name).word]);
  return (
    <div class="row filters" role="search">
      <input
        type="search"
        aria-label="Search jobs"
        placeholder="Search in prompts and ids"
        value={typed}
        onInput={(event) => type(event.currentTarget.value)}
      />
      {hasEndpoint && (
        <Select
          attributes={{ 'aria-label': 'Endpoint' }}
          options={[['', 'Any endpoint'], ...names]}
          chosen={endpoint}
          onChoose={(chosen) => onChange({ endpoint: chosen })}
        />
      )}
      <Select
        attributes={{ 'aria-label': 'Status' }}
        options={[['', 'Any status'], ...statuses]}
        chosen={status}
        onChoose={(chosen) => onChange({ status: chosen })}
      />
    </div>
  );
}

function BulkActions({ filter, onDone }: { filter: Filter; onDone(): Promise<void> }): JSX.Element {
  const query = queryOf(filter).toString();
  const { reachedBy } = useService().overview;
  const whats = bulks.filter((what) => filter.status === '' || reachedBy[what].includes(filter.status));
  return (
    <div class="row" role="group" aria-label="All of these jobs">
      {whats.map((what) => (
        <BulkAction key={what + query} what={what} query={query} onDone={onDone} />
      ))}
    </div>
  );
}

const bulks = ['cancel', 'retry'] as const satisfies JobAction[];

function Row({ job, now, hasEndpoint }: { job: JobRow; now: number; hasEndpoint: boolean }): JSX.Element {
  const { word, tone } = statusWords(job.status);
  const took = executionWords(job, now);
  return (
    <a class="job" href={to.job(job.id)}>
      {job.status === 'COMPLETED' && <Thumbnail id={job.id} />}
      <Mark tone={tone}>{word}</Mark>
      <span class="job-summary">
        <bdi>{job.summary === '' ? job.id : job.summary}</bdi>
      </span>
      <span class="row hint job-facts">
        {hasEndpoint && <span>{job.endpointId}</span>}
        <span>waited {delayWords(job, now)}</span>
        {took !== null && <span>{took}</span>}
        {job.retries > 0 && <span>retries {job.retries}</span>}
        {job.workerId !== null && <span class="roomy">worker {job.workerId}</span>}
        <span>{exactInstantWords(job.acceptedAt)}</span>
      </span>
    </a>
  );
}

const words = {
  cancel: { button: 'Cancel all …', verb: 'Cancel', yes: 'Cancel them', done: 'cancelled', of: 'open job' },
  retry: {
    button: 'Retry failed …',
    verb: 'Retry',
    yes: 'Retry them',
    done: 'back in the queue',
    of: 'failed job',
  },
} as const;

interface Props {
  what: JobAction;
  query: string;
  onDone(): Promise<void>;
}

/** A button that acts on all filtered jobs, after a confirmation that shows their number. */
function BulkAction({ what, query, onDone }: Props): JSX.Element {
  const { refresh, say } = useService();
  const [count, setCount] = useState<BulkCount>();
  const { button, verb, yes, done, of } = words[what];
  const path = `jobs/${what}?${query}`;
  const { problems, isBusy, send } = useSending(async () => {
    const found = await ask<BulkCount>('GET', path);
    if (found.jobs === 0) return [{ field: '', text: `There is no matching ${of}.` }];
    return setCount(found);
  });
  const act = async (): Promise<void> => {
    const { jobs, isMore } = await ask<BulkCount>('POST', path);
    say(`${counted(jobs, 'job')} ${done}.${isMore ? ' There are more: do this again for the rest.' : ''}`);
    await Promise.all([refresh(), onDone()]);
  };
  return (
    <>
      <button type="button" class="small" aria-disabled={isBusy} onClick={() => send()}>
        {button}
      </button>
      <small class="problem" role="alert">
        {problems[0]?.text}
      </small>
      {count !== undefined && (
        <ConfirmDialog
          title={`${verb} ${count.isMore ? 'the newest ' : ''}${counted(count.jobs, of)}?`}
          action={yes}
          onYes={act}
          onClose={() => setCount(undefined)}
        >
          <p>All jobs that match the filters, no matter who submitted them.</p>
          {count.isMore && <p>There are more: do this again for the rest.</p>}
        </ConfirmDialog>
      )}
    </>
  );
}
