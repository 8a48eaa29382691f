/** The head of the page: what came out, in a few numbers. */
import type { JSX } from 'preact';
import type { GalleryData, GalleryRun } from '../../runner/core/gallery-data.ts';
import { Tile } from '../shared/facts.tsx';
import {
  byteWords,
  countWords,
  counted,
  durationWords,
  instantWords,
  moneyWords,
} from '../shared/number-words.ts';
import { toneOf } from '../shared/tone.ts';

export function Summary({ data }: { data: GalleryData }): JSX.Element {
  const { scenes, pictures, cost, attempts, times, runs } = data;
  const listed = Object.entries(scenes).reduce(
    (sum, [state, count]) => sum + (state === 'withdrawn' ? 0 : count),
    0,
  );
  const untold = attempts.unanswered + attempts.expired;
  return (
    <header class="stack">
      <h1>
        <bdi>{data.title}</bdi>
      </h1>
      <p class="soft">
        {endingWords(runs.at(-1), true)} Rendered by <bdi>{data.endpoint}</bdi>. Written{' '}
        {instantWords(data.writtenAt)}.
      </p>
      <dl class="tiles">
        <Tile name="saved" value={countWords(scenes['saved'] ?? 0)} more={`of ${counted(listed, 'scene')}`} />
        {['failed', 'active', 'waiting', 'invalid', 'withdrawn'].map((state) =>
          (scenes[state] ?? 0) > 0 ? (
            <Tile key={state} name={state} value={countWords(scenes[state] ?? 0)} tone={toneOf(state)} />
          ) : null,
        )}
        <Tile name="pictures" value={countWords(pictures.files)} more={byteWords(pictures.bytes)} />
        <Tile
          name="submissions"
          value={countWords(attempts.total)}
          more={untold > 0 ? `${countWords(untold)} of unknown cost` : undefined}
        />
        {cost !== null && <Tile name="cost" value={moneyWords(cost.spent, cost.currency)} />}
        {times.firstSubmittedAt !== null && times.lastSavedAt !== null && (
          <Tile
            name="from first to last"
            value={durationWords(times.lastSavedAt - times.firstSubmittedAt)}
            more={`${durationWords(times.executionTimeMs)} of execution`}
          />
        )}
      </dl>
    </header>
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
