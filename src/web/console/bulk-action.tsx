/** A button that does something to all jobs that a filter leaves, after a question that names how many they are. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { BulkCount } from '../../protocol/console-data.ts';
import { counted } from '../shared/number-words.ts';
import { ask } from './ask.ts';
import { useSending } from './form.tsx';
import { Asked } from './question.tsx';
import { useService } from './service.ts';

export type Bulk = keyof typeof words;

const words = {
  cancel: { button: 'Cancel all …', verb: 'Cancel', yes: 'Cancel them', done: 'cancelled', of: 'open job' },
  retry: {
    button: 'Retry failed …',
    verb: 'Retry',
    yes: 'Retry them',
    done: 'queued again',
    of: 'failed job',
  },
} as const;

interface Props {
  what: Bulk;
  /** Which jobs, as the service is asked for them. */
  query: string;
  onDone(): Promise<void>;
}

export function BulkAction({ what, query, onDone }: Props): JSX.Element {
  const { refresh, say } = useService();
  const [count, setCount] = useState<BulkCount>();
  const { button, verb, yes, done, of } = words[what];
  const path = `jobs/${what}?${query}`;
  const { problems, isBusy, send } = useSending(async () => {
    const found = await ask<BulkCount>('GET', path);
    if (found.jobs === 0) return [{ field: '', text: `There is no ${of} among these.` }];
    return setCount(found);
  });
  const act = async (): Promise<void> => {
    const { jobs, isMore } = await ask<BulkCount>('POST', path);
    say(`${counted(jobs, 'job')} ${done}.${isMore ? ' There are more: press again.' : ''}`);
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
        <Asked
          title={`${verb} ${count.isMore ? 'the newest ' : ''}${counted(count.jobs, of)}?`}
          action={yes}
          onYes={act}
          onClose={() => setCount(undefined)}
        >
          <p>All that the filters leave, whoever submitted them.</p>
          {count.isMore && <p>There are more; press again for those.</p>}
        </Asked>
      )}
    </>
  );
}
