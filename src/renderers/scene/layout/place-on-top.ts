/** Puts what stands, sits or is worn on a thing, or is in it; pure. */
import type { Relation } from '../../language/other-words.ts';
import { nounSet, type ThingNoun } from '../../language/nouns.ts';
import type { Subject } from '../../language/placed-subjects.ts';
import { sizeOf, type Bounds } from '../things/bounds.ts';
import { thingOf } from '../things/catalogue.ts';
import { mean, type Vector } from '../vector.ts';
import { allMoved, allScaled, boxOf, type Standing } from './cluster.ts';

export interface Guest {
  subject: Subject;
  relation: Relation;
  /** It and all that is related to it, around the origin. */
  things: Standing[];
}

/** Whether it stands on its host, together with all others that do. */
export function isOnTop({ relation, subject }: Guest, host: Subject): boolean {
  return relation === 'on' || (relation === 'in' && (vessels.has(host.noun) || worn.has(subject.noun)));
}

/** Whether people sit or ride on it instead of standing there. */
export function isSeated({ noun, place }: Subject, host: Subject): boolean {
  const isOn = place?.relation === 'on' || place?.relation === 'in';
  return isOn && sitters.has(noun) && seats.has(host.noun);
}

const sitters = nounSet('person woman grandmother grandfather');
const seats = nounSet(
  'chair armchair sofa bench bed toilet wall bicycle motorcycle horse unicorn zebra cow pig sheep elephant giraffe bear panda tiger lion turtle dog cat',
);
const slim = nounSet('bicycle motorcycle wall');

const vessels = nounSet(
  'bucket bowl cup plate glass vase boat sailboat ship hotairballoon chair armchair sofa bed toilet sink',
);

/** How high up on who wears it it sits, how wide it is there, and how far from behind. */
const worn = new Map<ThingNoun, readonly [up: number, wide: number, front: number]>([
  ['hat', [0.93, 0.5, 0]],
  ['bowtie', [0.785, 0.12, 0.175]],
  ['sunglasses', [0.905, 0.14, 0.17]],
]);

/** "five cats on five chairs": each on its own, more than that shared out; a few without a number are one each. */
export function placeOnEach(guests: readonly Guest[], hostSubject: Subject, host: Standing[]): Standing[] {
  const [guest] = guests;
  const isOne = guests.length === 1 && guest !== undefined && guest.things.length === guest.subject.count;
  if (!isOne || host.length === 1) return placeOnTop(guests, hostSubject, host);
  const { subject, things } = guest;
  const isIts = (index: number, number: number): boolean =>
    subject.isCounted
      ? Math.floor((index * host.length) / things.length) === number
      : index === number % things.length;
  return host.flatMap((one, number) => {
    const own = things.filter((_, index) => isIts(index, number));
    const { low, high } = boxOf(own);
    const centred = allMoved(own, [-(low[0] + high[0]) / 2, -low[1], -(low[2] + high[2]) / 2]);
    return own.length === 0 ? [] : placeOnTop([{ ...guest, things: centred }], hostSubject, [one]);
  });
}

