/** Subjects and their relations → every thing in its place, in metres, y up, seen from +z; pure. */
import { nounSet, type ThingNoun } from '../../language/nouns.ts';
import type { Relation } from '../../language/other-words.ts';
import { createRandom, type Random } from '../../random.ts';
import type { Subject } from '../../language/placed-subjects.ts';
import { sizeOf, type Bounds } from '../things/bounds.ts';
import { thingOf } from '../things/catalogue.ts';
import { allMoved, allScaled, boxOf, clusterOf, type Standing } from './cluster.ts';
import { placeGuest, shelters } from './place-beside.ts';
import { isOnTop, isSeated, placeOnEach, type Guest } from './place-on-top.ts';

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

/** What is said of one and done with the other: "a house amid trees" is the trees around the house, and needs enough. */
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

/** Under what is no shelter nothing fits: that rises above it, unless nobody could lift it. */
function turnedRelation(relation: Relation | undefined, host: ThingNoun): Relation | undefined {
  if (relation === 'amid') return 'around';
  const canRise = !shelters.has(host) && !settled.has(host) && thingOf(host).height < 4.5;
  return relation === 'under' && canRise ? 'above' : undefined;
}

const settled = nounSet('bed sofa fence wall bush');

/** A subject's things and all that is placed from them, its own around the origin. */
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

/** A name is no larger than what it stands with. */
function besideLower(things: Standing[], { noun }: Subject, { high, low }: Bounds): Standing[] {
  const most = (0.7 * (high[1] - low[1])) / sizeOf(boxOf(things))[1];
  return noun === 'label' && most > 0 && most < 1 ? allScaled(things, most) : things;
}

interface Tree {
  /** Of the subject that the others are placed from. */
  index: number;
  things: Standing[];
}

const maxInRow = 4;

/** What has no relation stands side by side; of many, the taller half in a second row behind the gaps of the first. */
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

/** The tall a little behind. */
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
