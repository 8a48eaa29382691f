/** Puts what is related to a thing where the relation says: on it, beside it, behind it; pure. */
import type { Random } from '../../random.ts';
import type { Relation } from '../../language/other-words.ts';
import { nounSet, type ThingNoun } from '../../language/nouns.ts';
import type { Subject } from '../../language/placed-subjects.ts';
import { sizeOf, type Bounds } from '../things/bounds.ts';
import { thingOf } from '../things/catalogue.ts';
import { each, mean, minus, type Vector } from '../vector.ts';
import { allMoved, allScaled, boxOf, doOverlap, type Standing } from './cluster.ts';

export interface Guest {
  subject: Subject;
  relation: Relation;
  /** It and all that is related to it, around the origin. */
  things: Standing[];
}

/** Under them is room for others. */
export const shelters = nounSet('table chair bench umbrella tree oak palm bridge');

/** Whether it stands on its host, together with all others that do. */
export function isOnTop({ relation, subject }: Guest, host: Subject): boolean {
  return relation === 'on' || (relation === 'in' && (isVessel(host) || subject.noun === 'hat'));
}

/** The guest's things in their places; `host` are the things that it is related to, `all` what stands already. */
export function placeGuest(
  guest: Guest,
  hostSubject: Subject,
  host: Standing[],
  all: Standing[],
  random: Random,
): Standing[] {
  const { relation, things } = guest;
  const [box, own] = [boxOf(host), boxOf(things)];
  const side = random.chance(0.5) ? 1 : -1;
  const high = sizeOf(own)[1] / (sizeOf(box)[1] || 1);
  const [x, , z] = mean(box.low, box.high);
  const beside = (right: number, near: number): Standing[] => besideIn(guest, box, all, [right, near]);
  switch (relation) {
    case 'on':
    case 'in':
      return beside(0, 1);
    case 'above':
      return allMoved(things, [x, box.high[1] + 0.15 + 0.25 * sizeOf(own)[1], z]);
    case 'under':
      return shelters.has(hostSubject.noun)
        ? below(things, box, hostSubject.noun)
        : besideIn({ ...guest, things: allScaled(things, Math.min(1, 0.6 / high)) }, box, all, [0, 1]);
    case 'beside':
      return beside(side, 0);
    case 'left':
      return beside(-1, 0);
    case 'right':
      return beside(1, 0);
    case 'behind':
      // What is as tall as its host would hide it or be hidden.
      return beside(side * (high < 1.5 ? 0.75 : 0.55), -1);
    case 'front':
      return beside(side * (high > 0.55 ? 0.75 : 0.35), 1);
    case 'around':
    case 'amid':
      return around(things, box);
  }
}

const vessels = nounSet('bucket barrel chair armchair sofa bed');

function isVessel({ noun }: Subject): boolean {
  return thingOf(noun).home !== 'land' || vessels.has(noun);
}

/** On the first of the host's things, as small as its top demands. */
export function placeOnTop(guests: readonly Guest[], hostSubject: Subject, host: Standing[]): Standing[] {
  const first = host[Math.floor((host.length - 1) / 2)];
  if (first === undefined) return guests.flatMap(({ things }) => things);
  const { bounds } = first;
  if (guests.every(isBunch) && hostSubject.noun !== 'bowl') return asBunch(guests, bounds);
  const { rest, restRoom } = thingOf(hostSubject.noun);
  const isHat = guests.every(({ subject }) => subject.noun === 'hat');
  const [wide, high, deep] = sizeOf(bounds);
  const row = inRow(guests.map(({ things }) => things));
  const [ownWide, , ownDeep] = sizeOf(boxOf(row));
  const least = 0.45 / Math.sqrt(row.length);
  const room = isHat ? 0.5 : restRoom;
  const fit = Math.min(
    1,
    Math.max(least, (wide * room) / ownWide),
    Math.max(least, (deep * room * 1.15) / ownDeep),
  );
  const y = bounds.low[1] + high * (isHat ? 0.93 : rest) - 0.002;
  const front = hostSubject.noun === 'chair' ? deep * 0.06 : 0;
  // The heads of beasts are at their right.
  const [x, , z] = mean(bounds.low, bounds.high);
  const aside = isHat && wide > high * 0.8 ? wide * 0.28 : 0;
  return allMoved(allScaled(row, fit), [x + aside, y, z + front]);
}

