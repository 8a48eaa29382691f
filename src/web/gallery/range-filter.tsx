/** A filter by numbers: how many scenes have how much, and the bounds. */
import type { JSX } from 'preact';
import type { GalleryRange } from '../../runner/core/gallery-data.ts';
import { counted } from '../shared/number-words.ts';
import { boundsOf, fewDigits } from './query.ts';

interface Props {
  name: string;
  range: GalleryRange;
  /** `0.6..0.9`; empty where it is open. */
  value: string;
  onValue(value: string): void;
}

export function RangeFilter({ name, range, value, onValue }: Props): JSX.Element {
  const { least, most } = boundsOf(value);
  const bound = (words: string, at: number, now: string, next: (text: string) => string): JSX.Element => (
    <input
      type="number"
      // The arrow keys go from bar to bar.
      step={range.width}
      min={range.from}
      aria-label={`${name}, ${words}`}
      placeholder={fewDigits(at)}
      value={now}
      onChange={(event) => {
        const text = next(event.currentTarget.value);
        onValue(text === '..' ? '' : text);
      }}
    />
  );
  return (
    <div class="field short" role="group" aria-label={name}>
      <bdi>{name}</bdi>
      <Histogram name={name} range={range} least={least} most={most} />
      <div class="range">
        {bound('at least', range.least, least, (text) => `${text}..${most}`)}–
        {bound('at most', range.most, most, (text) => `${least}..${text}`)}
      </div>
    </div>
  );
}

/** Units of the drawing; it is stretched to the room there is. */
const height = 40;

type HistogramProps = Pick<Props, 'name' | 'range'> & { least: string; most: string };

/** What the bounds leave out is pale. */
function Histogram({ name, range, least, most }: HistogramProps): JSX.Element {
  const { from, width, bins } = range;
  const top = Math.max(...bins);
  const startOf = (bin: number): number => from + bin * width;
  const isWithin = (bin: number): boolean =>
    (least === '' || startOf(bin + 1) > Number(least)) && (most === '' || startOf(bin) <= Number(most));
  const label = `${name} from ${fewDigits(range.least)} to ${fewDigits(range.most)}, most often about ${fewDigits(startOf(bins.indexOf(top) + 0.5))}`;
  return (
    <svg
      class="histogram"
      viewBox={`0 0 ${bins.length} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {bins.map((count, bin) => {
        // What is there is seen, however little it is beside the most.
        const tall = count === 0 ? 0 : Math.max(2, (count * height) / top);
        return (
          <g key={bin}>
            <title>{`${fewDigits(startOf(bin))} to ${fewDigits(startOf(bin + 1))}: ${counted(count, 'scene')}`}</title>
            <rect
              class={isWithin(bin) ? 'bar' : 'bar out'}
              x={bin}
              width="0.85"
              y={height - tall}
              height={tall}
            />
          </g>
        );
      })}
    </svg>
  );
}
