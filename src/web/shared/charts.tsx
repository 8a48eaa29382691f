/** Small charts in SVG; each says in words what it shows, for those who do not see it. */
import type { ComponentChildren, JSX } from 'preact';

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
  /** Where on the axis a line is drawn, 0 to 1. */
  marks?: number[];
  /** What stands at the ends of the axis. */
  start: ComponentChildren;
  end: ComponentChildren;
}

/** Units of the drawing; it is stretched to the room there is. */
const width = 600;
const height = 120;

/** Bars from left to right, the highest as high as the chart. */
export function Bars({ label, bars, marks = [], start, end }: Props): JSX.Element {
  const most = Math.max(1, ...bars.map(({ value, bad = 0 }) => value + bad));
  const step = width / Math.max(1, bars.length);
  const gap = step > 4 ? 1 : 0;
  // What is there is seen, however little it is beside the most.
  const tall = (value: number): number => (value === 0 ? 0 : Math.max(1.5, (value * height) / most));
  const column = (index: number, tallness: number, above: number) => ({
    x: index * step,
    y: height - above - tallness,
    width: step - gap,
    height: tallness,
  });
  return (
    <div class="chart">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} preserveAspectRatio="none">
        {bars.map(({ value, bad = 0, title }, index) => (
          <g key={index}>
            <title>{title}</title>
            <rect class="bar" {...column(index, tall(value), 0)} />
            <rect class="bar bad" {...column(index, tall(bad), tall(value))} />
          </g>
        ))}
        <line class="floor" x1="0" x2={width} y1={height} y2={height} />
        {marks.map((at, index) => (
          <line key={index} class="quantile" x1={at * width} x2={at * width} y1="0" y2={height} />
        ))}
      </svg>
      <div class="ends">
        <small>{start}</small>
        <small>{end}</small>
      </div>
    </div>
  );
}