function isBunch({ relation, subject }: Guest): boolean {
  return relation === 'in' && (subject.noun === 'flower' || subject.noun === 'sunflower');
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
function inRow(trees: readonly Standing[][]): Standing[] {
  let x = 0;
  const row = trees.flatMap((things) => {
    const { low, high } = boxOf(things);
    const shift = x - low[0];
    x += (high[0] - low[0]) * 1.18;
    return allMoved(things, [shift, 0, -(low[2] + high[2]) / 2]);
  });
  const { low, high } = boxOf(row);
  return allMoved(row, [-(low[0] + high[0]) / 2, 0, 0]);
}

function below(things: Standing[], box: Bounds, host: ThingNoun): Standing[] {
  const [wide, high] = sizeOf(box);
  const [ownWide, ownHigh] = sizeOf(boxOf(things));
  const fit = Math.min(
    1,
    (high * thingOf(host).rest * 0.52) / ownHigh,
    Math.max(0.4, (wide * 0.7) / ownWide),
  );
  const [x, , z] = mean(box.low, box.high);
  return allMoved(allScaled(things, fit), [x, box.low[1], z]);
}

/** Next to the box in a direction of the ground, as far out as it takes to be clear of all that stands. */
function besideIn(
  { things }: Guest,
  box: Bounds,
  all: Standing[],
  [right, near]: readonly [number, number],
): Standing[] {
  const [wide, high, deep] = sizeOf(box);
  const [ownWide, ownHigh, ownDeep] = sizeOf(boxOf(things));
  const gap = 0.08 + 0.08 * Math.min(ownHigh, high);
  const isSideways = Math.abs(right) === 1;
  const forward = isSideways ? (deep - ownDeep) * 0.2 : near * ((deep + ownDeep) / 2 + gap);
  const [x, , z] = mean(box.low, box.high);
  const at: Vector = [x + right * ((wide + ownWide) / 2 + gap), box.low[1], z + forward];
  return shiftedFree(allMoved(things, at), all, isSideways ? 0 : 2, isSideways ? right : near, gap);
}

/** Moved on along an axis until it overlaps nothing. */
function shiftedFree(
  things: Standing[],
  all: readonly Standing[],
  axis: 0 | 2,
  sign: number,
  gap: number,
): Standing[] {
  let free = things;
  for (let step = 0; step < 40; step += 1) {
    const own = boxOf(free);
    const other = all.find(({ bounds }) => doOverlap(own, bounds))?.bounds;
    if (other === undefined) return free;
    const by = sign > 0 ? other.high[axis] - own.low[axis] : other.low[axis] - own.high[axis];
    free = allMoved(
      free,
      each((along) => (along === axis ? by + sign * gap : 0)),
    );
  }
  return free;
}

function around(things: Standing[], box: Bounds): Standing[] {
  const [wide, , deep] = sizeOf(box);
  return things.flatMap((thing, index) => {
    const angle = ((index + 0.25) / things.length) * Math.PI * 2;
    const [ownWide, , ownDeep] = sizeOf(thing.bounds);
    const [x, , z] = minus(mean(box.low, box.high), mean(thing.bounds.low, thing.bounds.high));
    const aside = Math.cos(angle) * (wide * 0.6 + ownWide * 0.8);
    const forward = Math.sin(angle) * (deep * 0.6 + ownDeep * 0.8);
    return allMoved([thing], [x + aside, box.low[1] - thing.bounds.low[1], z + forward]);
  });
}
