/** How many scenes were saved when: over the last hour, or the whole night. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LiveNumbers } from '../../runner/core/live-batch.ts';
import { Bars } from '../shared/charts.tsx';
import { countWords, counted, hourWords, instantWords } from '../shared/number-words.ts';

const spans = { lastHour: 'Last hour', night: 'Whole night' } as const;
type Span = keyof typeof spans;

export function RateChart({ numbers }: { numbers: LiveNumbers }): JSX.Element {
  const [span, setSpan] = useState<Span>('lastHour');
  const { from, stepMs, counts } = numbers[span];
  const end = from + counts.length * stepMs;
  const sum = counts.reduce((all, count) => all + count, 0);
  const most = Math.max(0, ...counts);
  const minutes = stepMs / 60_000;
  const step = minutes === 1 ? 'a minute' : `${minutes} minutes`;
  const label = `${counted(sum, 'scene')} saved from ${instantWords(from)} to ${instantWords(end)}, at most ${countWords(most)} in ${step}`;
  const bars = counts.map((value, index) => ({
    value,
    title: `${hourWords(from + index * stepMs)}: ${counted(value, 'scene')} in ${step}`,
  }));
  return (
    <section aria-labelledby="rate">
      <div class="head">
        <h2 id="rate">Saved</h2>
        <div class="choices" role="group" aria-label="How far back">
          {(Object.keys(spans) as Span[]).map((each) => (
            <button key={each} type="button" aria-pressed={each === span} onClick={() => setSpan(each)}>
              {spans[each]}
            </button>
          ))}
        </div>
      </div>
      <p class="soft">
        {counted(sum, 'scene')}, at most {countWords(most)} in {step}
      </p>
      <Bars label={label} bars={bars} start={instantWords(from)} end={hourWords(end)} />
    </section>
  );
}
