/** What can be done with a job as it stands. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobView } from '../../protocol/console-data.ts';
import { ask, troubleWords } from './ask.ts';
import { canRetry, statusWords } from './job-words.ts';
import { useFocusKept } from './use-focus-kept.ts';

export function JobActions({ job, onDone }: { job: JobView; onDone(): Promise<void> }): JSX.Element {
  const [trouble, setTrouble] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const place = useFocusKept<HTMLDivElement>();
  const act = async (what: 'cancel' | 'retry'): Promise<void> => {
    if (isBusy) return;
    setTrouble('');
    setIsBusy(true);
    try {
      await ask('POST', `jobs/${encodeURIComponent(job.id)}/${what}`);
      await onDone();
    } catch (error) {
      setTrouble(troubleWords(error));
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <div ref={place} class="buttons" role="group" aria-label="Job actions" tabIndex={-1}>
      {!statusWords(job.status).isSettled && (
        <button type="button" aria-disabled={isBusy} onClick={() => void act('cancel')}>
          Cancel job
        </button>
      )}
      {canRetry(job.status) && (
        <button type="button" aria-disabled={isBusy} onClick={() => void act('retry')}>
          Retry job
        </button>
      )}
      <span class="problem" role="alert">
        {trouble}
      </span>
    </div>
  );
}
