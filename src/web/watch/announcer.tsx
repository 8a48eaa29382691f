/** Says aloud, to those who do not see the page, what they would look up for: seldom. */
import type { JSX } from 'preact';
import type { LiveBatch } from '../../runner/core/live-batch.ts';
import { percentOf, wordsOf } from './run-words.ts';

/** Each tenth of the work, each change of the run, and the connection. */
export function Announcer({ batch, isLost }: { batch: LiveBatch; isLost: boolean }): JSX.Element {
  const percent = percentOf(batch);
  const tenth = percent === undefined ? '' : `, ${Math.floor(percent / 10) * 10} % saved`;
  const { head } = wordsOf(batch, 0);
  return (
    <p class="unseen" role="status">
      {isLost ? 'Connection lost, looking again.' : `${head}${tenth}.`}
    </p>
  );
}
