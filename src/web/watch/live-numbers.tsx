/** The numbers of a batch: a bar, and tiles. */
import type { JSX } from 'preact';
import type { LiveNumbers as Numbers } from '../../runner/core/live-batch.ts';
import { countWords, counted, durationWords, hourWords, moneyWords } from '../shared/number-words.ts';
import { useNow } from '../shared/use-now.ts';

interface Props {
  numbers: Numbers;
  aheadMs: number;
}

export function LiveNumbers({ numbers, aheadMs }: Props): JSX.Element {
  const now = useNow(aheadMs);
  const { scenes, attempts, doubtful, pictures, perSecond, doneAt, cost } = numbers;
  const total = scenes.waiting + scenes.active + scenes.saved + scenes.failed + scenes.invalid;
  return (
    <section aria-label="Numbers">
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
          isBad={scenes.failed > 0}
        />
        {cost !== null && <CostTile cost={cost} />}
        {doubtful > 0 && (
          <Tile
            name="in doubt"
            value={countWords(doubtful)}
            more={`of ${counted(attempts, 'submission')} possibly billed for nothing`}
            isBad
          />
        )}
      </dl>
    </section>
  );
}

function CostTile({ cost }: { cost: NonNullable<Numbers['cost']> }): JSX.Element {
  const [value = '', unit = ''] = moneyWords(cost.spent, cost.currency).split(' ');
  const more = cost.inFlight > 0 ? `up to ${moneyWords(cost.inFlight, cost.currency)} in flight` : 'so far';
  return <Tile name="cost" value={value} unit={unit} more={more} />;
}

interface TileProps {
  name: string;
  value: string;
  /** Stands behind the value, smaller. */
  unit?: string;
  more: string;
  isBad?: boolean;
}

function Tile({ name, value, unit, more, isBad = false }: TileProps): JSX.Element {
  return (
    <div class={isBad ? 'tile bad' : 'tile'}>
      <dt>{name}</dt>
      <dd>
        <span class="value">
          {value}
          {unit !== undefined && <span class="unit"> {unit}</span>}
        </span>{' '}
        <span class="soft">{more}</span>
      </dd>
    </div>
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
        <span class="saved" style={widthOf(scenes.saved)} />
        <span class="failed" style={widthOf(scenes.failed + scenes.invalid)} />
        <span class="active" style={widthOf(scenes.active)} />
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

/** In the unit in which it is a number one can grasp. */
function throughputOf(perSecond: number | null): { value: string; unit?: string } {
  if (perSecond === null) return { value: '–' };
  if (perSecond >= 1) return { value: perSecond.toFixed(1), unit: 'a second' };
  if (perSecond * 60 >= 1) return { value: (perSecond * 60).toFixed(1), unit: 'a minute' };
  return { value: (perSecond * 3600).toFixed(1), unit: 'an hour' };
}
