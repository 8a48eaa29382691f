/** Puts what is related to a thing where the relation says: beside it, behind it, around it; pure. */
import type { Random } from '../../random.ts';
import { nounSet, type ThingNoun } from '../../language/nouns.ts';
import type { Subject } from '../../language/placed-subjects.ts';
import { sizeOf, type Bounds } from '../things/bounds.ts';
import { thingOf } from '../things/catalogue.ts';
import { each, mean, minus, type Vector } from '../vector.ts';
import { allMoved, allScaled, boxOf, doOverlap, type Standing } from './cluster.ts';
import type { Guest } from './place-on-top.ts';

/** Under them is room for others. */
export const shelters = nounSet('table chair bench umbrella tree oak palm bridge');

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
    case 'in':
    case 'front':
      return beside(side * (high > 0.55 ? 0.75 : 0.35), 1);
    case 'around':
    case 'amid':
      return around(things, box);
  }
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
  const [wide, high, deep] = sizeOf(box);
  // None behind what would hide them.
  const span = Math.PI * (high > 0.8 * sizeOf(boxOf(things))[1] ? 1.4 : 2);
  return things.flatMap((thing, index) => {
    const angle = Math.PI / 2 + ((index + 0.5) / things.length - 0.5) * span;
    const [ownWide, , ownDeep] = sizeOf(thing.bounds);
    const [x, , z] = minus(mean(box.low, box.high), mean(thing.bounds.low, thing.bounds.high));
    const aside = Math.cos(angle) * (wide * 0.6 + ownWide * 0.8);
    const forward = Math.sin(angle) * (deep * 0.6 + ownDeep * 0.8);
    return allMoved([thing], [x + aside, box.low[1] - thing.bounds.low[1], z + forward]);
  });
}
