/** A job, its actions and its pictures, for the page of the job and for the job form. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JobView } from '../../protocol/console-data.ts';
import { ask, askPicture } from './ask.ts';
import { useFocusKept, useSending } from './form.tsx';
import { statusWords } from './job-words.ts';
import { usePolled, type Polled } from './polled.tsx';

/** Polls a job: every second until it has settled, then every 30 s. */
export function useJob(id: string): Polled<JobView> {
  return usePolled<JobView>(`jobs/${encodeURIComponent(id)}`, (job) =>
    job !== undefined && statusWords(job.status).isSettled ? 30_000 : 1_000,
  );
}

export function JobActions({ job, onDone }: { job: JobView; onDone(): Promise<void> }): JSX.Element {
  const place = useFocusKept<HTMLDivElement>();
  const { problems, isBusy, send } = useSending(async (what: 'cancel' | 'retry') => {
    await ask('POST', `jobs/${encodeURIComponent(job.id)}/${what}`);
    await onDone();
  });
  return (
    <div ref={place} class="row" role="group" aria-label="Job actions" tabIndex={-1}>
      {!statusWords(job.status).isSettled && (
        <button type="button" aria-disabled={isBusy} onClick={() => send('cancel')}>
          Cancel job
        </button>
      )}
      {(job.status === 'FAILED' || job.status === 'TIMED_OUT') && (
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

/**
 * The first picture of a job, as a thumbnail that loads when it comes near the viewport. Null if there is none.
 */
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

export function JobPictures({ job: { id, pictures, summary } }: { job: JobView }): JSX.Element {
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
