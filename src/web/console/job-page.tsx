/** The page of one job: its status, times, input, output and log; and the short view of a job that the job form shows. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JobAction, JobRow, JobView } from '../../protocol/console-data.ts';
import { Facts } from '../shared/facts.tsx';
import { useNow } from '../shared/hooks.ts';
import { durationWords, exactInstantWords, hourWords } from '../shared/number-words.ts';
import { LongText } from '../shared/text.tsx';
import { ask, askPicture, type Polled, usePolled } from './ask.ts';
import { delayWords, executionWords, statusWords } from './endpoint-words.ts';
import { useFocusKept, useSending } from './form.tsx';
import { Card, Mark, NothingHere, Waiting } from './pieces.tsx';
import { to, useService } from './route.ts';

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
        <TextPanel title="Output" text={job.output} missing={outputAbsence(job)} />
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

/** Returns a sentence that says when input and output are deleted; null until the job has ended. */
function deletionWords({ endedAt }: JobRow, retentionMs: number, now: number): string | null {
  if (endedAt === null) return null;
  const at = endedAt + retentionMs;
  if (at <= now) return 'Input and output are past their retention.';
  return `Input and output are deleted at ${hourWords(at)}, in ${durationWords(at - now)}.`;
}

function outputAbsence({ status, endedAt }: JobRow): string {
  if (status === 'COMPLETED') return 'Deleted, or too large to be shown.';
  return endedAt === null ? 'None yet.' : 'None: the job did not complete.';
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

/** Polls a job: every second until it has settled, then every 30 s. */
function useJob(id: string): Polled<JobView> {
  return usePolled<JobView>(`jobs/${encodeURIComponent(id)}`, (job) =>
    job !== undefined && job.endedAt !== null ? 30_000 : 1_000,
  );
}

function JobActions({ job, onDone }: { job: JobView; onDone(): Promise<void> }): JSX.Element {
  const place = useFocusKept<HTMLDivElement>();
  const { reachedBy } = useService().overview;
  const { problems, isBusy, send } = useSending(async (what: JobAction) => {
    await ask('POST', `jobs/${encodeURIComponent(job.id)}/${what}`);
    await onDone();
  });
  return (
    <div ref={place} class="row" role="group" aria-label="Job actions" tabIndex={-1}>
      {reachedBy.cancel.includes(job.status) && (
        <button type="button" aria-disabled={isBusy} onClick={() => send('cancel')}>
          Cancel job
        </button>
      )}
      {reachedBy.retry.includes(job.status) && (
        <button type="button" aria-disabled={isBusy} onClick={() => send('retry')}>
          Retry job
        </button>
      )}
      <span class="problem" role="alert">
        {problems[0]?.text}
      </span>
    </div>
  );
}

/** A job's first picture, loaded near the viewport. Null if there is none. */
export function Thumbnail({ id }: { id: string }): JSX.Element | null {
  const [address, setAddress] = useState<string | null>();
  const [isSeen, setIsSeen] = useState(false);
  const place = useRef<HTMLImageElement>(null);
  useEffect(() => {
    let made: string | undefined;
    let isGone = false;
    const load = async (): Promise<void> => {
      // An `<img>` with this URL could not send the session token.
      const picture = await askPicture(`jobs/${encodeURIComponent(id)}/thumbnail`);
      if (picture !== undefined && !isGone) made = URL.createObjectURL(picture);
      if (!isGone) setAddress(made ?? null);
    };
    const nearness = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        nearness.disconnect();
        void load();
      },
      { rootMargin: '100%' },
    );
    if (place.current !== null) nearness.observe(place.current);
    return () => {
      isGone = true;
      nearness.disconnect();
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [id]);
  if (address === null) return null;
  return (
    <img
      ref={place}
      class={`thumbnail ${isSeen ? 'seen' : 'coming'}`}
      src={address}
      alt=""
      onLoad={() => setIsSeen(true)}
      onError={() => setAddress(null)}
    />
  );
}

function JobPictures({ job: { id, pictures, summary } }: { job: JobView }): JSX.Element {
  const shown = pictures.filter((address) => address.startsWith('data:image/'));
  return (
    <ul class="job-pictures">
      {shown.map((address, index) => (
        <li key={index}>
          <img src={address} alt={summary === '' ? `Picture ${index + 1} of job ${id}` : summary} />
          <a class="hint" href={address} download={`${id}-${index + 1}.${kindOf(address)}`}>
            Save picture{shown.length > 1 ? ` ${index + 1}` : ''}
          </a>
        </li>
      ))}
    </ul>
  );
}

function kindOf(address: string): string {
  return /^data:image\/([a-z]+)/.exec(address)?.[1]?.replace('jpeg', 'jpg') ?? 'png';
}

export function FollowedJob({ id }: { id: string }): JSX.Element {
  const now = useNow(useService().aheadMs, 1_000);
  const { data: job, refused, refresh } = useJob(id);
  const took = job === undefined ? null : executionWords(job, now);
  return (
    <section class="followed stack" aria-label="The job you submitted">
      <div class="row">
        <span role="status">
          {job === undefined ? (
            (refused?.message ?? 'Submitted.')
          ) : (
            <Mark tone={statusWords(job.status).tone}>{statusWords(job.status).word}</Mark>
          )}
        </span>
        {job !== undefined && (
          <small>
            waited {delayWords(job, now)}
            {took !== null && ` · ${took}`}
          </small>
        )}
        <a class="hint" href={to.job(id)}>
          All about job {id}
        </a>
        {job !== undefined && <JobActions job={job} onDone={refresh} />}
      </div>
      {job !== undefined && job.error !== null && <LongText label="Error" text={job.error} isBad />}
      {job !== undefined && <JobPictures job={job} />}
    </section>
  );
}
