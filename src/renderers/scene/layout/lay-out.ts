/** Places all things by their relations, in metres, with y up, seen from +z; pure. */
import { nounSet, type ThingNoun } from '../../language/nouns.ts';
import type { Relation } from '../../language/other-words.ts';
import { createRandom, type Random } from '../../random.ts';
import type { Subject } from '../../language/placed-subjects.ts';
import { thingOf } from '../things/catalogue.ts';
import { sizeOf, type Bounds } from '../things/parts.ts';
import { allMoved, allScaled, boxOf, clusterOf, type Standing, doOverlap } from './cluster.ts';
import { each, mean, minus, type Vector } from '../vector.ts';

export function layOut(subjects: readonly Subject[], seed: string): Standing[] {
  const placed = turnedRound(subjects);
  const random = createRandom(`layout ${seed}`);
  const roots = placed.flatMap((subject, index) => (subject.place === null ? [index] : []));
  const trees = roots.map((index) => ({ index, things: treeOf(placed, index, random) }));
  const drawn = trees.filter(({ index }) => placed[index]?.noun !== 'label').flatMap(({ things }) => things);
  const fitted = trees.map(({ index, things }) => {
    const subject = placed[index];
    return { index, things: subject === undefined ? things : besideLower(things, subject, boxOf(drawn)) };
  });
  return inRows(fitted, placed);
}

/** Swaps subject and host if meant: "a house amid trees" places at least 7 trees around the house. */
function turnedRound(subjects: readonly Subject[]): Subject[] {
  const placed = subjects.map((subject) => ({ ...subject }));
  for (const [index, subject] of placed.entries()) {
    const host = placed[subject.place?.to ?? -1];
    const relation = host && turnedRelation(subject.place?.relation, host.noun);
    if (host === undefined || relation === undefined) continue;
    if (host.place === null) {
      subject.place = null;
      host.place = { relation, to: index };
    } else if (host.place.relation === 'above') subject.place = { relation: 'beside', to: host.place.to };
  }
  return placed.map((subject) =>
    subject.place?.relation === 'around' && subject.count > 2 && !subject.isCounted
      ? { ...subject, count: Math.max(subject.count, 7) }
      : subject,
  );
}

/**
 * Returns the host's relation to the subject, or undefined. A host without room below goes above, unless it
 * is
 * too large or fixed.
 */
function turnedRelation(relation: Relation | undefined, host: ThingNoun): Relation | undefined {
  if (relation === 'amid') return 'around';
  const canRise = !shelters.has(host) && !settled.has(host) && thingOf(host).height < 4.5;
  return relation === 'under' && canRise ? 'above' : undefined;
}

const settled = nounSet('bed sofa fence wall bush');

/** Places a subject's things around the origin, and all subjects that are placed relative to it. */
function treeOf(subjects: readonly Subject[], index: number, random: Random): Standing[] {
  const subject = subjects[index];
  if (subject === undefined) return [];
  const under = subjects[subject.place?.to ?? -1];
  const sits = under !== undefined && isSeated(subject, under);
  const host = clusterOf(subject, index, sits, random.fork(`cluster ${index}`));
  const guests = subjects.flatMap(({ place }, other): (Guest & { index: number })[] => {
    const guest = place?.to === index ? subjects[other] : undefined;
    if (guest === undefined || place === null) return [];
    const things = besideLower(treeOf(subjects, other, random), guest, boxOf(host));
    return [{ index: other, subject: guest, relation: place.relation, things }];
  });
  const all = [
    ...host,
    ...placeOnEach(
      guests.filter((guest) => isOnTop(guest, subject)),
      subject,
      host,
    ),
  ];
  for (const guest of guests.filter((other) => !isOnTop(other, subject))) {
    all.push(...placeGuest(guest, subject, host, all, random.fork(`place ${guest.index}`)));
  }
  const isAloft = thingOf(subject.noun).home === 'air' && subject.place === null;
  return isAloft ? allMoved(all, [0, 0.35 * sizeOf(boxOf(host))[1] + 0.25, 0]) : all;
}

/** Limits a label to 0.7 of the height of the things beside it. */
function besideLower(things: Standing[], { noun }: Subject, { high, low }: Bounds): Standing[] {
  const most = (0.7 * (high[1] - low[1])) / sizeOf(boxOf(things))[1];
  return noun === 'label' && most > 0 && most < 1 ? allScaled(things, most) : things;
}