/** On the one in the middle of the host's things, as small as its top demands. */
function placeOnTop(all: readonly Guest[], hostSubject: Subject, host: Standing[]): Standing[] {
  const first = host[Math.floor((host.length - 1) / 2)];
  if (first === undefined) return all.flatMap(({ things }) => things);
  const { bounds } = first;
  const guests = all.filter(({ subject }) => !worn.has(subject.noun));
  const wear = all.filter(({ subject }) => worn.has(subject.noun)).flatMap((guest) => putOn(guest, bounds));
  if (guests.length === 0) return wear;
  if (guests.every(isBunch) && hostSubject.noun !== 'bowl') return asBunch(guests, bounds);
  const { rest, restRoom } = thingOf(hostSubject.noun);
  const areSeated = guests.every(({ subject }) => isSeated(subject, hostSubject));
  const [wide, high, deep] = sizeOf(bounds);
  const row = inRow(guests.map(({ things }) => things));
  const [ownWide, , ownDeep] = sizeOf(boxOf(row.flat()));
  const least = 0.45 / Math.sqrt(row.flat().length);
  const fit = Math.min(
    1,
    Math.max(least, (wide * (areSeated ? 0.95 : restRoom)) / ownWide),
    areSeated ? 1 : Math.max(least, (deep * restRoom * 1.15) / ownDeep),
  );
  const y = bounds.low[1] + high * rest - 0.002;
  const [x, , z] = mean(bounds.low, bounds.high);
  const front = z + (hostSubject.noun === 'chair' ? deep * 0.06 : 0);
  const edge = z + (deep / 2) * (slim.has(hostSubject.noun) ? 0.5 : 1);
  const onTop = guests.flatMap(({ subject }, index) => {
    const own = allScaled(row[index] ?? [], fit);
    const [, tall, thick] = sizeOf(boxOf(own));
    // Their knees are over the edge.
    return allMoved(
      own,
      isSeated(subject, hostSubject) ? [x, y - 0.3 * tall, edge - 0.2 * thick] : [x, y, front],
    );
  });
  return [...wear, ...onTop];
}

function putOn({ subject, things }: Guest, { low, high }: Bounds): Standing[] {
  const [up, share, front] = worn.get(subject.noun) ?? [1, 1, 0];
  const [wide, tall] = sizeOf({ low, high });
  const isBeast = wide > tall * 0.8;
  const [ownWide] = sizeOf(boxOf(things));
  const fit = Math.min(1, front === 0 ? Math.max(0.45, (wide * share) / ownWide) : (tall * share) / ownWide);
  const own = allScaled(things, fit);
  const [x, , z] = mean(low, high);
  // The heads of beasts are at their right.
  const aside = isBeast ? wide * 0.28 : 0;
  const [, ownTall, ownDeep] = sizeOf(boxOf(own));
  const at: Vector = [
    x + aside,
    low[1] + tall * up - (front === 0 ? 0.002 : ownTall / 2),
    front === 0 ? z : low[2] + tall * front - ownDeep / 2,
  ];
  return allMoved(own, at);
}

function isBunch({ relation, subject }: Guest): boolean {
  return relation === 'in' && subject.noun === 'flower';
}

/** Flowers in a vase: their stems meet in its mouth, and their heads keep apart. */
function asBunch(guests: readonly Guest[], host: Bounds): Standing[] {
  const flowers = guests.flatMap(({ things }) => things);
  const [, high] = sizeOf(host);
  const [x, , z] = mean(host.low, host.high);
  const apart = Math.min(0.42, 1.5 / flowers.length);
  return flowers.map((flower, index) => {
    const own = sizeOf(flower.bounds)[1];
    const fit = (high * (index % 2 === 0 ? 1.05 : 1.25)) / own;
    const [scaled = flower] = allScaled([flower], fit);
    const lean = ((flowers.length - 1) / 2 - index) * apart;
    const at: Vector = [x, host.high[1] - own * fit * 0.3, z];
    return { ...scaled, at, lean, bounds: leaning(at, sizeOf(scaled.bounds), lean) };
  });
}

function leaning([x, y, z]: Vector, [wide, high, deep]: Vector, lean: number): Bounds {
  const [aside, up] = [-Math.sin(lean) * high, Math.cos(lean) * high];
  const half = wide / 2;
  return {
    low: [x + Math.min(0, aside) - half, y, z - deep / 2],
    high: [x + Math.max(0, aside) + half, y + up + Math.abs(Math.sin(lean)) * half, z + deep / 2],
  };
}

/** Side by side, around the origin. */
function inRow(trees: readonly Standing[][]): Standing[][] {
  let x = 0;
  const row = trees.map((things) => {
    const { low, high } = boxOf(things);
    const shift = x - low[0];
    x += (high[0] - low[0]) * 1.18;
    return allMoved(things, [shift, 0, -(low[2] + high[2]) / 2]);
  });
  const { low, high } = boxOf(row.flat());
  return row.map((things) => allMoved(things, [-(low[0] + high[0]) / 2, 0, 0]));
}
