/** SVG as text: shapes, gradients and smooth lines, made from numbers and colours only, never from a user's words. */
import { hex, type Colour } from '../colour.ts';
import { pointsOf, type Points } from '../points.ts';

export type Point = readonly [x: number, y: number];
export type Circle = readonly [x: number, y: number, radius: number];
/** Further attributes, or an opacity. */
type Rest = string | number;
export type Stop = readonly [offset: number, colour: Colour, opacity?: number];

/** Collects the gradients and clips that shapes refer to; equal ones are kept once. */
export class Drawing {
  readonly #definitions = new Map<string, string>();

  /** A fill that runs down over the shape's box. */
  linear(...stops: readonly Stop[]): string {
    return this.linearAlong([0, 0, 0, 1], ...stops);
  }

  /** A fill that runs over the shape's box in a direction: x1, y1, x2, y2 from 0 to 1. */
  linearAlong(
    [x1, y1, x2, y2]: readonly [number, number, number, number],
    ...stops: readonly Stop[]
  ): string {
    return this.#define(
      `<linearGradient x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" ID>${stopsOf(stops)}</linearGradient>`,
    );
  }

  /** A fill from one side to the other: 1 is from left to right, -1 from right to left. */
  across(side: -1 | 1, ...stops: readonly Stop[]): string {
    const turned = stops.map(([offset, colour, opacity]): Stop => [1 - offset, colour, opacity ?? 1]);
    return this.linearAlong([0, 0, 1, 0], ...(side === 1 ? stops : turned.toReversed()));
  }

  /** A fill from the middle of the shape's box outwards. */
  radial(...stops: readonly Stop[]): string {
    return this.radialAround([0.5, 0.5], ...stops);
  }

  /** The same with the middle moved, from 0 to 1. */
  radialAround(at: Point, ...stops: readonly Stop[]): string {
    return this.#define(
      `<radialGradient cx="${at[0]}" cy="${at[1]}" r="0.5" ID>${stopsOf(stops)}</radialGradient>`,
    );
  }

  /** A `clip-path` attribute that keeps what is inside the outline. */
  clip(outline: string): string {
    return `clip-path="${this.#define(`<clipPath ID><path d="${outline}"/></clipPath>`)}"`;
  }

  /** A soft spot of light or shadow. */
  glow(centre: Point, radiusX: number, radiusY: number, colour: Colour, opacity: number): string {
    const fill = this.radial(
      [0, colour, opacity],
      [0.35, colour, opacity * 0.5],
      [0.7, colour, opacity * 0.12],
      [1, colour, 0],
    );
    return ellipse(centre, radiusX, radiusY, fill);
  }

  /** The whole picture; `view` is the size in the drawing's own units, stretched to `size` in pixels. */
  document(size: Point, view: Point, body: string): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0]}" height="${size[1]}" ` +
      `viewBox="0 0 ${number(view[0])} ${number(view[1])}" preserveAspectRatio="none">` +
      `<defs>${[...this.#definitions.values()].join('')}</defs>${body}</svg>`
    );
  }

  #define(template: string): string {
    const id = `d${this.#definitions.size}`;
    const known = this.#definitions.get(template);
    if (known !== undefined) return `url(#${/id="(d\d+)"/.exec(known)?.[1] ?? id})`;
    this.#definitions.set(template, template.replace('ID>', `id="${id}">`));
    return `url(#${id})`;
  }
}

export function path(outline: string, fill: string, rest: Rest = ''): string {
  return `<path d="${outline}" fill="${fill}" ${attributes(rest)}/>`;
}

/** A smooth outline through points. */
export function blob(points: Points<Point>, fill: string, rest: Rest = ''): string {
  return path(`${smooth(pointsOf(points))}Z`, fill, rest);
}

/** Circles that fill as one shape. */
export function dots(list: Points<Circle>, fill: string, rest: Rest = ''): string {
  return path(circles(list), fill, rest);
}

export function stroke(line: string, colour: string, width: number, rest: Rest = ''): string {
  return `<path d="${line}" fill="none" stroke="${colour}" stroke-width="${number(width)}" stroke-linecap="round" stroke-linejoin="round" ${attributes(rest)}/>`;
}

export function ellipse(
  centre: Point,
  radiusX: number,
  radiusY: number,
  fill: string,
  rest: Rest = '',
): string {
  return `<ellipse cx="${number(centre[0])}" cy="${number(centre[1])}" rx="${number(radiusX)}" ry="${number(radiusY)}" fill="${fill}" ${attributes(rest)}/>`;
}

export function circle(centre: Point, radius: number, fill: string, rest: Rest = ''): string {
  return ellipse(centre, radius, radius, fill, rest);
}

export function box(corner: Point, width: number, height: number, fill: string, rest: Rest = ''): string {
  return `<rect x="${number(corner[0])}" y="${number(corner[1])}" width="${number(width)}" height="${number(height)}" fill="${fill}" ${attributes(rest)}/>`;
}

/** Shapes moved to a place, sized, and turned round where `isFlipped`. */
export function placed(shapes: string, at: Point, scale: number, isFlipped = false): string {
  const across = isFlipped ? -scale : scale;
  return `<g transform="translate(${number(at[0])} ${number(at[1])}) scale(${precise(across)} ${precise(scale)})">${shapes}</g>`;
}

/** Straight lines from point to point; closed where it is an outline. */
export function lines(points: Points<Point>, isClosed = true): string {
  const steps = pointsOf(points).map(([x, y]) => `${number(x)} ${number(y)}`);
  return steps.length === 0 ? '' : `M${steps.join('L')}${isClosed ? 'Z' : ''}`;
}

/** A smooth line through all points (Catmull-Rom), to be closed or carried on by the caller. */
export function smooth(points: readonly Point[]): string {
  const [first] = points;
  if (first === undefined) return '';
  let line = `M${number(first[0])} ${number(first[1])}`;
  for (let index = 0; index + 1 < points.length; index += 1) {
    const from = points[index] ?? first;
    const to = points[index + 1] ?? from;
    const before = points[index - 1] ?? from;
    const after = points[index + 2] ?? to;
    const numbers = [
      from[0] + (to[0] - before[0]) / 6,
      from[1] + (to[1] - before[1]) / 6,
      to[0] - (after[0] - from[0]) / 6,
      to[1] - (after[1] - from[1]) / 6,
      to[0],
      to[1],
    ];
    line += `C${numbers.map(number).join(' ')}`;
  }
  return line;
}

/** What is between a left and a right edge. */
export function strip(left: readonly Point[], right: readonly Point[]): string {
  return `${smooth(left)}L${smooth(right.toReversed()).slice(1)}Z`;
}

/** Circles as one outline, so that they fill as one shape; moved, and then of a share of their size. */
export function circles(list: Points<Circle>, [dx, dy]: Point = [0, 0], share = 1): string {
  return pointsOf(list)
    .map(([x, y, radius]) => {
      const [r, across] = [number(radius * share), number(2 * radius * share)];
      return `M${number(x + dx - radius * share)} ${number(y + dy)}a${r} ${r} 0 1 1 ${across} 0a${r} ${r} 0 1 1 -${across} 0Z`;
    })
    .join('');
}

function attributes(rest: Rest): string {
  return typeof rest === 'number' ? `opacity="${rest}"` : rest;
}

function stopsOf(stops: readonly Stop[]): string {
  return stops
    .map(
      ([offset, colour, opacity = 1]) =>
        `<stop offset="${precise(offset)}" stop-color="${hex(colour)}" stop-opacity="${precise(opacity)}"/>`,
    )
    .join('');
}

function number(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function precise(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}
