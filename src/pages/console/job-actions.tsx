/** What can be done with a job as it stands. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobView } from '../console-data.ts';
import { ask, troubleWords } from './ask.ts';
import { canRetry, statusWords } from './job-words.ts';

export function JobActions({ job, onDone }: { job: JobView; onDone(): Promise<void> }): JSX.Element {
  const [trouble, setTrouble] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const act = async (what: 'cancel' | 'retry'): Promise<void> => {
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
    <div class="buttons">
      {!statusWords(job.status).isSettled && (
        <button type="button" disabled={isBusy} onClick={() => void act('cancel')}>
          Cancel job
        </button>
      )}
      {canRetry(job.status) && (
        <button type="button" disabled={isBusy} onClick={() => void act('retry')}>
          Retry job
        </button>
      )}
      <span class="problem" role="alert">
        {trouble}
      </span>
    </div>
  );
}