interface Tree {
  /** Index of the subject that the others are placed from. */
  index: number;
  things: Standing[];
}

const maxInRow = 4;

/** Places subjects side by side. If many, the taller half stands behind the gaps of the first row. */
function inRows(trees: readonly Tree[], subjects: readonly Subject[]): Standing[] {
  if (trees.length <= maxInRow) return inRow(trees, subjects);
  const highOf = ({ things }: Tree): number => boxOf(things).high[1];
  const low = new Set(trees.toSorted((a, b) => highOf(a) - highOf(b)).slice(0, Math.ceil(trees.length / 2)));
  const [front, back] = [true, false].map((isLow) =>
    inRow(
      trees.filter((tree) => low.has(tree) === isLow),
      subjects,
    ),
  ) as [Standing[], Standing[]];
  const away = boxOf(front).low[2] - boxOf(back).high[2] - 2 * boxOf(front).high[1];
  const aside = trees.length % 2 === 0 ? sizeOf(boxOf(front))[0] / trees.length : 0;
  return [...front, ...allMoved(back, [aside, 0, away])];
}

function inRow(trees: readonly Tree[], subjects: readonly Subject[]): Standing[] {
  const boxes = trees.map(({ things }) => boxOf(things));
  const tallest = Math.max(0, ...boxes.map(({ high }) => high[1]));
  let x = 0;
  const row = trees.flatMap(({ index, things }, number) => {
    const box = boxes[number] ?? boxOf(things);
    const [wide, high, deep] = sizeOf(box);
    const gap = 0.1 + 0.1 * wide;
    const noun = subjects[index]?.noun;
    const isSky = noun !== undefined && thingOf(noun).home === 'air';
    const shift = x - box.low[0] + gap / 2;
    x += wide + gap;
    const lift = isSky && trees.length > 1 ? Math.max(0, tallest * 0.55 - box.low[1]) : 0;
    return allMoved(things, [shift, lift, -0.3 * deep * (high / (tallest || 1))]);
  });
  const whole = boxOf(row);
  return allMoved(row, [-(whole.low[0] + whole.high[0]) / 2, 0, -(whole.low[2] + whole.high[2]) / 2]);
}

const shelters = nounSet('table chair bench umbrella tree oak palm bridge');

/** Places a guest's things. `host`: the things that it relates to. `all`: the things that are placed already. */
function placeGuest(
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
      // Things as tall as the host are moved aside, so that neither hides the other.
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

/** Places things next to the box in a direction on the ground, far enough to overlap nothing. */
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

/** Moves things along an axis until they overlap nothing. */
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
  // No things behind a host that would hide them.
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

interface Guest {
  subject: Subject;
  relation: Relation;
  /** The guest's things and everything related to them, around the origin. */
  things: Standing[];
}

/** True if the guest stands on its host, or inside or on the body of it. */
function isOnTop({ relation, subject }: Guest, host: Subject): boolean {
  return relation === 'on' || (relation === 'in' && (vessels.has(host.noun) || worn.has(subject.noun)));
}

/** True if a person sits on the host or rides it. */
function isSeated({ noun, place }: Subject, host: Subject): boolean {
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

/**
 * Place of worn things: `up`, share of the wearer's height; `wide`, of its width, or height if in front;
 * `front`, from its back, of its height.
 */
const worn = new Map<ThingNoun, readonly [up: number, wide: number, front: number]>([
  ['hat', [0.93, 0.5, 0]],
  ['bowtie', [0.785, 0.12, 0.175]],
  ['sunglasses', [0.905, 0.14, 0.17]],
]);

/** Distributes guests: "five cats on five chairs" gives each chair a cat; without a number too. */
function placeOnEach(guests: readonly Guest[], hostSubject: Subject, host: Standing[]): Standing[] {
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

/** Places guests on the middle one of the host's things, scaled down to fit on its top. */
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
  const row = sideBySide(guests.map(({ things }) => things));
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
    // Knees are beyond the edge of the seat.
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
  // Heads of animals are at their right.
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

/** Arranges flowers in a vase: stems meet in its mouth, and blossoms keep apart. */
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

/** Places groups side by side around the origin. */
function sideBySide(trees: readonly Standing[][]): Standing[][] {
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
