/** A job that was just submitted, until it is done. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobView } from '../../protocol/console-data.ts';
import { useNow } from '../shared/use-now.ts';
import { JobActions } from './job-actions.tsx';
import { JobPictures } from './job-pictures.tsx';
import { delayWords, executionWords, statusWords } from './job-words.ts';
import { LongText } from './long-text.tsx';
import { Mark } from './mark.tsx';
import { to } from './route.ts';
import { useService } from './service.ts';
import { usePolled } from './use-polled.ts';

export function FollowedJob({ id }: { id: string }): JSX.Element {
  const now = useNow(useService().aheadMs, 1_000);
  const [isSettled, setIsSettled] = useState(false);
  const path = `jobs/${encodeURIComponent(id)}`;
  const { data: job, refused, refresh } = usePolled<JobView>(path, isSettled ? 30_000 : 1_000);
  const settled = job !== undefined && statusWords(job.status).isSettled;
  if (settled !== isSettled) setIsSettled(settled);
  const took = job === undefined ? null : executionWords(job, now);
  return (
    <section class="followed stack" aria-label="The job you submitted">
      <div class="followed-head">
        <span role="status">
          {job === undefined ? (
            (refused?.message ?? 'Submitted.')
          ) : (
            <Mark mood={statusWords(job.status).mood}>{statusWords(job.status).word}</Mark>
          )}
        </span>
        {job !== undefined && (
          <span class="soft small-text">
            waited {delayWords(job, now)}
            {took !== null && ` · ${took}`}
          </span>
        )}
        <a class="small-text" href={to.job(id)}>
          All about job {id}
        </a>
        {job !== undefined && <JobActions job={job} onDone={refresh} />}
      </div>
      {job !== undefined && job.error !== null && <LongText label="Error" text={job.error} isBad />}
      {job !== undefined && <JobPictures job={job} />}
    </section>
  );
}
