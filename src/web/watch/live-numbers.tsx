/** The numbers of a batch: a bar, tiles, and a chart. */
import type { JSX } from 'preact';
import type { LiveNumbers as Numbers } from '../../runner/core/live-batch.ts';
import { clockTicks, rateUnit } from '../shared/chart-axes.ts';
import { Bars } from '../shared/charts.tsx';
import { Tile } from '../shared/facts.tsx';
import { useNow } from '../shared/hooks.ts';
import {
  countWords,
  counted,
  durationWords,
  exactInstantWords,
  hourWords,
  instantWords,
  moneyWords,
} from '../shared/number-words.ts';

interface Props {
  numbers: Numbers;
  aheadMs: number;
}

export function LiveNumbers({ numbers, aheadMs }: Props): JSX.Element {
  const now = useNow(aheadMs);
  const { scenes, attempts, doubtful, pictures, perSecond, doneAt, cost } = numbers;
  const total = scenes.waiting + scenes.active + scenes.saved + scenes.failed + scenes.invalid;
  return (
    <section class="card stack wide" aria-label="Numbers">
      <Bar scenes={scenes} total={total} />
      <dl class="tiles">
        <Tile name="saved" value={countWords(scenes.saved)} more={`of ${counted(total, 'scene')}`} />
        <Tile
          name="time left"
          value={doneAt === null ? '–' : leftWords(doneAt - now)}
          more={doneAt === null ? noLeftWords(scenes) : `done about ${hourWords(doneAt - aheadMs)}`}
        />
        <Tile name="pace" {...throughputOf(perSecond)} more={counted(pictures, 'picture')} />
        <Tile
          name="in flight"
          value={countWords(scenes.active)}
          more={`${countWords(scenes.waiting)} waiting`}
        />
        <Tile
          name="failed"
          value={countWords(scenes.failed)}
          more={failedWords(scenes)}
          tone={scenes.failed > 0 ? 'bad' : undefined}
        />
        {cost !== null && (
          <Tile
            name="cost"
            value={moneyWords(cost.spent, cost.currency)}
            more={
              cost.inFlight > 0 ? `up to ${moneyWords(cost.inFlight, cost.currency)} in flight` : 'so far'
            }
          />
        )}
        {doubtful > 0 && (
          <Tile
            name="in doubt"
            value={countWords(doubtful)}
            more={`of ${counted(attempts, 'submission')} possibly billed for nothing`}
            tone="bad"
          />
        )}
      </dl>
    </section>
  );
}

function Bar({ scenes, total }: { scenes: Numbers['scenes']; total: number }): JSX.Element {
  const percent = total === 0 ? 0 : (scenes.saved / total) * 100;
  const widthOf = (count: number) => ({ width: `${total === 0 ? 0 : (count / total) * 100}%` });
  return (
    <div
      class="progress"
      role="progressbar"
      aria-label="scenes saved"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(percent)}
      aria-valuetext={`${countWords(scenes.saved)} of ${counted(total, 'scene')} saved`}
    >
      <div class="track">
        <span class="good" style={widthOf(scenes.saved)} />
        <span class="bad" style={widthOf(scenes.failed + scenes.invalid)} />
        <span class="calm" style={widthOf(scenes.active)} />
      </div>
      <span class="percent">{Math.floor(percent)} %</span>
    </div>
  );
}

/** Seconds would only flicker. */
function leftWords(ms: number): string {
  return ms < 60_000 ? '< 1 min' : durationWords(ms < 600_000 ? ms : Math.round(ms / 60_000) * 60_000);
}

function noLeftWords({ waiting, active }: Numbers['scenes']): string {
  return waiting + active === 0 ? 'nothing is left' : 'not known';
}

function failedWords({ invalid, withdrawn }: Numbers['scenes']): string {
  const parts = [
    invalid > 0 ? counted(invalid, 'invalid row') : '',
    withdrawn > 0 ? `${countWords(withdrawn)} withdrawn` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function throughputOf(perSecond: number | null): { value: string; unit?: string } {
  if (perSecond === null) return { value: '–' };
  const { seconds, words } = rateUnit(perSecond);
  return { value: (perSecond * seconds).toFixed(1), unit: words };
}

/** How many scenes the run saved when. */
export function RateChart({ run }: Numbers): JSX.Element {
  const { from, stepMs, counts } = run;
  const end = from + counts.length * stepMs;
  const { seconds, words } = rateUnit((1000 * Math.max(...counts)) / stepMs);
  const sum = counts.reduce((all, count) => all + count, 0);
  const label = `${counted(sum, 'scene')} saved from ${instantWords(from)} to ${instantWords(end)}`;
  const bars = counts.map((value, index) => ({
    value: (value * 1000 * seconds) / stepMs,
    title: `${exactInstantWords(from + index * stepMs)}: ${counted(value, 'scene')} in ${durationWords(stepMs)}`,
  }));
  return (
    <section class="card stack" aria-labelledby="rate">
      <h2 id="rate">Saved</h2>
      <Bars label={label} bars={bars} unit={`scenes ${words}`} ticks={clockTicks(from, end)} />
    </section>
  );
}
