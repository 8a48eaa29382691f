/** How the run is doing, in words. */
import type { JSX } from 'preact';
import type { LiveBatch } from '../../runner/core/live-batch.ts';
import { wordsOf } from './run-words.ts';
import { useNow } from '../shared/use-now.ts';

interface Props {
  batch: LiveBatch;
  isLost: boolean;
  aheadMs: number;
}

export function RunState({ batch, isLost, aheadMs }: Props): JSX.Element {
  const { head, text, command, mood } = wordsOf(batch, useNow(aheadMs));
  return (
    <div class={`state ${mood}`} data-run={batch.run.kind}>
      <p>
        <strong>{head}</strong> <span>{text}</span>
      </p>
      {command !== undefined && <code class="command">{command}</code>}
      {isLost && (
        <p class="lost">
          <strong>Connection lost.</strong> <code>nightrender watch</code> does not answer; the run itself
          goes on without it. The page looks again by itself, and shows what it last knew.
        </p>
      )}
    </div>
  );
}
