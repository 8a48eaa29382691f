/** Small bar charts in SVG, each described in words for screen readers. */
import type { JSX } from 'preact';
import { countWords, roundTop, type Tick } from './number-words.ts';

export interface Bar {
  value: number;
  /** Value stacked on top, in the colour of failures. */
  bad?: number;
  /** Tooltip. */
  title: string;
}

interface Props {
  /** Description in a sentence, for screen readers. */
  label: string;
  bars: Bar[];
  unit: string;
  ticks: Tick[];
  /** Positions of vertical lines, 0 to 1. */
  marks?: number[];
}

/** Coordinates of the drawing, which is stretched to the available space. */
const width = 600;
const height = 120;

export function Bars({ label, bars, unit, ticks, marks = [] }: Props): JSX.Element {
  const top = roundTop(Math.max(...bars.map(({ value, bad = 0 }) => value + bad)));
  const step = width / Math.max(1, bars.length);
  const gap = step > 4 ? 1 : 0;
  // Bars other than 0 stay visible, however small they are.
  const tall = (value: number): number => (value === 0 ? 0 : Math.max(1.5, (value * height) / top));
  const column = (index: number, tallness: number, above: number) => ({
    x: index * step,
    y: height - above - tallness,
    width: step - gap,
    height: tallness,
  });
  return (
    <div class="chart">
      <small class="unit">{unit}</small>
      <div class="scale" aria-hidden="true">
        {[top, top / 2, 0].map((value) => (
          <small key={value}>{countWords(value)}</small>
        ))}
      </div>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} preserveAspectRatio="none">
        {[0, height / 2, height].map((y) => (
          <line key={y} class="floor" x1="0" x2={width} y1={y} y2={y} />
        ))}
        {bars.map(({ value, bad = 0, title }, index) => (
          <g key={index}>
            <title>{title}</title>
            <rect class="bar" {...column(index, tall(value), 0)} />
            <rect class="bar bad" {...column(index, tall(bad), tall(value))} />
          </g>
        ))}
        {marks.map((at, index) => (
          <line key={index} class="quantile" x1={at * width} x2={at * width} y1="0" y2={height} />
        ))}
      </svg>
      <div class="ticks">
        {ticks.map(({ at, text }) => (
          // Labels at the ends are shifted inwards so that they don't stick out.
          <small key={at} style={{ left: `${at * 100}%`, transform: `translateX(${-at * 100}%)` }}>
            {text}
          </small>
        ))}
      </div>
    </div>
  );
}
