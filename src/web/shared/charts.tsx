/** Small charts in SVG; each says in words what it shows, for those who do not see it. */
import type { JSX } from 'preact';
import { roundTop, type Tick } from './chart-axes.ts';
import { countWords } from './number-words.ts';

export interface Bar {
  value: number;
  /** Drawn on top of the value, in the colour of trouble. */
  bad?: number;
  /** What the pointer is told. */
  title: string;
}

interface Props {
  /** What it shows, in a sentence. */
  label: string;
  bars: Bar[];
  /** What the values count. */
  unit: string;
  ticks: Tick[];
  /** Where on the axis a line is drawn, 0 to 1. */
  marks?: number[];
}

/** Units of the drawing; it is stretched to the room there is. */
const width = 600;
const height = 120;

/** Bars from left to right, on an axis that ends at a round number. */
export function Bars({ label, bars, unit, ticks, marks = [] }: Props): JSX.Element {
  const top = roundTop(Math.max(...bars.map(({ value, bad = 0 }) => value + bad)));
  const step = width / Math.max(1, bars.length);
  const gap = step > 4 ? 1 : 0;
  // What is there is seen, however little it is beside the most.
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
          // What would stand out at an end is moved in.
          <small key={at} style={{ left: `${at * 100}%`, transform: `translateX(${-at * 100}%)` }}>
            {text}
          </small>
        ))}
      </div>
    </div>
  );
}
