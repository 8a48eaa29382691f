/** Arranges the things of one subject, and moves or scales placed things; pure. */
import type { Random } from '../../random.ts';
import { nounSet } from '../../language/nouns.ts';
import type { Subject } from '../../language/placed-subjects.ts';
import { thingOf } from '../things/catalogue.ts';
import { boundsOf, boxAround, cornersOf, joined, sizeOf, type Bounds, type Part } from '../things/parts.ts';
import { mean, plus, times, type Axis, type Vector } from '../vector.ts';

export interface Standing {
  subject: number;
  parts: readonly Part[];
  /** Position of the origin of the parts, rotation around y, and scale. */
  at: Vector;
  yaw: number;
  /** Lean to the left before the rotation around y, in radians. */
  lean: number;
  scale: number;
  bounds: Bounds;
}

/** Sizes are compressed, so that a ball beside a house remains visible. */
const sizeExponent = 0.55;

/** Distance between the centres of neighbours, as a share of their width. */
const gap = 1.14;
const gapInRows = 1.3;

export function clusterOf(subject: Subject, index: number, isSeated: boolean, random: Random): Standing[] {
  const things = Array.from({ length: subject.count }, (_, one) =>
    standAt(subject, index, one, isSeated, random),
  );
  const [wide, deep] = [roomOf(things, 0), roomOf(things, 2)];
  const isSmall = thingOf(subject.noun).home === 'table';
  const apart = Math.max(deep * 1.3, roomOf(things, 1) * (isSmall ? 1 : 1.6));
  const rise = apart * (isSmall ? 0.4 : 0.24);
  // Names are only readable from the front.
  const isRow = subject.count <= (subject.noun === 'label' ? 5 : 3);
  const columns = isRow ? subject.count : columnsOf(subject.count, wide, roomOf(things, 1), rise);
  const rows = Math.ceil(subject.count / columns);
  return things.map((thing, one) => {
    const [column, row] = [one % columns, Math.floor(one / columns)];
    const inRow = Math.min(columns, subject.count - row * columns);
    const jitter = subject.count > 1 ? random.between(-0.1, 0.1) * deep : 0;
    // Shifted sideways, so that rear rows show through the gaps.
    const shift = rows === 1 ? 0 : (columns - inRow + row) % 2 === 0 ? -0.25 : 0.25;
    const x = (column - (inRow - 1) / 2 + shift) * wide * (rows === 1 ? gap : gapInRows);
    return moved(thing, [x, 0, ((rows - 1) / 2 - row) * apart + jitter]);
  });
}

/** Columns that show all things largest. Each row appears `rise` higher than the one in front. */
function columnsOf(count: number, wide: number, high: number, rise: number): number {
  const sizeIn = (rows: number): number =>
    Math.max(
      (Math.ceil(count / rows) * wide * (rows === 1 ? gap : gapInRows)) / 1.5,
      high + (rows - 1) * rise,
    );
  let rows = 1;
  while (rows < count && sizeIn(rows + 1) < 0.9 * sizeIn(rows)) rows += 1;
  return Math.ceil(count / rows);
}

function roomOf(things: readonly Standing[], axis: Axis): number {
  return Math.max(0.01, ...things.map(({ bounds }) => sizeOf(bounds)[axis]));
}

function standAt(subject: Subject, index: number, one: number, isSeated: boolean, random: Random): Standing {
  const thing = thingOf(subject.noun);
  const colours = animals.has(subject.noun) ? subject.colours : rotated(subject.colours, one);
  const parts = thing.build({ ...subject, colours, isSeated }, random.fork(`look ${index} ${one}`));
  const bounds = boundsOf(parts);
  const tall = isSeated ? bounds.high[1] : sizeOf(bounds)[1];
  const natural = thing.height / (tall || 1);
  const longest = Math.max(...sizeOf(bounds)) * natural;
  const scale = natural * longest ** (sizeExponent - 1) * subject.size ** 0.8;
  const yaw = random.between(-0.22, 0.22);
  return grounded({
    subject: index,
    parts,
    at: [0, 0, 0],
    yaw,
    lean: 0,
    scale,
    bounds: standingBounds(parts, yaw, scale),
  });
}

/** Distributes colours: of "red and yellow balloons" some are red. A black and white cow has both. */
function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

const animals = nounSet(
  'cat dog fox horse unicorn zebra cow pig sheep bear panda tiger lion elephant giraffe rabbit turtle bird swan owl penguin fish whale butterfly',
);

function grounded(thing: Standing): Standing {
  const [x, , z] = mean(thing.bounds.low, thing.bounds.high);
  return moved(thing, [-x, -thing.bounds.low[1], -z]);
}

function standingBounds(parts: readonly Part[], yaw: number, scale: number): Bounds {
  const [cos, sin] = [Math.cos(yaw) * scale, Math.sin(yaw) * scale];
  return boxAround(
    cornersOf(boundsOf(parts)).map(([x, y, z]) => [x * cos + z * sin, y * scale, z * cos - x * sin]),
  );
}

function moved(thing: Standing, by: Vector): Standing {
  const { low, high } = thing.bounds;
  return { ...thing, at: plus(thing.at, by), bounds: { low: plus(low, by), high: plus(high, by) } };
}

export function allMoved(things: readonly Standing[], by: Vector): Standing[] {
  return things.map((thing) => moved(thing, by));
}

export function allScaled(things: readonly Standing[], by: number): Standing[] {
  return things.map((thing) => ({
    ...thing,
    at: times(thing.at, by),
    scale: thing.scale * by,
    bounds: { low: times(thing.bounds.low, by), high: times(thing.bounds.high, by) },
  }));
}

export function boxOf(things: readonly Standing[]): Bounds {
  if (things.length === 0) return { low: [0, 0, 0], high: [0, 0, 0] };
  return things.map(({ bounds }) => bounds).reduce(joined);
}

export function doOverlap(one: Bounds, other: Bounds): boolean {
  return ([0, 1, 2] as const).every(
    (axis) => one.low[axis] < other.high[axis] - 1e-6 && other.low[axis] < one.high[axis] - 1e-6,
  );
}
