/** The head of the page: what came out, in a few numbers. */
import type { JSX } from 'preact';
import type { GalleryData, GalleryRun } from '../../runner/core/gallery-data.ts';
import {
  byteWords,
  countWords,
  counted,
  durationWords,
  instantWords,
  moneyWords,
} from '../shared/number-words.ts';

export function Summary({ data }: { data: GalleryData }): JSX.Element {
  const { scenes, pictures, cost, attempts, times, runs } = data;
  const listed = Object.entries(scenes).reduce(
    (sum, [state, count]) => sum + (state === 'withdrawn' ? 0 : count),
    0,
  );
  const untold = attempts.unanswered + attempts.expired;
  return (
    <header>
      <h1>
        <bdi>{data.title}</bdi>
      </h1>
      <p class="soft">
        {endingWords(runs.at(-1), true)} Rendered by <bdi>{data.endpoint}</bdi>. Written{' '}
        {instantWords(data.writtenAt)}.
      </p>
      <dl class="numbers">
        <Number
          label="saved"
          value={countWords(scenes['saved'] ?? 0)}
          more={`of ${counted(listed, 'scene')}`}
        />
        {['failed', 'active', 'waiting', 'invalid', 'withdrawn'].map((state) =>
          (scenes[state] ?? 0) > 0 ? (
            <Number key={state} label={state} value={countWords(scenes[state] ?? 0)} state={state} />
          ) : null,
        )}
        <Number label="pictures" value={countWords(pictures.files)} more={byteWords(pictures.bytes)} />
        <Number
          label="submissions"
          value={countWords(attempts.total)}
          more={untold > 0 ? `${countWords(untold)} of unknown cost` : undefined}
        />
        {cost !== null && <Number label="cost" value={moneyWords(cost.spent, cost.currency)} />}
        {times.firstSubmittedAt !== null && times.lastSavedAt !== null && (
          <Number
            label="from first to last"
            value={durationWords(times.lastSavedAt - times.firstSubmittedAt)}
            more={`${durationWords(times.executionTimeMs)} of execution`}
          />
        )}
      </dl>
    </header>
  );
}

interface NumberProps {
  label: string;
  value: string;
  more?: string | undefined;
  state?: string;
}

function Number({ label, value, more, state = '' }: NumberProps): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd class={state === '' ? undefined : `is-${state}`}>{value}</dd>
      {more !== undefined && <dd class="more">{more}</dd>}
    </div>
  );
}

/** How a run ended, as a sentence. */
export function endingWords(run: GalleryRun | undefined, isLatest: boolean): string {
  if (run === undefined) return '';
  if (run.ending !== null) return `${run.ending.replace(/\.$/, '')}.`;
  return isLatest
    ? 'The run was still going when this was written, or exited without a final status.'
    : 'It exited without a final status.';
}
